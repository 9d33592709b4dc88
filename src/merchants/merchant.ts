import type { RankedIntegration } from '../integrations/integration.ts'
import type { Country } from '../kernel/country.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'

export interface Merchant {
  id: MerchantId
  name: string
  country: Country
  status: 'active' | 'suspended'
}

/** What customers may read as a merchant's name, without the blanks around it. */
export function parseMerchantName(text: string): string | undefined {
  const name = text.trim()
  return name !== '' && name.length <= 200 && !/\p{Cc}/u.test(name) ? name : undefined
}

/** Whoever is behind a request: a merchant, in the mode of its credential, with what can take money for it there. */
export interface Caller {
  /** The credential of the request. The audit log names it. */
  clientId: string
  merchantId: MerchantId
  mode: Mode
  suspended: boolean
  integrations: RankedIntegration[]
}

/** The actor in the audit log for a change that was made through the API. */
export function actorOf({ clientId }: Pick<Caller, 'clientId'>): string {
  return `credential:${clientId}`
}
