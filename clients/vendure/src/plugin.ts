import { Manilla } from '@manilla/client'
import { PluginCommonModule, type Type, VendurePlugin } from '@vendure/core'
import { gql } from 'graphql-tag'
import { ManillaController } from './manilla.controller.ts'
import { ManillaResolver } from './manilla.resolver.ts'
import { ManillaService } from './manilla.service.ts'
import { MANILLA_OPTIONS, type ManillaPluginOptions, WEBHOOK_PATH } from './options.ts'
import { manillaPaymentMethodHandler } from './payment-method-handler.ts'
import { webhookMiddleware } from './webhook.ts'

/** `plugins: [ManillaPlugin.init({ … })]` in the Vendure configuration. */
@VendurePlugin({
  imports: [PluginCommonModule],
  controllers: [ManillaController],
  providers: [
    { provide: MANILLA_OPTIONS, useFactory: () => ManillaPlugin.options },
    { provide: Manilla, useFactory: () => new Manilla(ManillaPlugin.options) },
    ManillaService,
  ],
  shopApiExtensions: {
    schema: gql`
      extend type Mutation {
        "The page where the customer pays the active order, which must be in the state ArrangingPayment."
        createManillaCheckout: String!
      }
    `,
    resolvers: [ManillaResolver],
  },
  configuration: (config) => {
    config.paymentOptions.paymentMethodHandlers.push(manillaPaymentMethodHandler)
    const handler = webhookMiddleware(ManillaPlugin.options)
    config.apiOptions.middleware.push({ route: WEBHOOK_PATH, handler, beforeListen: true })
    return config
  },
  compatibility: '^3.0.0',
})
// biome-ignore lint/complexity/noStaticOnlyClass: Vendure takes a class, and configures it before it makes an instance.
export class ManillaPlugin {
  static options: ManillaPluginOptions

  static init(options: ManillaPluginOptions): Type<ManillaPlugin> {
    ManillaPlugin.options = { ...options, vendureUrl: options.vendureUrl.replace(/\/+$/, '') }
    return ManillaPlugin
  }
}
