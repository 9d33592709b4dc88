import { type Currency, parseCurrency } from '../../kernel/money.ts'

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
  savedCard: GatewayCard | null
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

export interface GatewayCard {
  token: string
  brand: string
  last4: string
  expiryMonth: number
  expiryYear: number
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
  const requested = amount(record.requested)
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
  const minor = amount(sum?.amount)
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

/** A card that cannot be read is no card: the money that came with it counts all the same. */
function readCard(value: unknown): GatewayCard | null {
  const card = fields(value)
  const token = word(card?.token)
  const brand = line(card?.brand)
  const last4 = word(card?.last4)
  const expiryMonth = amount(card?.expiryMonth)
  const expiryYear = amount(card?.expiryYear)
  if (!token || !brand || !last4 || !/^\d{4}$/.test(last4)) return null
  if (!expiryMonth || expiryMonth > 12 || !expiryYear || expiryYear < 2000 || expiryYear > 2999) return null
  return { token, brand, last4, expiryMonth, expiryYear }
}

function readFailure(value: unknown): GatewayError | null {
  const failure = fields(value)
  const code = line(failure?.code)
  return failure && code ? { code, message: line(failure.message) } : null
}

function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fields(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function all<T>(value: unknown, read: (one: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const parts = value.map(read)
  return parts.includes(undefined) ? undefined : (parts as T[])
}

/** An id, a code, a status: something that can be stored and compared. */
function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
}

/** A line for people. PostgreSQL takes neither NUL nor half a character, and nobody wants a control character on a page. */
function line(value: unknown): string | null {
  if (typeof value !== 'string') return null
  return (
    value
      .slice(0, 255)
      .toWellFormed()
      .replaceAll(/\p{Cc}/gu, ' ')
      .trim() || null
  )
}

function amount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined
}

function currencyOf(value: unknown): Currency | undefined {
  return typeof value === 'string' ? parseCurrency(value) : undefined
}

function date(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT[\d:.]{5,18}(Z|[+-]\d\d:\d\d)$/.test(value)) return undefined
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** Customers are sent there, so it is a web page or nothing. */
function webAddress(value: unknown): string | null {
  const url = typeof value === 'string' && value.length <= 2_048 ? URL.parse(value) : null
  return url && /^https?:$/.test(url.protocol) ? url.href : null
}
