import { decodeBase58, encodeBase58 } from './base58.ts'
import { pooledRandomBytes, randomInteger48 } from './random.ts'

/**
 * A public id: a prefix for its kind, then a UUIDv7 in base58 (`chk_…`). The database stores the UUID; stores convert with `uuidOf` and
 * `idOf`. The type and the prefix keep ids of two kinds from being confused.
 */
export type Id<Kind extends IdKind> = string & { readonly kind: Kind }
export type IdKind = keyof typeof PREFIX

export type PaymentId = Id<'payment'>
export type EventId = Id<'event'>
export type MerchantId = Id<'merchant'>
export type AttemptId = Id<'attempt'>
export type SavedCardId = Id<'card'>
export type RefundId = Id<'refund'>
export type DeliveryId = Id<'delivery'>
export type EndpointId = Id<'endpoint'>
export type DisputeId = Id<'dispute'>
export type MemberId = Id<'member'>
export type SessionId = Id<'session'>
export type PasskeyId = Id<'passkey'>
export type OneTimeLinkId = Id<'oneTimeLink'>

const PREFIX = {
  payment: 'chk_',
  attempt: 'att_',
  event: 'evt_',
  merchant: 'mer_',
  card: 'crd_',
  refund: 'rfd_',
  delivery: 'dlv_',
  endpoint: 'whe_',
  dispute: 'dsp_',
  member: 'mem_',
  session: 'ses_',
  passkey: 'pky_',
  oneTimeLink: 'otl_',
} as const
const ENCODED_LENGTH = 22 // 58^22 > 2^128

/** A new UUIDv7: 48 bits of time, then 74 random bits. Those 74 bits are the secret of a payment page's link. */
export function newId<Kind extends IdKind>(kind: Kind, now: Date): Id<Kind> {
  const random = pooledRandomBytes(10)
  const time = BigInt(now.getTime())
  const randomA = BigInt(random.readUInt16BE(0) & 0x0fff)
  const randomB = random.readBigUInt64BE(2) & 0x3fffffffffffffffn
  const value = (time << 80n) | (7n << 76n) | (randomA << 64n) | (2n << 62n) | randomB
  return (PREFIX[kind] + encodeBase58(value, ENCODED_LENGTH)) as Id<Kind>
}

/** Undefined when the text is not an id of that kind. */
export function parseId<Kind extends IdKind>(kind: Kind, text: string): Id<Kind> | undefined {
  const prefix = PREFIX[kind]
  if (text.length !== prefix.length + ENCODED_LENGTH || !text.startsWith(prefix)) return undefined
  const value = decodeBase58(text.slice(prefix.length))
  if (value === undefined || value >= 1n << 128n) return undefined
  return text as Id<Kind>
}

export function uuidOf<Kind extends IdKind>(id: Id<Kind>): string {
  const value = decodeBase58(id.slice(id.indexOf('_') + 1)) ?? 0n
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function idOf<Kind extends IdKind>(kind: Kind, uuid: string): Id<Kind> {
  return (PREFIX[kind] + encodeBase58(BigInt(`0x${uuid.replaceAll('-', '')}`), ENCODED_LENGTH)) as Id<Kind>
}

export const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The lowest UUIDv7 of that time, for range queries by time. */
export function firstUuidAt(time: Date): string {
  const hex = Math.min(Math.max(0, time.getTime()), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

const SHORT_CODE_EPOCH_SECONDS = Date.UTC(2026, 0, 1) / 1000
const SHORT_CODE_TIME_LENGTH = 5 // 58^5 seconds last until 2046; then the length is six

/**
 * The code of a short link: seconds, then 8 random characters (46 bits). With the time first, its unique index grows at the end; a
 * random code tripled the write-ahead log per insert at a million rows.
 */
export function newShortCode(now: Date): string {
  const seconds = Math.max(0, Math.floor(now.getTime() / 1000) - SHORT_CODE_EPOCH_SECONDS)
  const timeLength = seconds < 58 ** SHORT_CODE_TIME_LENGTH ? SHORT_CODE_TIME_LENGTH : SHORT_CODE_TIME_LENGTH + 1
  const random = BigInt(randomInteger48()) % 58n ** 8n
  return encodeBase58(BigInt(seconds), timeLength) + encodeBase58(random, 8)
}

const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz' // Crockford's, in ASCII order

/**
 * A reference for a payment without one: milliseconds, then 10 random characters (50 bits). Lower-case letters and digits only, which
 * every provider accepts.
 */
export function newReference(now: Date): string {
  let time = now.getTime()
  let encoded = ''
  for (let digit = 0; digit < 9; digit++) {
    encoded = BASE32.charAt(time % 32) + encoded
    time = Math.floor(time / 32)
  }
  const random = pooledRandomBytes(10)
  for (const byte of random) encoded += BASE32.charAt(byte & 31)
  return encoded
}

/** An attempt's reference: the payment's, then ten random characters (50 bits), so that it is unique at every provider. */
export function newAttemptReference(paymentReference: string): string {
  let added = ''
  for (const byte of pooledRandomBytes(10)) added += BASE32.charAt(byte & 31)
  return `${paymentReference}-${added}`
}
