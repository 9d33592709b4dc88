import { ModuleProvider, Modules } from '@medusajs/framework/utils'
import { ManillaProvider } from './provider.ts'

export { type ManillaOptions, ManillaProvider } from './provider.ts'

/** For `providers` of `@medusajs/medusa/payment` in medusa-config. */
export default ModuleProvider(Modules.PAYMENT, { services: [ManillaProvider] })
