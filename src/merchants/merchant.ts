import type { Country } from '../kernel/country.ts'
import type { MerchantId } from '../kernel/ids.ts'
import type { Money } from '../kernel/money.ts'
import type { Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'
import type { CheckUse } from './credential-limits.ts'

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

/** What a merchant sets besides the payment page; the same in both modes. */
export interface MerchantSettings {
  name: string
  country: Country
  /** An IANA name. Null: each member sees the times of their browser's zone. */
  timeZone: string | null
}

/** The name as the runtime writes it. Undefined when it is not a zone of the IANA database. */
export function parseTimeZone(text: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return undefined // offsets such as +01:00 are no zones
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

/** The authenticated merchant of a request, in the mode of its credential or of the dashboard's path. */
export interface Caller extends Scope {
  /** Recorded in the audit log: `credential:cid_…`, or a member of the dashboard. */
  actor: string
  suspended: boolean
  merchantName: string
  /** Of a credential: throws when it has expired, or may not be used for this or from there. */
  checkUse?: CheckUse
  /** Of a member: throws when the refunds of one payment, all together, are above what the member may do. */
  limitRefunds?: (total: Money) => void
}
