import assert from 'node:assert/strict'
import { type Currency, money } from '../../../src/kernel/money.ts'
import type { Entry } from '../fake-provider.ts'
import { type Body, koboIn, number, say, text } from './wire.ts'

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
  method: 'CARD' | 'ACCOUNT_TRANSFER' | 'USSD'
  /** The bank that the customer pays from by dialling. */
  bankCode?: string | undefined
  asked: Body
  status: string
  /** What each payment brought. */
  parts: number[]
  startedAt: Date
  /** When the last payment came. */
  paidAt: Date | null
  cardToken: string | null
}

export interface Refund {
  reference: string
  transaction: Transaction
  amount: number
  asked: Body
  createdAt: Date
  /** Made in their dashboard, and completed at once. */
  isTheirs: boolean
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
  /** Refunds need an approval that this account does not have: 403. */
  refusesRefunds: boolean
  /** The answer with an account number has neither names nor amounts, as in their API reference. */
  bareAccounts: boolean
  /** An answer about a transaction does not list its transfers. */
  hidesTransfers: boolean
  /** The order of the list of refunds. */
  refundsIn: 'newest first' | 'oldest first' | 'no order'
  pageLimit: number
  /** The filters of the list of refunds have no effect. */
  ignoresFilters: boolean
  /** How old an entry has to be, to be in a list. */
  lagMs: number
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
      startedAt: new Date(),
      paidAt: null,
      cardToken: null,
    }
    transactions.set(transaction.paymentReference, transaction)
    return transaction
  }

  function take(transaction: Transaction, amount: number): void {
    transaction.parts.push(amount)
    transaction.paidAt = new Date()
    const sum = paidIn(transaction)
    transaction.status = sum < due(transaction) ? 'PARTIALLY_PAID' : sum > due(transaction) ? 'OVERPAID' : 'PAID'
    notices.push(paidNotice(transaction))
  }

  function giveBack(refund: Refund): void {
    refunds.set(refund.reference, refund)
    if (refund.isTheirs || switches.refundStatus === 'COMPLETED') notices.push(refundNotice(refund))
  }

  function recordOf(transaction: Transaction) {
    const { method, parts, cardToken, asked, paidAt } = transaction
    const isPaid = parts.length > 0
    const canBeKept = cardToken !== null
    const card = { ...CARD, reusable: canBeKept, cardToken, supportsTokenization: canBeKept }
    const transfers = method === 'CARD' ? [] : switches.listsNewestFirst ? parts.toReversed() : parts
    return {
      transactionReference: transaction.reference,
      paymentReference: transaction.paymentReference,
      amountPaid: naira(paidIn(transaction)),
      totalPayable: isPaid ? naira(due(transaction)) : '0.00',
      settlementAmount: isPaid ? naira(paidIn(transaction) - feeOf(transaction)) : null,
      paidOn: paidAt && slashes(paidAt),
      paymentStatus: transaction.status,
      paymentDescription: asked.paymentDescription,
      currency: 'NGN',
      paymentMethod: method,
      product: { type: 'API_NOTIFICATION', reference: transaction.paymentReference },
      cardDetails: method === 'CARD' && isPaid ? card : null,
      accountPayments: switches.hidesTransfers ? [] : transfers.map((part) => ({ ...PAYER, amountPaid: naira(part) })),
      customer: { email: asked.customerEmail, name: asked.customerName },
      metaData: asked.metaData ?? {},
    }
  }

  const refundOf = ({ reference, transaction, amount, asked, createdAt, isTheirs }: Refund) => ({
    refundReference: reference,
    transactionReference: transaction.reference,
    refundReason: asked.refundReason ?? null,
    customerNote: asked.customerNote ?? null,
    refundAmount: number(amount, 2),
    refundType: amount < paidIn(transaction) ? 'PARTIAL_REFUND' : 'FULL_REFUND',
    refundStatus: isTheirs ? 'COMPLETED' : switches.refundStatus,
    refundStrategy: 'MERCHANT_WALLET',
    comment: 'Refund in progress',
    createdOn: slashes(createdAt),
    completedOn: null,
  })

  /** An entry of the search. It has what was asked for, not what was paid. */
  const foundOf = (transaction: Transaction) => ({
    customerDTO: { email: transaction.asked.customerEmail, name: transaction.asked.customerName },
    paymentMethod: transaction.method,
    createdOn: transaction.startedAt.toISOString().replace('Z', '+00:00'),
    amount: number(transaction.amount, 2),
    currencyCode: 'NGN',
    paymentStatus: transaction.status,
    transactionReference: transaction.reference,
    paymentReference: transaction.paymentReference,
    completed: transaction.status === 'PAID',
  })

  const refundsFor = (wanted: Transaction) => [...refunds.values()].filter(({ transaction }) => transaction === wanted)
  const leftOf = (transaction: Transaction) =>
    refundsFor(transaction).reduce((left, { amount }) => left - amount, paidIn(transaction))

  function refundAtProvider(transaction: Transaction, amount: number): string | undefined {
    if (amount > leftOf(transaction)) return undefined
    const reference = `MNFY-RFD-${String(refunds.size + 1).padStart(8, '0')}`
    giveBack({ reference, transaction, amount, asked: {}, createdAt: new Date(), isTheirs: true })
    return reference
  }

  /** A page of a list, in the shape of Spring. */
  function pageOf(entries: object[], page: number, size: number) {
    const most = Math.min(size, switches.pageLimit)
    const content = entries.slice(page * most, (page + 1) * most)
    const totalPages = Math.ceil(entries.length / most)
    return {
      content,
      ...{ pageable: null, sort: null, first: page === 0, last: page + 1 >= totalPages, empty: content.length === 0 },
      ...{ totalElements: number(entries.length), totalPages: number(totalPages), number: number(page) },
      ...{ size: number(most), numberOfElements: number(content.length) },
    }
  }

  /** `from` and `to` are milliseconds. */
  function within<T>(all: Iterable<T>, query: URLSearchParams, timeOf: (one: T) => Date): T[] {
    const latest = switches.lagMs > 0 ? Date.now() - switches.lagMs : Number.MAX_SAFE_INTEGER
    const to = Math.min(Number(query.get('to') ?? Number.MAX_SAFE_INTEGER), latest)
    return [...all].filter((one) => {
      const at = timeOf(one).getTime()
      return at >= Number(query.get('from') ?? 0) && at <= to
    })
  }

  function listedRefunds(query: URLSearchParams): object[] {
    const filter = switches.ignoresFilters ? new URLSearchParams() : query
    const wanted = filter.get('transactionReference')
    const byTime = within(refunds.values(), filter, ({ createdAt }) => createdAt)
      .filter(({ transaction }) => wanted === null || transaction.reference === wanted)
      .toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime())
    if (switches.refundsIn === 'newest first') byTime.reverse()
    if (switches.refundsIn === 'no order')
      byTime.sort((a, b) => a.reference.slice(-1).localeCompare(b.reference.slice(-1)))
    return byTime.map(refundOf)
  }

  /** Numbers where an answer has strings, another form of time, and the transfers under another name. */
  function paidNotice(transaction: Transaction): Buffer {
    const { accountPayments, ...record } = recordOf(transaction)
    return noticeOf('SUCCESSFUL_TRANSACTION', {
      ...record,
      paidOn: transaction.paidAt && dashes(transaction.paidAt),
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
    foundOf,
    refundAtProvider,
    leftOf,
    pageOf,
    listedRefunds,
    within,
    byTheirs: (reference: unknown) => [...transactions.values()].find((one) => one.reference === reference),
    find: (reference: string) => transactions.get(reference) ?? assert.fail('there is such a transaction'),
    refundsFor,
  }
}

/** What it keeps, in kobo. */
export const feeOf = (transaction: Transaction) => Math.min(3_500, Math.floor(paidIn(transaction) / 10))

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

export const noticeOf = (eventType: string, eventData: object) =>
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

/** Nigerian time, which is an hour ahead of UTC and has no summer time. */
const dashes = (at: Date) => new Date(at.getTime() + 3_600_000).toISOString().replace('T', ' ').replace('Z', '')

/** The same, as `25/07/2026 11:20:20 AM`. */
export function slashes(at: Date): string {
  const [year, month, day, hour = '', minute, second] = dashes(at).split(/[- :.]/)
  const half = Number(hour) < 12 ? 'AM' : 'PM'
  return `${day}/${month}/${year} ${Number(hour) % 12 || 12}:${minute}:${second} ${half}`
}

export const naira = (kobo: number) => `${Math.floor(kobo / 100)}.${String(kobo % 100).padStart(2, '0')}`
