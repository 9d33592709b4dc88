import { encodeBase32 } from './base32.ts'
import { decodeBase58, encodeBase58 } from './base58.ts'
import { decodePlace, decodePlace32, encodePlace, encodePlace32, type Place } from './place.ts'
import { pooledRandomBytes, randomInteger48 } from './random.ts'

/**
 * A public id: a prefix for its kind, its place (see place.ts) and a UUIDv7, both in base58 (`chk_…`). The database
 * stores place and UUID; stores convert with `placeOf`, `uuidOf` and `idOf`. Merchants, endpoints and members are in
 * tables that every machine has, so their ids have no place. The type and the prefix keep ids of two kinds from being
 * confused.
 */
export type Id<Kind extends IdKind> = string & { readonly kind: Kind }
export type IdKind = keyof typeof PREFIX
type PlainKind = (typeof PLAIN)[number]
export type PlacedKind = Exclude<IdKind, PlainKind>
/** The place as last argument, for ids that have one. */
type PlaceFor<Kind extends IdKind> = Kind extends PlainKind ? [] : [place: Place]

export type PaymentId = Id<'payment'>
export type EventId = Id<'event'>
export type MerchantId = Id<'merchant'>
export type AttemptId = Id<'attempt'>
export type SavedCardId = Id<'card'>
export type RefundId = Id<'refund'>
export type DeliveryId = Id<'delivery'>
export type EndpointId = Id<'endpoint'>
export type DisputeId = Id<'dispute'>
export type ReviewId = Id<'review'>
export type CaseId = Id<'case'>
export type SettlementId = Id<'settlement'>
export type MemberId = Id<'member'>
export type SessionId = Id<'session'>
export type PasskeyId = Id<'passkey'>
export type LinkId = Id<'link'>
export type OneTimeLinkId = Id<'oneTimeLink'>
export type SavedViewId = Id<'savedView'>

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
  review: 'rev_',
  case: 'cas_',
  settlement: 'stl_',
  member: 'mem_',
  session: 'ses_',
  passkey: 'pky_',
  link: 'lnk_',
  oneTimeLink: 'otl_',
  savedView: 'svw_',
} as const
const PLAIN = [
  'merchant',
  'endpoint',
  'member',
  'session',
  'passkey',
  'oneTimeLink',
  'savedView',
] as const satisfies IdKind[]
const PREFIX_LENGTH = 4
const PLACE_LENGTH = 2
const ENCODED_LENGTH = 22 // 58^22 > 2^128

/** A new UUIDv7: 48 bits of time, then 74 random bits. Those 74 bits are the secret of a payment page's link. */
export function newId<Kind extends IdKind>(kind: Kind, now: Date, ...place: PlaceFor<Kind>): Id<Kind> {
  const random = pooledRandomBytes(10)
  const time = BigInt(now.getTime())
  const randomA = BigInt(random.readUInt16BE(0) & 0x0fff)
  const randomB = random.readBigUInt64BE(2) & 0x3fffffffffffffffn
  const value = (time << 80n) | (7n << 76n) | (randomA << 64n) | (2n << 62n) | randomB
  return encode(kind, value, place)
}

function encode<Kind extends IdKind>(kind: Kind, value: bigint, [place]: readonly Place[]): Id<Kind> {
  const encoded = encodeBase58(value, ENCODED_LENGTH)
  return (PREFIX[kind] + (place === undefined ? '' : encodePlace(place)) + encoded) as Id<Kind>
}

/** Undefined when the text is not an id of that kind. */
export function parseId<Kind extends IdKind>(kind: Kind, text: string): Id<Kind> | undefined {
  const placeLength = (PLAIN as readonly string[]).includes(kind) ? 0 : PLACE_LENGTH
  if (text.length !== PREFIX_LENGTH + placeLength + ENCODED_LENGTH || !text.startsWith(PREFIX[kind])) return undefined
  const value = decodeBase58(text.slice(-ENCODED_LENGTH))
  if (value === undefined || value >= 1n << 128n) return undefined
  if (placeLength > 0 && decodePlace(text.slice(PREFIX_LENGTH, PREFIX_LENGTH + PLACE_LENGTH)) === undefined)
    return undefined
  return text as Id<Kind>
}

export function placeOf<Kind extends PlacedKind>(id: Id<Kind>): Place {
  return decodePlace(id.slice(PREFIX_LENGTH, PREFIX_LENGTH + PLACE_LENGTH)) ?? 0
}

export function uuidOf<Kind extends IdKind>(id: Id<Kind>): string {
  const value = decodeBase58(id.slice(-ENCODED_LENGTH)) ?? 0n
  const hex = value.toString(16).padStart(32, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

export function idOf<Kind extends IdKind>(kind: Kind, uuid: string, ...place: PlaceFor<Kind>): Id<Kind> {
  return encode(kind, BigInt(`0x${uuid.replaceAll('-', '')}`), place)
}

/** The time at which an id was made, by the clock of the process that made it. */
export function timeOf(id: Id<IdKind>): Date {
  return timeOfUuid(uuidOf(id))
}

/** The time in a UUIDv7. */
export function timeOfUuid(uuid: string): Date {
  return new Date(Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16))
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
const SHORT_CODE_RANDOM_LENGTH = 8

/**
 * The code of a short link: seconds, the place, then 8 random characters (46 bits). With the time first, its unique
 * index grows at the end; a random code tripled the write-ahead log per insert at a million rows.
 */
export function newShortCode(now: Date, place: Place): string {
  const random = BigInt(randomInteger48()) % 58n ** BigInt(SHORT_CODE_RANDOM_LENGTH)
  return timeOfCode(now) + encodePlace(place) + encodeBase58(random, SHORT_CODE_RANDOM_LENGTH)
}

function timeOfCode(now: Date): string {
  const seconds = Math.max(0, Math.floor(now.getTime() / 1000) - SHORT_CODE_EPOCH_SECONDS)
  const isShort = seconds < 58 ** SHORT_CODE_TIME_LENGTH
  return encodeBase58(BigInt(seconds), isShort ? SHORT_CODE_TIME_LENGTH : SHORT_CODE_TIME_LENGTH + 1)
}

/** The code of a receipt page: seconds, the place, then 128 random bits. It is the only thing that opens the page. */
export function newReceiptCode(now: Date, place: Place): string {
  const random = BigInt(`0x${pooledRandomBytes(16).toString('hex')}`)
  return timeOfCode(now) + encodePlace(place) + encodeBase58(random, ENCODED_LENGTH)
}

/** Undefined when the text is not a code of a receipt. */
export function placeOfReceiptCode(code: string): Place | undefined {
  if (!RECEIPT_CODE.test(code)) return undefined
  return decodePlace(code.slice(-ENCODED_LENGTH - PLACE_LENGTH, -ENCODED_LENGTH))
}

const RECEIPT_CODE = /^[1-9A-HJ-NP-Za-km-z]{29,30}$/

/** Undefined when the text is not a short code. */
export function placeOfShortCode(code: string): Place | undefined {
  const start = code.length - SHORT_CODE_RANDOM_LENGTH - PLACE_LENGTH
  return start < SHORT_CODE_TIME_LENGTH ? undefined : decodePlace(code.slice(start, start + PLACE_LENGTH))
}

/**
 * A reference for a payment without one: milliseconds, the place, then 10 random characters (50 bits). Lower-case
 * letters and digits only, which every provider accepts.
 */
export function newReference(now: Date, place: Place): string {
  return encodeBase32(now.getTime(), 9) + encodePlace32(place) + randomBase32()
}

/**
 * An attempt's reference: the payment's, the place, then ten random characters (50 bits), so that it is unique at every
 * provider.
 */
export function newAttemptReference(paymentReference: string, place: Place): string {
  return `${paymentReference}-${encodePlace32(place)}${randomBase32()}`
}

/** The place in a generated reference or in an attempt's reference. Undefined when the text has none. */
export function placeOfReference(reference: string): Place | undefined {
  return decodePlace32(reference.slice(-RANDOM_LENGTH - PLACE_LENGTH, -RANDOM_LENGTH))
}

const RANDOM_LENGTH = 10

function randomBase32(): string {
  let random = ''
  for (const byte of pooledRandomBytes(RANDOM_LENGTH)) random += encodeBase32(byte & 31, 1)
  return random
}
