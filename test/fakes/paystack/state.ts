import { type Currency, type Money, money } from '../../../src/kernel/money.ts'
import { fromHundredths } from '../../../src/providers/paystack/wire.ts'

export interface Sale {
  id: bigint
  reference: string
  email: string
  channel: 'card' | 'bank_transfer' | 'mobile_money' | 'ussd' | 'bank' | 'qr' | 'eft'
  status: string
  /** In hundredths, as everything here. */
  requested: number
  /** With the fees that the customer pays on top. */
  amount: number
  currency: string
  code: string
  callbackURL: string | undefined
  cancelURL: string | undefined
  tries: number
  response: string
  createdAt: string
  paidAt: string | null
  authorization: object
  account: { number: string; expiresAt: string } | undefined
  /** The network has taken a code for it. */
  isCodeGiven?: boolean
}

export interface Refund {
  id: bigint
  sale: Sale
  amount: number
  status: string
  merchantNote: string
  customerNote: string
  createdAt: string
  /** The dispute that it settles. */
  disputeId?: bigint
}

export interface Dispute {
  id: bigint
  sale: Sale
  /** Null for the whole transaction. */
  amount: number | null
  category: string
  status: string
  resolution: string | null
  createdAt: string
  dueAt: string
}

/** Text in which ids of 64 bits stand whole. */
export function toJSON(value: unknown): string {
  const text = JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? `@bigint:${part}` : part))
  return text.replaceAll(/"@bigint:(\d+)"/g, '$1')
}

export function transactionOf(sale: Sale, metadata: unknown): object {
  const { id, reference, status, amount, requested, currency, channel, createdAt, paidAt, tries, response } = sale
  const isPaid = paidAt !== null
  const fees = channel === 'ussd' ? null : feesOf(sale)
  return {
    ...{ id, domain: 'test', status, reference, receipt_number: null, amount, message: null },
    ...{ gateway_response: response, paid_at: paidAt, paidAt, created_at: createdAt, createdAt, channel, currency },
    ...{ ip_address: '197.0.0.1', metadata, fees: isPaid ? fees : null, fees_split: null },
    log:
      tries === 0 ? null : { start_time: 1, time_spent: 4, attempts: tries, errors: 0, success: isPaid, history: [] },
    authorization: isPaid ? sale.authorization : {},
    customer: { id: 1, email: sale.email, customer_code: 'CUS_x', first_name: null, phone: '' },
    ...{ plan: null, split: {}, order_id: null, requested_amount: requested, plan_object: {}, subaccount: {} },
  }
}

/** What the customer pays on top, else a fixed fee. A franc is a hundred of its hundredths. */
export const feesOf = ({ amount, requested, currency }: Sale) => amount - requested || (currency === 'XOF' ? 200 : 150)

/** What a charge of a saved card answers: neither `paid_at` nor `requested_amount`. */
export function chargeOf(sale: Sale): object {
  const { id, reference, status, amount, currency, channel, createdAt, response, authorization, email } = sale
  const fees = feesOf(sale)
  return {
    ...{ id, reference, status, amount, currency, channel, domain: 'test', transaction_date: createdAt, metadata: '' },
    ...{ gateway_response: response, message: null, ip_address: null, log: null, fees, authorization, plan: null },
    customer: { id: 1, email, customer_code: 'CUS_x' },
  }
}

export function refundOf({
  id,
  sale,
  amount,
  status,
  merchantNote,
  customerNote,
  disputeId,
  createdAt,
}: Refund): object {
  return {
    ...{ id, transaction: sale.id, integration: 100_032, domain: 'test', currency: sale.currency, amount, status },
    ...{ merchant_note: merchantNote, customer_note: customerNote, dispute: disputeId ?? null, settlement: null },
    ...{ transaction_reference: sale.reference, refunded_by: 'ada', createdAt },
  }
}

export const eventOf = (event: string, data: object) => Buffer.from(toJSON({ event, data }))

export function refundEventOf(event: string, { id, sale, amount, status, merchantNote }: Refund): Buffer {
  return eventOf(event, {
    ...{ id, status, transaction_reference: sale.reference, refund_reference: null, amount: String(amount) },
    ...{ currency: sale.currency, processor: 'instant-transfer', customer: { email: sale.email }, domain: 'test' },
    merchant_note: merchantNote,
  })
}

/** As the list shows a dispute, and its notices. */
export function disputeOf({ id, sale, amount, category, status, resolution, createdAt, dueAt }: Dispute): object {
  return {
    ...{ id, refund_amount: amount, currency: sale.currency, status, resolution, domain: 'test' },
    ...{ transaction: transactionOf(sale, ''), transaction_reference: null, category },
    ...{ customer: { id: 1, email: sale.email }, bin: '408408', last4: '4081', dueAt, resolvedAt: null },
    ...{ evidence: null, attachments: null, note: null, history: [], messages: [], createdAt, updatedAt: createdAt },
  }
}

export const rejectionOf = (sale: Sale, hundredths: number) =>
  eventOf('bank.transfer.rejected', {
    bank_transfer: {
      ...{ amount: String(hundredths), message: 'Amount is incorrect', message_type: 'INCORRECT_AMOUNT' },
      transaction_id: String(sale.id),
    },
    customer: { email: sale.email, customer_code: 'CUS_x' },
  })

export function moneyOf(hundredths: number, currency: string): Money {
  const code = currency as Currency
  return money(fromHundredths(hundredths, code) ?? 0, code)
}
