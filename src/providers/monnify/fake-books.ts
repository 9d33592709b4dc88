import assert from 'node:assert/strict'
import { type Currency, money } from '../../kernel/money.ts'
import type { Entry } from '../fake-provider.ts'
import { type Body, koboIn, number, say, text } from './fake-wire.ts'

const NGN = 'NGN' as Currency
const CARD = {
  cardType: null,
  last4: '1111',
  expMonth: '10',
  expYear: '29',
  bin: '411111',
  maskedPan: '411111******1111',
}
const PAYER = { accountName: 'ADA LOVELACE', accountNumber: '******4015', bankCode: '000015' }

export interface Transaction {
  /** Theirs. */
  reference: string
  paymentReference: string
  amount: number
  method: 'CARD' | 'ACCOUNT_TRANSFER'
  asked: Body
  status: string
  /** What each payment brought. */
  parts: number[]
  cardToken: string | null
}

export interface Refund {
  reference: string
  transaction: Transaction
  amount: number
  asked: Body
}

/** What the fake can be made to do beside what it does by itself. */
export interface Switches {
  tokenSeconds: number
  /** The contract has the customer bear the fee. */
  feeOnTop: number
  /** A reference that it knows gets the first answer again. */
  repeatsFirstAnswer: boolean
  /** False as in the sandbox. */
  signsNotices: boolean
  refundStatus: 'COMPLETED' | 'PENDING' | 'FAILED'
  listsNewestFirst: boolean
}

export type Books = ReturnType<typeof openBooks>

/** What the fake has written down, and how it tells of it. */
export function openBooks(switches: Switches) {
  const transactions = new Map<string, Transaction>()
  const refunds = new Map<string, Refund>()
  const notices: Buffer[] = []
  const due = ({ amount }: Transaction) => amount + switches.feeOnTop

  function begin(asked: Body, method: Transaction['method']): Transaction {
    const transaction: Transaction = {
      reference: `MNFY|17|20260626231846|${String(transactions.size + 1).padStart(6, '0')}`,
      paymentReference: text(asked, 'paymentReference'),
      amount: koboIn(asked.amount),
      method,
      asked,
      status: 'PENDING',
      parts: [],
      cardToken: null,
    }
    transactions.set(transaction.paymentReference, transaction)
    return transaction
  }

  function take(transaction: Transaction, amount: number): void {
    transaction.parts.push(amount)
    const sum = paidIn(transaction)
    transaction.status = sum < due(transaction) ? 'PARTIALLY_PAID' : sum > due(transaction) ? 'OVERPAID' : 'PAID'
    notices.push(paidNotice(transaction))
  }

  function giveBack(refund: Refund): void {
    refunds.set(refund.reference, refund)
    if (switches.refundStatus === 'COMPLETED') notices.push(refundNotice(refund))
  }

  function recordOf(transaction: Transaction) {
    const { method, parts, cardToken, asked } = transaction
    const isPaid = parts.length > 0
    const canBeKept = cardToken !== null
    const card = { ...CARD, reusable: canBeKept, cardToken, supportsTokenization: canBeKept }
    const transfers = method === 'CARD' ? [] : switches.listsNewestFirst ? parts.toReversed() : parts
    return {
      transactionReference: transaction.reference,
      paymentReference: transaction.paymentReference,
      amountPaid: naira(paidIn(transaction)),
      totalPayable: isPaid ? naira(due(transaction)) : '0.00',
      settlementAmount: isPaid ? naira(paidIn(transaction)) : null,
      paidOn: isPaid ? '25/07/2026 11:20:20 AM' : null,
      paymentStatus: transaction.status,
      paymentDescription: asked.paymentDescription,
      currency: 'NGN',
      paymentMethod: method,
      product: { type: 'API_NOTIFICATION', reference: transaction.paymentReference },
      cardDetails: method === 'CARD' && isPaid ? card : null,
      accountPayments: transfers.map((part) => ({ ...PAYER, amountPaid: naira(part) })),
      customer: { email: asked.customerEmail, name: asked.customerName },
      metaData: asked.metaData ?? {},
    }
  }

  const refundOf = ({ reference, transaction, amount, asked }: Refund) => ({
    refundReference: reference,
    transactionReference: transaction.reference,
    refundReason: asked.refundReason,
    customerNote: asked.customerNote,
    refundAmount: number(amount, 2),
    refundType: amount < paidIn(transaction) ? 'PARTIAL_REFUND' : 'FULL_REFUND',
    refundStatus: switches.refundStatus,
    refundStrategy: 'MERCHANT_WALLET',
    comment: 'Refund in progress',
    createdOn: '02/08/2026 03:35:22 AM',
    completedOn: null,
  })

  /** Numbers where an answer has strings, another form of time, and the transfers under another name. */
  function paidNotice(transaction: Transaction): Buffer {
    const { accountPayments, ...record } = recordOf(transaction)
    return noticeOf('SUCCESSFUL_TRANSACTION', {
      ...record,
      paidOn: '2026-11-20 11:28:42.615',
      amountPaid: number(paidIn(transaction), 2),
      totalPayable: number(due(transaction), 2),
      cardDetails: record.cardDetails ?? {},
      paymentSourceInformation: transaction.method === 'CARD' ? {} : accountPayments,
    })
  }

  function ledger(): { taken: Entry[]; givenBack: Entry[] } {
    const back = ({ reference: id, transaction, amount }: Refund) => entry(transaction, id, amount)
    return { taken: [...transactions.values()].flatMap(entriesOf), givenBack: [...refunds.values()].map(back) }
  }

  return {
    transactions,
    refunds,
    notices,
    begin,
    take,
    giveBack,
    recordOf,
    refundOf,
    due,
    paidNotice,
    ledger,
    byTheirs: (reference: unknown) => [...transactions.values()].find((one) => one.reference === reference),
    find: (reference: string) => transactions.get(reference) ?? assert.fail('there is such a transaction'),
    refundsFor: (wanted: Transaction) => [...refunds.values()].filter(({ transaction }) => transaction === wanted),
  }
}

export const paidIn = ({ parts }: Transaction) => parts.reduce((sum, part) => sum + part, 0)

export const refundNotice = ({ reference, transaction, amount }: Refund) =>
  noticeOf('SUCCESSFUL_REFUND', {
    merchantReason: 'returned',
    transactionReference: transaction.reference,
    completedOn: '14/04/2026 4:24:05 PM',
    refundStatus: 'COMPLETED',
    customerNote: 'Refund',
    createdOn: '14/04/2026 4:23:37 PM',
    refundReference: reference,
    refundAmount: naira(amount),
  })

const noticeOf = (eventType: string, eventData: object) =>
  Buffer.from(
    say({ eventType, eventData })
      .text.replace(/^.*"responseBody":/, '')
      .slice(0, -1),
  )

const entry = ({ paymentReference: reference }: Transaction, id: string, amount: number): Entry => ({
  reference,
  id,
  amount: money(amount, NGN),
})

/** They have no name for a single transfer, so it has the one that we give it. */
function entriesOf(transaction: Transaction): Entry[] {
  const { reference, method, parts } = transaction
  return parts.map((part, i) => {
    const nth = parts.slice(0, i + 1).filter((other) => other === part).length
    return entry(transaction, method === 'CARD' ? reference : `${reference}#${part}.${nth}`, part)
  })
}

const naira = (kobo: number) => `${Math.floor(kobo / 100)}.${String(kobo % 100).padStart(2, '0')}`
