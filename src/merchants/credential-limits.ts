import { BlockList, isIP } from 'node:net'
import { type Mistake, Problem, refuse } from '../kernel/problem.ts'
import { beginsWithDay } from '../kernel/time-zone.ts'
import { CREDENTIAL_SCOPES, type CredentialScope } from './credential-scopes.ts'

/**
 * What a credential may do, until when and from where. They are set when it is made; only replacing it brings its end
 * forward.
 */
export interface CredentialLimits {
  scopes: readonly CredentialScope[]
  /** Null: it does not expire. */
  expiresAt: Date | null
  /** Addresses and CIDR ranges; empty: from everywhere. */
  allowedAddresses: string[]
}

export const NO_LIMITS: CredentialLimits = { scopes: CREDENTIAL_SCOPES, expiresAt: null, allowedAddresses: [] }

/** Limits as a person gives them. Absent ones do not limit. */
export interface WantedLimits {
  scopes?: string[] | undefined
  expiresAt?: string | null | undefined
  allowedAddresses?: string[] | undefined
}

const MAX_ADDRESSES = 50
/** Operators and members are warned of a credential that expires within this time. */
export const EXPIRES_SOON_DAYS = 14

/** Throws all mistakes at once. */
export function parseLimits({ scopes, expiresAt, allowedAddresses = [] }: WantedLimits, now: Date): CredentialLimits {
  const mistakes: Mistake[] = []
  const wrong = (field: keyof WantedLimits, code: string, rule: string) =>
    mistakes.push({ pointer: `/${field}`, code, message: `${field} ${rule}.` })
  const chosen = CREDENTIAL_SCOPES.filter((scope) => scopes?.includes(scope) ?? true)
  const unknown = scopes?.find((scope) => !CREDENTIAL_SCOPES.includes(scope as CredentialScope))
  if (unknown !== undefined)
    wrong('scopes', 'invalid_value', `has no "${unknown}": there are ${CREDENTIAL_SCOPES.join(', ')}`)
  else if (chosen.length === 0) wrong('scopes', 'required', 'must have at least one scope')

  const end = expiresAt == null ? null : timeOf(expiresAt)
  if (end && !(end > now))
    wrong(
      'expiresAt',
      'invalid_value',
      'must be a time in the future and before 2101, like 2027-01-31 or 2027-01-31T12:00:00Z',
    )

  // An empty entry is a mistake, not "from everywhere": a variable that was not set must not make a key without limits.
  const addresses = [...new Set(allowedAddresses.map((text) => text.trim().toLowerCase()))]
  const broken = addresses.find((text) => !isAddressRange(text))
  if (broken !== undefined)
    wrong('allowedAddresses', 'invalid_value', `has "${broken}": write an address, or a range like 203.0.113.0/24`)
  if (addresses.length > MAX_ADDRESSES)
    wrong('allowedAddresses', 'too_many', `must have at most ${MAX_ADDRESSES} entries`)
  if (mistakes.length > 0) refuse(mistakes)
  return { scopes: chosen, expiresAt: end, allowedAddresses: addresses }
}

/**
 * A day means its beginning in UTC; a time must name its zone. `new Date` alone reads 31 February as 3 March, and
 * "2027-01-31 junk" as June.
 */
function timeOf(text: string): Date {
  const [, day, time = 'T00:00Z'] =
    /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? []
  return new Date(day !== undefined && beginsWithDay(day) ? `${day}${time}` : Number.NaN)
}

/** Throws when a credential may not be used for this or from this address. */
export type CheckUse = (scope: CredentialScope, from: { readonly ip: string }) => void

export function useCheck(
  { scopes, expiresAt, allowedAddresses }: CredentialLimits,
  hasExpired: () => boolean,
): CheckUse {
  const allowed = allowedAddresses.length > 0 ? listOf(allowedAddresses) : undefined
  return (scope, from) => {
    if (hasExpired())
      throw new Problem('credential_expired', `This credential expired at ${expiresAt?.toISOString()}. Make another.`)
    if (allowed && !includes(allowed, from.ip))
      throw new Problem('address_not_allowed', `This credential may not be used from the address ${from.ip}.`)
    if (!scopes.includes(scope))
      throw new Problem('insufficient_scope', `This credential does not have the scope ${scope}.`, {
        extra: { missingScope: scope },
      })
  }
}

function isAddressRange(text: string): boolean {
  const [address = '', bits, ...others] = text.split('/')
  const version = address.includes('%') ? 0 : isIP(address)
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
  return version !== 0 && fits && others.length === 0
}

function listOf(ranges: string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const isIpv4 = isIP(address) === 4
    list.addSubnet(address, Number(bits ?? (isIpv4 ? 32 : 128)), isIpv4 ? 'ipv4' : 'ipv6')
  }
  return list
}

/** An IPv4-mapped IPv6 address, as a dual-stack socket reports it, counts as its IPv4 address. */
function includes(list: BlockList, address: string): boolean {
  const [bare = ''] = address.split('%', 1) // without the zone of a link-local address
  const version = isIP(bare) // 0 for what a proxy may write in place of an address
  return version !== 0 && list.check(bare, version === 4 ? 'ipv4' : 'ipv6')
}
