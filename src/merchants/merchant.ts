import type { Country } from '../kernel/country.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Integration } from './integration.ts'

export interface Merchant {
  id: MerchantId
  name: string
  country: Country
  status: 'active' | 'suspended'
}

/** Whoever is behind a request: a merchant, in the mode of its credential, with what can take money for it there. */
export interface Caller {
  merchantId: MerchantId
  mode: Mode
  suspended: boolean
  integrations: Integration[]
}
