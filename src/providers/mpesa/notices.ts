import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, OrderNotices, RawNotice, Receipt } from '../provider.ts'
import { accountTyped } from './api.ts'
import type { Account } from './capabilities.ts'
import { type PaybillCallback, type ResultCallback, readCallback, type StkCallback } from './wire.ts'

/** What callbacks said of an order. */
export type Fact = {
  /** The code of its result. `0`: done. */
  code?: string
  /** Of a prompt: its MerchantRequestID. */
  request?: string
  /** Of a prompt: its CheckoutRequestID. It has the phone number in it, so it is a personal fact. */
  checkout?: string
  /** Of a prompt that was paid: the number by which M-PESA knows the transaction. */
  receipt?: string
  /** In cents. */
  amount?: string
  at?: string
  /** Of a reversal: our reference of the refund. */
  refund?: string
  /** Of a reversal: the number of the transaction that gave the money back. */
  reversal?: string
  /** Of a reversal: the receipt number of the payment that was given back. */
  original?: string
  /** The receipt number of a payment to the paybill, as its confirmation says. It has to be asked for. */
  paid?: string
  /** The receipt number that was asked for. Code `0`: the money is there. */
  asked?: string
}

export const factsOf = (notices: OrderNotices | undefined) => (notices?.facts ?? []) as readonly Fact[]

/**
 * What a callback is about: an order, a refund of it, or a receipt number that was asked for. `paybill` in place of an
 * order: all payments to the paybill. `receipt`: those of no order.
 */
interface Subject {
  reference: string
  refund?: string | undefined
  receipt?: string | undefined
}
const PAYBILL = 'paybill'
/** The part after it, where M-PESA asks whether a payment may be made. */
const VALIDATION = 'validation'
export const NO_ORDER = 'receipt'

/**
 * Callbacks are not signed. Each request names an address of its own, with a token that only M-PESA hears of: an HMAC
 * over what the callback is about. It is a password and no signature, so a callback is only a reason to ask. With
 * hexadecimal digits a token cannot have a word that M-PESA refuses in addresses.
 */
export function callbackURL(secret: string, base: string, { reference, refund, receipt }: Subject): string {
  const name = [reference, refund ?? receipt?.toLowerCase()].filter((part) => part !== undefined).join('.')
  return `${base}/${name}.${tokenOf(secret, name)}`
}

export const paybillURLs = (secret: string, base: string) => ({
  ConfirmationURL: callbackURL(secret, base, { reference: PAYBILL }),
  ValidationURL: callbackURL(secret, base, { reference: PAYBILL, refund: VALIDATION }),
})

function tokenOf(secret: string, name: string): string {
  return createHmac('sha256', secret).update(`manilla callback ${name}`).digest('hex').slice(0, 32)
}

const REFERENCE_LENGTH = 32

function subjectOf(secret: string, url: string | undefined): Subject | undefined {
  const last = url?.split('/').at(-1) ?? ''
  const [, name = '', token = ''] = /^([a-z0-9]{1,64}(?:\.[a-z0-9]{1,64})?)\.([\w-]{32})$/.exec(last) ?? []
  if (!timingSafeEqual(Buffer.from(tokenOf(secret, name)), Buffer.from(token.padEnd(32)))) return undefined
  const [reference = '', part] = name.split('.')
  if (part === undefined) return { reference }
  if (part.length === REFERENCE_LENGTH || reference === PAYBILL) return { reference, refund: part }
  return { reference, receipt: part.toUpperCase() }
}

export function readNotice(account: Account, { body, url }: RawNotice): NoticeReading {
  const subject = subjectOf(account.consumerSecret, url)
  if (!subject?.reference) return { kind: 'forged', because: 'its address has no token of ours' }
  const said = readCallback(body)
  if (!said) return { kind: 'unreadable', because: 'not a callback of the documented shape' }
  const { reference, refund, receipt } = subject
  const isPaybill = reference === PAYBILL
  if (said.kind === 'paybill' && isPaybill && said.shortCode === account.shortCode)
    return refund === VALIDATION ? question(said) : confirmation(said)
  if (isPaybill) return { kind: 'notice', reference: null, says: 'other', receipts: [] }
  if (said.kind === 'result' && receipt !== undefined) return answer(account, said, reference, receipt)
  if (said.kind === 'result' && refund !== undefined) return reversal(said, reference, refund)
  if (said.kind === 'stk' && refund === undefined && receipt === undefined) return prompt(said, reference)
  return { kind: 'notice', reference: reference === NO_ORDER ? null : reference, says: 'other', receipts: [] }
}

function prompt(said: StkCallback, reference: string): NoticeReading {
  const { requestId: request, checkoutId, code, receipt, amount, at } = said
  const facts: Fact = { request, code, ...(receipt && { receipt }), ...factsOfMoney({ amount, at }) }
  const about = { kind: 'notice', reference, facts, personalFacts: { checkout: checkoutId } } as const
  if (code !== '0') return { ...about, says: 'failed', receipts: [] }
  const money = amount && at ? [{ transactionId: request, idIsProviders: true as const, amount, at }] : []
  return { ...about, says: 'paid', receipts: money }
}

function reversal(said: ResultCallback, reference: string, refund: string): NoticeReading {
  const { code, transactionId, originalId, amount } = said
  const facts: Fact = {
    ...{ refund, code },
    ...factsOfMoney({ amount }),
    ...(transactionId && { reversal: transactionId }),
    ...(originalId && { original: originalId }),
  }
  return { kind: 'notice', reference, says: 'refund', receipts: [], facts }
}

function confirmation({ account, receipt, amount, at }: PaybillCallback): NoticeReading {
  const facts: Fact = { paid: receipt, ...factsOfMoney({ amount, at }) }
  const reference = accountTyped(account) || null
  return { kind: 'notice', reference, says: 'paid', receipts: [receiptOf(receipt, { amount, at })], facts }
}

function question({ account }: PaybillCallback): NoticeReading {
  const yes = { ResultCode: '0', ResultDesc: 'Accepted' }
  // "Invalid Account Number".
  const no = { ResultCode: 'C2B00012', ResultDesc: 'Rejected' }
  return { kind: 'question', reference: accountTyped(account), answers: { yes, no } }
}

/** The answer to a question about a receipt number. One that is of no order has the number in place of a reference. */
function answer(account: Account, said: ResultCallback, order: string, receipt: string): NoticeReading {
  const { code, amount, asked } = said
  const { state, at, creditParty } = asked
  const about = { kind: 'notice', reference: order === NO_ORDER ? receipt : order } as const
  const isOurs = asked.receipt === receipt && (creditParty === undefined || isParty(creditParty, account))
  if (code !== '0' || state !== 'Completed' || !isOurs || !amount || !at) {
    const why = code !== '0' ? code : (state ?? 'unknown')
    return {
      ...about,
      says: 'other',
      receipts: [],
      facts: { asked: receipt, code: isOurs || code !== '0' ? why : 'another' },
    }
  }
  const money = { amount, at }
  const facts: Fact = { asked: receipt, code: '0', ...factsOfMoney(money) }
  // Of no order it is on record already, as the confirmation named it.
  const receipts = order === NO_ORDER ? [] : [receiptOf(receipt, money)]
  return { ...about, says: order === NO_ORDER ? 'other' : 'paid', receipts, facts }
}

const isParty = (party: string, { shortCode }: Account) => party.split(' ')[0] === shortCode

const factsOfMoney = ({ amount, at }: { amount?: Receipt['amount'] | undefined; at?: Date | undefined }): Fact => ({
  ...(amount && { amount: `${amount.amount}` }),
  ...(at && { at: at.toISOString() }),
})

/** The number of a payment to the paybill is its id. */
export const receiptOf = (receipt: string, money: Pick<Receipt, 'amount' | 'at'>): Receipt => ({
  ...{ transactionId: receipt, receiptNumber: receipt, idIsProviders: true },
  ...money,
})
