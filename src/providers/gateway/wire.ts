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
} from '../json-parsers.ts'
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
  /** The sum of refunds and lost disputes so far. */
  refunded: number
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
}

/** A refund in the list of a payment's returns. A refund of the dashboard has no reference of ours. */
export interface GatewayListedRefund {
  id: string
  reference: string | null
  status: string
  amount: number
  currency: Currency
  at: Date
  dispute: string | null
}

export interface GatewayDispute {
  id: string
  amount: number
  currency: Currency
  status: string
  reason: string | null
  respondBy: Date | null
  openedAt: Date
}

export interface GatewayReturns {
  reference: string
  refunds: GatewayListedRefund[]
  disputes: GatewayDispute[]
}

export interface GatewayTaken {
  id: string
  reference: string
  amount: number
  currency: Currency
  at: Date
  refunded: number
}

export interface GatewayError {
  code: string
  message: string | null
}

/** `{ data: … }` of a good answer. */
export function readData(text: string): unknown {
  return fields(parse(text))?.data
}

/** A problem+json body. Undefined for any other body, such as the error page of a proxy. */
export function readError(text: string): GatewayError | undefined {
  const problem = fields(parse(text))
  const code = word(problem?.code)
  return code && problem?.type === `urn:manilla:problem:${code}` ? { code, message: line(problem.detail) } : undefined
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
  const refunded = record.refunded === undefined ? 0 : wholeNumber(record.refunded)
  if (!publicKey || !expiresAt || !transactions || refunded === undefined) return undefined
  return {
    reference,
    channel,
    status,
    requested,
    currency,
    refunded,
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

export function readReturns(value: unknown): GatewayReturns | undefined {
  const returns = fields(value)
  const reference = word(returns?.reference)
  const refunds = all(returns?.refunds, readListedRefund)
  const disputes = all(returns?.disputes, readDispute)
  return reference && refunds && disputes ? { reference, refunds, disputes } : undefined
}

export function readTakenPage(value: unknown): { transactions: GatewayTaken[]; nextCursor: string | null } | undefined {
  const page = fields(value)
  const transactions = all(page?.transactions, readTaken)
  const nextCursor = page?.nextCursor === null ? null : word(page?.nextCursor)
  return transactions && nextCursor !== undefined ? { transactions, nextCursor } : undefined
}

function readListedRefund(value: unknown): GatewayListedRefund | undefined {
  const refund = fields(value)
  const sum = readSum(value)
  const status = word(refund?.status)
  const at = date(refund?.at)
  if (!sum || !status || !at) return undefined
  return { ...sum, status, at, reference: word(refund?.reference) ?? null, dispute: word(refund?.dispute) ?? null }
}

function readDispute(value: unknown): GatewayDispute | undefined {
  const dispute = fields(value)
  const sum = readSum(value)
  const status = word(dispute?.status)
  const openedAt = date(dispute?.openedAt)
  if (!sum || !status || !openedAt) return undefined
  return { ...sum, status, openedAt, reason: line(dispute?.reason), respondBy: date(dispute?.respondBy) ?? null }
}

function readTaken(value: unknown): GatewayTaken | undefined {
  const taken = fields(value)
  const sum = readSum(value)
  const reference = word(taken?.reference)
  const at = date(taken?.at)
  const refunded = wholeNumber(taken?.refunded)
  return sum && reference && at && refunded !== undefined ? { ...sum, reference, at, refunded } : undefined
}

export function readNoticeBody(body: Buffer): GatewayNotice | undefined {
  const notice = fields(parse(decode(body)))
  const type = word(notice?.type)
  if (!notice || !type) return undefined
  return { type, reference: word(notice.reference) ?? null, data: readRecord(notice.data) }
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
