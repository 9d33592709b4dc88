export type { ManillaPluginOptions } from './options.ts'
export { manillaPaymentMethodHandler } from './payment-method-handler.ts'
export { ManillaPlugin } from './plugin.ts'
