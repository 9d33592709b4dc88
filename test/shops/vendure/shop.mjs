// A Vendure server with the plug-in, as its README configures it. test/shops/vendure.test.ts starts it in a temporary
// folder.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { bootstrap, DefaultLogger, LogLevel } = require('@vendure/core')
const { populate } = require('@vendure/core/cli')
const { ManillaPlugin } = require('@manilla/vendure')

const { PORT, SHOP_DATABASE_URL, MANILLA_URL, CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET, SHOP_URL, RETURN_URL } =
  process.env

const config = {
  apiOptions: { port: Number(PORT), hostname: '127.0.0.1', adminApiPath: 'admin-api', shopApiPath: 'shop-api' },
  authOptions: {
    tokenMethod: 'bearer',
    superadminCredentials: { identifier: 'superadmin', password: 'superadmin' },
    cookieOptions: { secret: 'only for this test' },
  },
  dbConnectionOptions: { type: 'postgres', url: SHOP_DATABASE_URL, synchronize: true },
  paymentOptions: { paymentMethodHandlers: [] },
  logger: new DefaultLogger({ level: LogLevel.Warn, timestamp: false }),
  plugins: [
    ManillaPlugin.init({
      baseUrl: MANILLA_URL,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      webhookSecret: WEBHOOK_SECRET,
      vendureUrl: SHOP_URL,
      returnUrl: RETURN_URL,
    }),
  ],
}

await populate(() => bootstrap(config), {
  defaultLanguage: 'en',
  defaultZone: 'Africa',
  countries: [{ name: 'Nigeria', code: 'NG', zone: 'Africa' }],
  taxRates: [{ name: 'No tax', percentage: 0 }],
  shippingMethods: [{ name: 'Courier', price: 0 }],
  paymentMethods: [{ name: 'Manilla', handler: { code: 'manilla', arguments: [{ name: 'country', value: 'NG' }] } }],
  collections: [],
})
console.log('The shop is open.')
