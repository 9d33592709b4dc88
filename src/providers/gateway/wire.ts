import type { Currency } from '../../kernel/money.ts'
import {
  all,
  currencyOf,
  date,
  decode,
  fields,
  line,
  parse,
  webAddress,
  wholeCard,
  wholeNumber,
  word,
} from '../../kernel/their-json.ts'
import type { SavedCard } from '../provider.ts'

/**
 * Their JSON, read at the door. What money depends on must be whole, or all of it is undefined: an answer that we
 * understand by half is one that we do not understand. Statuses stay text here, for new ones will come.
 */
export interface GatewayRecord {
  reference: string
  channel: string
  status: string
  /** What was asked for. */
  requested: number
  currency: Currency
  link: string | null
  account: { name: string | null; number: string; bank: string; expiresAt: Date | null } | null
  publicKey: string
  expiresAt: Date
  transactions: GatewayTransaction[]
  savedCard: SavedCard | null
}

export interface GatewayTransaction {
  id: string
  kind: string
  status: string
  amount: number
  currency: Currency
  at: Date
  failure: GatewayError | null
}

export interface GatewayRefund {
  id: string
  reference: string
  status: string
  amount: number
  currency: Currency
}

export interface GatewayNotice {
  type: string
  reference: string | null
  data: GatewayRecord | undefined
  refund: { id: string; reference: string | null; amount: number; currency: Currency } | undefined
}

export interface GatewayError {
  code: string
  message: string | null
}

/** `{ data: … }` of a good answer. */
export function readData(text: string): unknown {
  return fields(parse(text))?.data
}

/** `{ error: { code, message } }` of a refusal; undefined when somebody else has answered in their place. */
export function readError(text: string): GatewayError | undefined {
  return readFailure(fields(parse(text))?.error) ?? undefined
}

export function readRecord(value: unknown): GatewayRecord | undefined {
  const record = fields(value)
  if (!record) return undefined
  const reference = word(record.reference)
  const channel = word(record.channel)
  const status = word(record.status)
  const requested = wholeNumber(record.requested)
  const currency = currencyOf(record.currency)
  const publicKey = word(record.publicKey)
  const expiresAt = date(record.expiresAt)
  const transactions = all(record.transactions, readTransaction)
  if (!reference || !channel || !status || requested === undefined || !currency) return undefined
  if (!publicKey || !expiresAt || !transactions) return undefined
  return {
    reference,
    channel,
    status,
    requested,
    currency,
    link: webAddress(record.link),
    account: readAccount(record.account),
    publicKey,
    expiresAt,
    transactions,
    savedCard: readCard(record.savedCard),
  }
}

export function readRefund(value: unknown): GatewayRefund | undefined {
  const refund = fields(value)
  const sum = readSum(value)
  const reference = word(refund?.reference)
  const status = word(refund?.status)
  return sum && reference && status ? { ...sum, reference, status } : undefined
}

export function readNoticeBody(body: Buffer): GatewayNotice | undefined {
  const notice = fields(parse(decode(body)))
  const type = word(notice?.type)
  if (!notice || !type) return undefined
  const refund = readSum(notice.refund)
  return {
    type,
    reference: word(notice.reference) ?? null,
    data: readRecord(notice.data),
    refund: refund && { ...refund, reference: word(fields(notice.refund)?.reference) ?? null },
  }
}

function readTransaction(value: unknown): GatewayTransaction | undefined {
  const transaction = fields(value)
  const sum = readSum(value)
  const kind = word(transaction?.kind)
  const status = word(transaction?.status)
  const at = date(transaction?.at)
  if (!transaction || !sum || !kind || !status || !at) return undefined
  return { ...sum, kind, status, at, failure: readFailure(transaction.failure) }
}

function readSum(value: unknown): { id: string; amount: number; currency: Currency } | undefined {
  const sum = fields(value)
  const id = word(sum?.id)
  const minor = wholeNumber(sum?.amount)
  const currency = currencyOf(sum?.currency)
  return id && minor !== undefined && currency ? { id, amount: minor, currency } : undefined
}

function readAccount(value: unknown): GatewayRecord['account'] {
  const account = fields(value)
  const number = word(account?.number)
  const bank = line(account?.bank)
  if (!account || !number || !bank) return null
  return { name: line(account.name), number, bank, expiresAt: date(account.expiresAt) ?? null }
}

function readCard(value: unknown): SavedCard | null {
  const card = fields(value)
  return wholeCard({
    token: word(card?.token),
    brand: line(card?.brand),
    last4: word(card?.last4),
    expiryMonth: wholeNumber(card?.expiryMonth),
    expiryYear: wholeNumber(card?.expiryYear),
  })
}

function readFailure(value: unknown): GatewayError | null {
  const failure = fields(value)
  const code = line(failure?.code)
  return failure && code ? { code, message: line(failure.message) } : null
}
