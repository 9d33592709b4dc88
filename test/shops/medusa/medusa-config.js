// A Medusa server with the plug-in, as its README configures it. test/shops/medusa.test.ts starts it in a temporary folder.
const { defineConfig } = require('@medusajs/framework/utils')

const { SHOP_DATABASE_URL, MANILLA_URL, CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET, WEBHOOK_URL, RETURN_URL } =
  process.env

const options = {
  ...{ baseUrl: MANILLA_URL, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, webhookSecret: WEBHOOK_SECRET },
  ...{ webhookUrl: WEBHOOK_URL, returnUrl: RETURN_URL, country: 'NG' },
}

module.exports = defineConfig({
  admin: { disable: true },
  projectConfig: {
    databaseUrl: SHOP_DATABASE_URL,
    http: {
      storeCors: 'http://localhost',
      adminCors: 'http://localhost',
      authCors: 'http://localhost',
      jwtSecret: 'only for this test',
      cookieSecret: 'only for this test',
    },
  },
  modules: [
    {
      resolve: '@medusajs/medusa/payment',
      options: {
        providers: [
          { resolve: '@manilla/medusa', id: 'manilla', options },
          {
            ...{ resolve: '@manilla/medusa', id: 'accra' },
            options: { ...options, country: 'GH', webhookUrl: WEBHOOK_URL.replace(/manilla$/, 'accra') },
          },
        ],
      },
    },
  ],
})
