import {
  all,
  currencyOf,
  date,
  decode,
  decoderOf,
  fields,
  Lenient,
  line,
  parse,
  Required,
  webAddress,
  wholeCard,
  wholeNumber,
  word,
} from '../json-parsers.ts'

/**
 * Parsers of the gateway's JSON, validated at the boundary. They never throw: an invalid required field makes the whole
 * object undefined. Statuses stay text, because new ones may be added. Amounts are minor units.
 */
const Word = Required(word)
const Line = Lenient(line)
const Text = Required((value) => line(value) ?? undefined)
const Amount = Required(wholeNumber)
const Time = Required(date)
const Currency = Required(currencyOf)
const SUM = { id: Word, amount: Amount, currency: Currency }

// The type is a prefix and the code, so it may be longer than a word.
const decodeProblem = decoderOf({ type: Required((value) => word(value, 300)), code: Word, detail: Line })

const decodeFailure = decoderOf({ code: Text, message: Line })

const decodeTransaction = decoderOf({
  ...{ ...SUM, kind: Word, status: Word, at: Time, failure: Lenient(decodeFailure) },
  /** What the provider keeps of it. */
  fee: Lenient(wholeNumber),
})

const decodeAccount = decoderOf({
  name: Line,
  number: Word,
  bank: Text,
  expiresAt: Lenient(date),
})

const decodePrompt = decoderOf({ message: Text })

const decodePayTo = decoderOf({ number: Word, account: Word })

const codeKind = (value: unknown) => (value === 'otp' || value === 'voucher' ? value : undefined)

/** A code that the customer has to give first. */
const decodeInput = decoderOf({ kind: Required(codeKind), message: Text })

const decodeDial = decoderOf({ code: Word, bank: Line, message: Text })

const decodeCard = decoderOf({ token: Word, brand: Line, last4: Word, expiryMonth: Amount, expiryYear: Amount })

const decodeRecord = decoderOf({
  reference: Word,
  channel: Word,
  status: Word,
  /** What was asked for. */
  requested: Amount,
  currency: Currency,
  /** The sum of refunds and lost disputes so far. */
  refunded: Amount,
  link: Lenient(webAddress),
  account: Lenient(decodeAccount),
  prompt: Lenient(decodePrompt),
  input: Lenient(decodeInput),
  /** From the network's own menu. */
  payTo: Lenient(decodePayTo),
  dial: Lenient(decodeDial),
  /** The text to encode. */
  qr: Lenient(word),
  publicKey: Word,
  expiresAt: Time,
  transactions: Required((value) => all(value, decodeTransaction)),
  savedCard: Lenient((value) => {
    const card = decodeCard(value)
    return card && wholeCard(card)
  }),
})

export const readListedRefund = decoderOf({
  ...SUM,
  status: Word,
  at: Time,
  /** A refund of the dashboard has no reference of ours. */
  reference: Lenient(word),
  dispute: Lenient(word),
  /** Our reference of the order, in the lists by account. */
  payment: Lenient(word),
})

export const readDispute = decoderOf({
  ...SUM,
  status: Word,
  openedAt: Time,
  reason: Line,
  respondBy: Lenient(date),
  payment: Lenient(word),
})

export const readTaken = decoderOf({ ...SUM, reference: Word, at: Time, refunded: Amount })

const Signed = Required((value) => (Number.isSafeInteger(value) ? (value as number) : undefined))

export const readSettlement = decoderOf({
  id: Word,
  currency: Currency,
  status: Word,
  day: Word,
  gross: Signed,
  fees: Amount,
  deductions: Amount,
  net: Signed,
  madeAt: Time,
  paidAt: Lenient(date),
  bankReference: Lenient(word),
})

export const readSettlementLine = decoderOf({
  id: Word,
  kind: Word,
  reference: Word,
  gross: Signed,
  fee: Signed,
  net: Signed,
})

const decodeNotice = decoderOf({ type: Word, reference: Lenient(word), data: Lenient(readRecord) })

export type GatewayError = NonNullable<ReturnType<typeof decodeFailure>>
export type GatewayRecord = NonNullable<ReturnType<typeof readRecord>>
export type GatewayRefund = NonNullable<ReturnType<typeof readRefund>>
export type GatewayReturns = NonNullable<ReturnType<typeof readReturns>>
export type GatewayListedRefund = NonNullable<ReturnType<typeof readListedRefund>>
export type GatewayDispute = NonNullable<ReturnType<typeof readDispute>>
export type GatewayTaken = NonNullable<ReturnType<typeof readTaken>>
export type GatewaySettlement = NonNullable<ReturnType<typeof readSettlement>>
export type GatewaySettlementLine = NonNullable<ReturnType<typeof readSettlementLine>>
export type GatewayNotice = NonNullable<ReturnType<typeof readNoticeBody>>

/** `{ data: … }` of a good answer. */
export function readData(text: string): unknown {
  return fields(parse(text))?.data
}

/** A problem+json body. Undefined for any other body, such as the error page of a proxy. */
export function readError(text: string): GatewayError | undefined {
  const problem = decodeProblem(parse(text))
  if (problem?.type !== `urn:manilla:problem:${problem?.code}`) return undefined
  return { code: problem.code, message: problem.detail }
}

/** A record that does not say what was refunded has no refunds. */
export function readRecord(value: unknown) {
  return decodeRecord({ refunded: 0, ...fields(value) })
}

export const readRefund = decoderOf({ ...SUM, reference: Word, status: Word })

export const readReturns = decoderOf({
  reference: Word,
  refunds: Required((value) => all(value, readListedRefund)),
  disputes: Required((value) => all(value, readDispute)),
})

/** A page of a list by account: its entries have the name of the list. */
export function readPage<T>(value: unknown, name: string, read: (one: unknown) => T | undefined) {
  const page = fields(value)
  const entries = all(page?.[name], read)
  const nextCursor = page?.nextCursor === null ? null : word(page?.nextCursor)
  return entries && nextCursor !== undefined ? { entries, nextCursor } : undefined
}

export const readNoticeBody = (body: Buffer) => decodeNotice(parse(decode(body)))
