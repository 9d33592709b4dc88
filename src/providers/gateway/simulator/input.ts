import { isMobileNetwork, MOBILE_NETWORKS, PAID_FROM_MENU } from '../../../kernel/mobile-networks.ts'
import { offerOf } from '../../capabilities.ts'
import { capabilities } from '../capabilities.ts'
import { FAULT_KINDS, type Faults, NO_FAULTS } from './faults.ts'
import type { PaymentRequest } from './open-payment.ts'
import { CHANNELS, type Channel } from './record.ts'
import type { RefundRequest } from './refund-payment.ts'
import { invalid } from './refusal.ts'

/** Requests, parsed at the door. After it the types are trusted. */
type Body = Record<string, unknown>

const { currencies: CURRENCIES } = capabilities
const MAX_AMOUNT = 1_000_000_000_000_000
const REFERENCE = /^[A-Za-z0-9_.:-]{1,100}$/
// PostgreSQL keeps no U+0000, and nothing here is written in control characters.
const CONTROL = /\p{Cc}/u

export function readBody(value: unknown): Body {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('Send a JSON object.')
  return value as Body
}

export function readPaymentRequest(value: unknown): PaymentRequest {
  const body = readBody(value)
  const channel = CHANNELS.find((name) => name === body.channel)
  if (!channel) throw invalid(`channel must be one of ${CHANNELS.join(', ')}.`)
  const common = readCommon(body)
  const { savedCard = null, customer } = readMeans(body, channel, common.currency)
  if (savedCard === null && readOptionalText(body, 'savedCard') !== null) {
    throw invalid('savedCard goes with the channel "card" only.')
  }
  return { ...common, channel, savedCard, ...(customer && { customer }) }
}

type Means = Partial<Pick<PaymentRequest, 'savedCard' | 'customer'>>

/** What the customer pays with. */
function readMeans(body: Body, channel: Channel, currency: string): Means {
  switch (channel) {
    case 'card':
      return { savedCard: readOptionalText(body, 'savedCard') }
    case 'transfer':
      return {}
    case 'mobile-money':
      return { customer: { ...readHandset(body, currency), bank: null } }
    case 'ussd':
    case 'bank': {
      const { banks = [] } = offerOf(capabilities, channel, currency) ?? {}
      const bank = banks.find(({ code }) => code === body.bank)
      if (!bank) throw invalid(`bank must be one of ${banks.map(({ code }) => code).join(', ')}.`)
      return { customer: { phoneNumber: null, network: null, bank: bank.name } }
    }
    case 'qr':
      return { customer: { phoneNumber: null, network: null, bank: null } }
  }
}

function readHandset(body: Body, currency: string) {
  const known = Object.values(offerOf(capabilities, 'mobile-money', currency)?.networks ?? {}).flat()
  const network = typeof body.network === 'string' && isMobileNetwork(body.network) ? body.network : undefined
  if (!network || !known.includes(network)) throw invalid(`network must be one of ${known.join(', ')}.`)
  if (PAID_FROM_MENU.has(network)) return { network, phoneNumber: null }
  const phoneNumber = readText(body, 'phoneNumber')
  if (!/^\+\d{8,15}$/.test(phoneNumber)) {
    throw invalid(`phoneNumber must be such as +233551234987: ${MOBILE_NETWORKS[network]} asks on that phone.`)
  }
  return { network, phoneNumber }
}

export function readCode(value: unknown): string {
  return readText(readBody(value), 'code')
}

export const ANSWERS = ['approve', 'refuse', 'expire'] as const
export type CustomerAnswer = (typeof ANSWERS)[number]

export function readAnswer(value: unknown): CustomerAnswer {
  const { answer } = readBody(value)
  const known = ANSWERS.find((name) => name === answer)
  if (!known) throw invalid(`answer must be one of ${ANSWERS.join(', ')}.`)
  return known
}

export function readChargeRequest(value: unknown): PaymentRequest {
  const body = readBody(value)
  return { ...readCommon(body), channel: 'card', savedCard: readText(body, 'savedCard') }
}

export function readRefundRequest(value: unknown): RefundRequest {
  const body = readBody(value)
  return {
    reference: readReference(body, 'reference'),
    payment: readReference(body, 'payment'),
    amount: readAmount(body),
  }
}

export function readHandRefund(value: unknown): { payment: string; amount: number | null; dispute: number | null } {
  const body = readBody(value)
  return {
    payment: readReference(body, 'reference'),
    amount: readOptionalAmount(body),
    dispute: body.dispute === undefined || body.dispute === null ? null : readDisputeId(body.dispute),
  }
}

export function readNewDispute(value: unknown): { payment: string; amount: number | null; reason: string } {
  const body = readBody(value)
  return {
    payment: readReference(body, 'reference'),
    amount: readOptionalAmount(body),
    reason: readOptionalText(body, 'reason') ?? 'fraudulent',
  }
}

export function readDisputeChange(value: unknown): { amount: number | null; reason: string | null } {
  const body = readBody(value)
  return { amount: readOptionalAmount(body), reason: readOptionalText(body, 'reason') }
}

export function readOutcome(value: unknown): 'won' | 'lost' {
  const { outcome } = readBody(value)
  if (outcome !== 'won' && outcome !== 'lost') throw invalid('outcome must be "won" or "lost".')
  return outcome
}

/** `gds_12`; any other text names no dispute, and 0 is the id of none. */
export function readDisputeId(value: unknown): number {
  const digits = typeof value === 'string' ? /^gds_([1-9]\d{0,14})$/.exec(value)?.[1] : undefined
  return Number(digits ?? 0)
}

export function readSettlementId(value: string): number {
  return Number(/^gst_([1-9]\d{0,14})$/.exec(value)?.[1] ?? 0)
}

export function readTransactionsQuery(query: Record<string, unknown>) {
  const from = readTime(query, 'from')
  const to = readTime(query, 'to')
  return { from, to, ...readLedgerQuery(query) }
}

export function readTransfer(value: unknown): { accountNumber: string; amount: number } {
  const body = readBody(value)
  return { accountNumber: readText(body, 'accountNumber'), amount: readAmount(body) }
}

export function readControlCharge(value: unknown): { card: string | null; code: string | null; save: boolean } {
  const body = readBody(value ?? {})
  const { save = false } = body
  if (typeof save !== 'boolean') throw invalid('save must be true or false.')
  return { card: readOptionalText(body, 'card'), code: readOptionalText(body, 'otp'), save }
}

export function readFaults(value: unknown): Faults {
  const body = readBody(value)
  const faults = { ...NO_FAULTS }
  for (const [name, given] of Object.entries(body)) {
    if (name === 'seed') {
      if (!Number.isSafeInteger(given)) throw invalid('seed must be a whole number.')
      faults.seed = given as number
      continue
    }
    const kind = FAULT_KINDS.find((known) => known === name)
    if (!kind) throw invalid(`There is no such fault. The faults are ${FAULT_KINDS.join(', ')}.`)
    if (typeof given !== 'number' || !(given >= 0 && given <= 1)) throw invalid(`${kind} must be a rate from 0 to 1.`)
    faults[kind] = given
  }
  return faults
}

/** A page of the ledger: after which row, and how many. */
export function readLedgerQuery(query: Record<string, unknown>): { after: number; limit: number } {
  const after = Number(query.cursor ?? 0)
  if (!Number.isSafeInteger(after) || after < 0) throw invalid('cursor must be one that we gave.')
  const limit = Number(query.limit ?? 100)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) throw invalid('limit must be from 1 to 1000.')
  return { after, limit }
}

/** Text that may be a reference of ours: anything else is simply not there. */
export function isReference(text: unknown): text is string {
  return typeof text === 'string' && REFERENCE.test(text)
}

function readCommon(body: Body) {
  const { currency } = body
  if (typeof currency !== 'string' || !CURRENCIES.includes(currency)) {
    throw invalid(`currency must be one of ${CURRENCIES.join(', ')}.`)
  }
  return {
    reference: readReference(body, 'reference'),
    amount: readAmount(body),
    currency,
    email: readText(body, 'email'),
    name: readOptionalText(body, 'name'),
    merchantName: readText(body, 'merchantName'),
    returnURL: readWebAddress(body, 'returnURL'),
    expiresAt: readTime(body, 'expiresAt'),
  }
}

function readReference(body: Body, field: string): string {
  const value = body[field]
  if (!isReference(value)) throw invalid(`${field} must be 1 to 100 letters, digits or any of _ . : -`)
  return value
}

function readAmount({ amount }: Body): number {
  if (!Number.isSafeInteger(amount) || (amount as number) < 1 || (amount as number) > MAX_AMOUNT) {
    throw invalid(`amount must be a whole number of minor units, from 1 to ${MAX_AMOUNT}.`)
  }
  return amount as number
}

function readOptionalAmount(body: Body): number | null {
  return body.amount === undefined || body.amount === null ? null : readAmount(body)
}

function readText(body: Body, field: string): string {
  const value = body[field]
  if (typeof value !== 'string' || value.trim() === '' || value.length > 500) {
    throw invalid(`${field} must be text of at most 500 characters.`)
  }
  if (CONTROL.test(value) || !value.isWellFormed()) throw invalid(`${field} holds a character that is not text.`)
  return value
}

function readOptionalText(body: Body, field: string): string | null {
  return body[field] === undefined || body[field] === null ? null : readText(body, field)
}

function readWebAddress(body: Body, field: string): string {
  const value = body[field]
  const url = typeof value === 'string' && value.length <= 4_096 ? URL.parse(value) : null
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw invalid(`${field} must be an http or https address.`)
  return url.href
}

function readTime(body: Body, field: string): Date {
  const value = body[field]
  const time = new Date(typeof value === 'string' ? value : Number.NaN)
  const year = time.getUTCFullYear()
  if (!(year >= 2000 && year <= 2999)) throw invalid(`${field} must be a time such as 2026-01-31T12:00:00.000Z.`)
  return time
}
