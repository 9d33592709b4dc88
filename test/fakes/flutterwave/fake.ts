import { type Currency, money } from '../../../src/kernel/money.ts'
import { flutterwave } from '../../../src/providers/flutterwave/adapter.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { Fake, FakeProvider } from '../fake-provider.ts'
import { type Asked, startUpstream } from '../upstream.ts'
import { speaks } from './api.ts'
import { phones } from './charges.ts'
import { CHANNELS } from './samples.ts'
import { settlementsOf } from './settlements.ts'
import { BY_CARD, type FakeOrder, type Oddities, openBooks, SETTINGS, TOKENS, type Try } from './state.ts'

export interface FakeFlutterwave extends FakeProvider {
  odd: Oddities
  /** Every call so far, oldest first. */
  asked: Asked[]
  linksMade(): number
  triesOf(reference: string): Try[]
  addTry(reference: string, changes?: Partial<Omit<Try, 'id' | 'order'>>): Try
}

export async function startFakeFlutterwave(t: { after(end: () => Promise<void>): void }): Promise<FakeFlutterwave> {
  const books = openBooks()
  const { odd, find, triesOf } = books
  const asked: Asked[] = []
  const settlements = settlementsOf(books)
  const speak = speaks(books, settlements, () => upstream.url)
  const upstream = await startUpstream(t, (one) => {
    asked.push(one)
    return speak(one)
  })
  const entry = ({ reference, amount: { currency } }: FakeOrder, id: number, amount: number) => ({
    reference,
    id: String(id),
    amount: money(amount, currency),
  })

  return {
    provider: flutterwave,
    settings: SETTINGS,
    upstream,
    secrets: [SETTINGS.secretKey, SETTINGS.secretHash, ...Object.values(TOKENS)],
    price: { amount: 1_025_381, currency: 'NGN', country: 'NG' },
    odd,
    asked,
    triesOf,
    addTry: (reference, changes) => books.addTry(find(reference), changes),
    linksMade: () => books.links.size,
    ordersMade: () => books.orders.size,
    refundsMade: () => books.refunds.length,
    customer: {
      ...phones(books),
      async payByCard(reference, { save }) {
        find(reference).save = save
        books.addTry(find(reference))
      },
      async failByCard(reference) {
        books.fail(find(reference))
      },
      async letStepRunOut(reference) {
        books.end(reference, { status: 'failed', response: 'Authentication failed' })
      },
      async transfer(reference, amount) {
        const order = find(reference)
        const isSmall = amount < order.amount.amount && odd.smallTransfer === 'less charged_amount'
        const paid = { amount: isSmall ? order.amount.amount : amount, charged: amount }
        books.addTry(order, { type: 'bank_transfer', response: 'success', authModel: 'AUTH', ...paid })
      },
    },
    async refundAtProvider(reference, amount) {
      const of = books.paidTry(reference)
      if (amount > books.leftOf(of)) return undefined
      return String(books.addRefund(of, amount, 'Product out of stock.', 'completed-mpgs').id)
    },
    async disputeAtProvider(reference, { amount, reason }) {
      return String(books.addChargeback(books.paidTry(reference), amount, reason).id)
    },
    closeDispute: async (id, outcome) => books.closeChargeback(id, outcome),
    sendOlderNotices: () => {
      odd.noticesAs = 'flat'
    },
    limitPages: (size) => {
      odd.pageSize = size
    },
    listsLag: (ms) => {
      odd.lagMs = ms
    },
    otherShopSells() {
      const amount = money(700, 'KES' as Currency)
      const order = {
        reference: 'order-77',
        amount,
        redirectURL: '',
        email: 'bola@example.com',
        save: false,
        shownAs: BY_CARD,
      }
      books.addRefund(books.addTry(order), 200, null, 'completed-mpgs')
    },
    settle: settlements.settle,
    savedCards: TOKENS,
    // They never show one.
    hideAccountNames: () => {},
    notices: {
      sign: (body, at) => sign(body, at, SETTINGS.secretHash),
      signAsAnother: (body, at) => sign(body, at, 'the-word-of-another-merchant'),
      covers: { body: false, time: false },
      bodyOf(kind, reference) {
        const isOfIt = ({ of }: { of: Try }) => of.order.reference === reference
        const refund = books.refunds.findLast(isOfIt)
        if (kind === 'refund') return refund && books.refundNoticeOf(refund)
        const chargeback = books.chargebacks.findLast(isOfIt)
        if (kind === 'dispute') return chargeback && books.chargebackNoticeOf(chargeback)
        const status = kind === 'paid' ? 'successful' : kind
        const one = triesOf(reference).findLast((one) => one.status === status)
        return one && books.noticeOf(one)
      },
    },
    ledger: () => ({
      taken: books.tries
        .filter(({ status }) => status === 'successful')
        .map(({ order, id, amount, charged }) => entry(order, id, Math.min(amount, charged))),
      givenBack: [
        ...books.refunds.filter(({ status }) => status !== 'failed'),
        ...books.chargebacks.filter(({ status }) => status === 'lost'),
      ].map(({ of, id, amount }) => entry(of.order, id, amount)),
    }),
    takeNotices: () =>
      books.notices.splice(0).map((notice) => ({
        headers: { 'verif-hash': SETTINGS.secretHash, 'content-type': 'application/json' },
        body: typeof notice === 'function' ? notice() : notice,
      })),
  }
}

const sign = (body: Buffer, receivedAt: Date, secretHash: string): RawNotice => ({
  headers: { 'verif-hash': secretHash },
  body,
  receivedAt,
})

export const fakeFlutterwave = {
  provider: flutterwave,
  features: {
    notices: ['paid', 'failed', 'refund', 'dispute'],
    asksForSteps: true,
    hidesAccountNames: true,
    numbersTries: true,
    wrongTransferAmounts: 'kept',
    listsReversals: true,
    listsDisputes: true,
    listsTransactions: true,
    refundsByTransaction: true,
    reportsRefusedKeys: true,
    settlements: 'in lists',
    namesFees: true,
    channels: CHANNELS,
  },
  start: startFakeFlutterwave,
} satisfies Fake
