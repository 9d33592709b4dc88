import type { MerchantId } from './ids.ts'
import type { Mode } from './mode.ts'
import type { Place } from './place.ts'

/** A merchant in one mode. Integrations, endpoints and secrets belong to an owner and never cross to another. */
export interface Owner {
  merchantId: MerchantId
  mode: Mode
}

/** An owner with its place: the key of its payments and of everything that belongs to them. */
export interface Scope extends Owner {
  place: Place
}
