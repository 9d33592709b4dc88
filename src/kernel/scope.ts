import type { MerchantId } from './ids.ts'
import type { Mode } from './mode.ts'

/** A merchant in one mode. Payments, integrations, endpoints and secrets belong to a scope and never cross to another. */
export interface Scope {
  merchantId: MerchantId
  mode: Mode
}
