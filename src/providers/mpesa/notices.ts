import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NoticeReading, OrderNotices, RawNotice } from '../provider.ts'
import { readCallback } from './wire.ts'

/** What callbacks said of an order. */
export type Fact = {
  /** The code of its result. `0`: done. */
  code: string
  /** Of a prompt: its CheckoutRequestID. */
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
}

export const factsOf = (notices: OrderNotices | undefined) => (notices?.facts ?? []) as readonly Fact[]

/** Whom a callback is about: an order, or a refund of it. */
interface Subject {
  reference: string
  refund?: string | undefined
}

/**
 * Callbacks are not signed. Each request names an address of its own, with a token that only M-PESA hears of: an HMAC
 * over what the callback is about. It is a password and no signature, so a callback is only a reason to ask.
 */
export function callbackURL(secret: string, base: string, { reference, refund }: Subject): string {
  const name = refund === undefined ? reference : `${reference}.${refund}`
  return `${base}/${name}.${tokenOf(secret, name)}`
}

function tokenOf(secret: string, name: string): string {
  return createHmac('sha256', secret).update(`manilla callback ${name}`).digest('base64url').slice(0, 32)
}

function subjectOf(secret: string, url: string | undefined): Subject | undefined {
  const last = url?.split('/').at(-1) ?? ''
  const [, name = '', token = ''] = /^([a-z0-9]{1,64}(?:\.[a-z0-9]{1,64})?)\.([\w-]{32})$/.exec(last) ?? []
  if (!timingSafeEqual(Buffer.from(tokenOf(secret, name)), Buffer.from(token.padEnd(32)))) return undefined
  const [reference = '', refund] = name.split('.')
  return { reference, refund }
}

export function readNotice(secret: string, { body, url }: RawNotice): NoticeReading {
  const subject = subjectOf(secret, url)
  if (!subject?.reference) return { kind: 'forged', because: 'its address has no token of ours' }
  const { reference, refund } = subject
  const said = readCallback(body)
  if (!said) return { kind: 'unreadable', because: 'not a callback of the documented shape' }
  const about = { kind: 'notice', reference } as const
  const { code, amount } = said
  if (said.kind === 'result') {
    if (refund === undefined) return { ...about, says: 'other', receipts: [] }
    const { transactionId, originalId } = said
    const facts: Fact = {
      ...{ refund, code },
      ...(amount && { amount: `${amount.amount}` }),
      ...(transactionId && { reversal: transactionId }),
      ...(originalId && { original: originalId }),
    }
    return { ...about, says: 'refund', receipts: [], facts }
  }
  if (refund !== undefined) return { ...about, says: 'other', receipts: [] }
  const { checkoutId: checkout, receipt, at } = said
  const facts: Fact = {
    ...{ checkout, code },
    ...(receipt && { receipt }),
    ...(amount && { amount: `${amount.amount}` }),
    ...(at && { at: at.toISOString() }),
  }
  if (code !== '0') return { ...about, says: 'failed', receipts: [], facts }
  const money = amount && at ? [{ transactionId: checkout, idIsProviders: true as const, amount, at }] : []
  return { ...about, says: 'paid', receipts: money, facts }
}
