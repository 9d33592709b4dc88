import type { MemberId, MerchantId, SessionId } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import { isAllowed, type Permission, type Role } from './permissions.ts'

/** A person with an account of the dashboard. */
export interface Member {
  id: MemberId
  email: string
  name: string
  /** Runs the installation. */
  operator: boolean
  factors: Factors
}

/** What a member can prove their identity with. A passkey is a first and a second factor in one. */
export interface Factors {
  password: boolean
  totp: boolean
  passkeys: number
}

export interface Membership {
  place: Place
  merchantId: MerchantId
  merchantName: string
  suspended: boolean
  country: string
  /** The zone of days and times. Null: the browser's. */
  timeZone: string | null
  requireSecondFactor: boolean
  role: Role
  /** The most that support may refund of one payment, and that needs no step-up; in the lowest denomination. */
  refundLimit: number
}

export interface Session {
  id: SessionId
  member: Member
  memberships: Membership[]
  /** False until the second factor is given. */
  complete: boolean
  /** The identity was proved in the last 10 minutes (step-up). */
  confirmed: boolean
}

/** Where a request comes from, for sessions, limits and the audit log. */
export interface Visit {
  address: string
  userAgent: string
  /** The device cookie: proof of an earlier sign-in with this browser. */
  device?: string | undefined
}

export function hasSecondFactor({ totp, passkeys }: Factors): boolean {
  return totp || passkeys > 0
}

/** The ways in which a member can give a second factor. */
export function secondFactorsOf({ totp, passkeys }: Factors): ('passkey' | 'totp' | 'recovery-code')[] {
  return [...(passkeys > 0 ? (['passkey'] as const) : []), ...(totp ? (['totp', 'recovery-code'] as const) : [])]
}

export function mayIn(membership: Membership | undefined, permission: Permission): boolean {
  return membership !== undefined && isAllowed(membership.role, permission)
}

/** Without the characters that have a meaning in mail headers: mail to `a@b.example>` would go to another address. */
const EMAIL = /^[^\s@\p{Cc}<>()[\]\\,;:"]+@[^\s@.\p{Cc}<>()[\]\\,;:"]+(\.[^\s@.\p{Cc}<>()[\]\\,;:"]+)+$/u

/** Lower case, trimmed. Undefined when it is not an e-mail address. */
export function parseEmail(text: string): string | undefined {
  const email = text.trim().normalize('NFC').toLowerCase()
  return email.length <= 254 && EMAIL.test(email) ? email : undefined
}

export function parseMemberName(text: string): string | undefined {
  const name = text.trim()
  return name !== '' && name.length <= 100 && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name) ? name : undefined
}

/** The actor in the audit log. The log stores the address in its own column. */
export function memberActor(id: MemberId, address: string): string {
  return `member:${id} from ${address}`
}
