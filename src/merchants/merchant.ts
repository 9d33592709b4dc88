import type { Country } from '../kernel/country.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'

export interface Merchant {
  id: MerchantId
  place: Place
  name: string
  country: Country
  status: 'active' | 'suspended'
}

/** Trims the name. Undefined when it is empty, too long, or has control characters. */
export function parseMerchantName(text: string): string | undefined {
  const name = text.trim()
  return name !== '' && name.length <= 200 && !/\p{Cc}/u.test(name) ? name : undefined
}

/** The authenticated merchant of a request, in the mode of its credential or of the dashboard's path. */
export interface Caller extends Scope {
  /** Recorded in the audit log: `credential:cid_…`, or a member of the dashboard. */
  actor: string
  suspended: boolean
  merchantName: string
}
