import { createHmac } from 'node:crypto'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { monnify } from '../../../src/providers/monnify/adapter.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { Fake, FakeProvider } from '../fake-provider.ts'
import { type HostedOrder, hostedPage } from '../hosted-page.ts'
import { type Asked, type Said, startUpstream } from '../upstream.ts'
import { settlementsOf } from './settlements.ts'
import { openBooks, paidIn, refundNotice, type Switches, type Transaction } from './state.ts'
import {
  type Body,
  CHARGE_FIELDS,
  INIT_FIELDS,
  INIT_PAYMENT_FIELDS,
  koboIn,
  number,
  REFUND_FIELDS,
  readRequest,
  refuse,
  say,
  text,
} from './wire.ts'

export const KEYS = {
  apiKey: 'MK_TEST_SAMPLE0001',
  secretKey: 'SAMPLE0SECRET0KEY0FOR0TESTS00001',
  contractCode: '1234567890',
}
const BASIC = `Basic ${Buffer.from(`${KEYS.apiKey}:${KEYS.secretKey}`).toString('base64')}`
const NOT_APPROVED = refuse(403, '99', 'You are not permitted to perform this operation')
const NO_TEMPLATES = { ussdTemplate: null, baseUssdCode: null, transferUssdTemplate: null }
const BANKS = [
  {
    ...{ name: 'Access bank', code: '044', ussdTemplate: '*901*Amount*AccountNumber#' },
    ...{ baseUssdCode: '*901#', transferUssdTemplate: '*901*AccountNumber#' },
  },
  { name: 'GTBank', code: '058', ...NO_TEMPLATES, ussdTemplate: '*737*2*Amount*AccountNumber#' },
  { name: 'Polaris bank', code: '076', ...NO_TEMPLATES },
]
const CARDS = { paying: 'MNFY_PAYING', declining: 'MNFY_DECLINING', working: 'MNFY_WORKING' }

export interface FakeMonnify extends FakeProvider {
  switches: Switches
  /** Everything that it was asked, oldest first. */
  asked: Asked[]
  transactionOf(reference: string): Transaction
  /** Each token ends now, whatever was said when it was given. */
  endTokens(): void
}

/** Monnify for tests: strict where it is documented, odd where it is known to be odd. */
export async function startFakeMonnify(t: { after(end: () => Promise<void>): void }): Promise<FakeMonnify> {
  const switches: Switches = {
    tokenSeconds: 3_588,
    feeOnTop: 0,
    repeatsFirstAnswer: false,
    signsNotices: true,
    refundStatus: 'COMPLETED',
    listsNewestFirst: false,
    refusesRefunds: false,
    bareAccounts: false,
    hidesTransfers: false,
    refundsIn: 'newest first',
    pageLimit: 100,
    ignoresFilters: false,
    lagMs: 0,
  }
  const books = openBooks(switches)
  const settlements = settlementsOf(books)
  const asked: Asked[] = []
  const tokens = new Set<string>()
  let logins = 0

  function logIn({ method, headers }: Asked): Said {
    if (method !== 'POST' || headers.authorization !== BASIC) return refuse(401, '99', 'Unauthorized')
    const accessToken = `eyJhbGciOiJIUzUxMiJ9.token${++logins}.x`
    tokens.add(`Bearer ${accessToken}`)
    return say({ accessToken, expiresIn: number(switches.tokenSeconds) })
  }

  function initTransaction(wish: Body): Said {
    const known = books.transactions.get(text(wish, 'paymentReference'))
    if (known && !switches.repeatsFirstAnswer) return refuse(422, '99', 'Duplicate payment reference')
    const [method = 'CARD'] = wish.paymentMethods as Transaction['method'][]
    const { reference, paymentReference } = known ?? books.begin(wish, method)
    return say({
      transactionReference: reference,
      paymentReference,
      merchantName: 'Demo',
      apiKey: KEYS.apiKey,
      redirectUrl: wish.redirectUrl ?? null,
      enabledPaymentMethod: wish.paymentMethods,
      checkoutUrl: `${upstream.url}/checkout/${reference}`,
    })
  }

  function initPayment(wish: Body): Said {
    const transaction = books.byTheirs(wish.transactionReference)
    if (transaction?.method !== 'ACCOUNT_TRANSFER') return refuse(404, '99', 'Transaction not found')
    const bank = wish.bankCode === undefined ? undefined : BANKS.find(({ code }) => code === wish.bankCode)
    if (wish.bankCode !== undefined && !bank) return refuse(404, '99', 'Bank not found')
    transaction.bankCode = bank?.code
    const naira = (books.due(transaction) / 100).toFixed(2)
    const dialled = bank?.ussdTemplate?.replace('Amount', naira).replace('AccountNumber', '2209149705') ?? null
    const account = {
      accountNumber: '2209149705',
      accountName: 'Demo-Ada & Sons',
      bankName: 'Sterling bank',
      bankCode: '232',
    }
    if (switches.bareAccounts) return say({ ...account, ussdCode: dialled ?? '*737*50*1234567890*2000#' })
    return say({
      ...account,
      accountDurationSeconds: number(2400),
      ussdPayment: dialled,
      requestTime: '2026-06-27T09:11:14.596774984',
      expiresOn: '2026-06-27T09:51:14',
      transactionReference: transaction.reference,
      paymentReference: transaction.paymentReference,
      amount: number(transaction.amount, 2),
      fee: number(switches.feeOnTop, 2),
      totalPayable: number(books.due(transaction), 2),
      collectionChannel: 'API_NOTIFICATION',
    })
  }

  function charge(wish: Body): Said {
    if (wish.apiKey !== KEYS.apiKey) return refuse(400, '99', 'Invalid API key')
    if (books.transactions.has(text(wish, 'paymentReference'))) return refuse(422, '99', 'Duplicate payment reference')
    if (!Object.values(CARDS).includes(text(wish, 'cardToken'))) return refuse(400, '99', 'Invalid card token')
    const transaction = books.begin(wish, 'CARD')
    if (wish.cardToken === CARDS.paying) books.take(transaction, books.due(transaction))
    if (wish.cardToken === CARDS.declining) transaction.status = 'FAILED'
    return say(books.recordOf(transaction))
  }

  function giveBack(wish: Body): Said {
    const reference = text(wish, 'refundReference')
    const transaction = books.byTheirs(wish.transactionReference)
    const amount = koboIn(wish.refundAmount)
    if (!transaction) return refuse(404, 'R1', 'Transaction not found')
    if (amount < 10_000) return refuse(400, 'R4', 'Amount below minimum')
    if (amount > paidIn(transaction)) return refuse(422, 'R3', 'Amount above the transaction')
    if (books.refunds.has(reference)) return refuse(422, 'R9', 'Duplicate refund reference')
    if (amount > books.leftOf(transaction)) return refuse(422, 'R12', 'Total refund exceeded')
    const { destinationAccountNumber: to, destinationAccountBankCode: bank } = wish
    const isKnown = /^\d{10}$/.test(String(to)) && BANKS.some(({ code }) => code === bank)
    if (transaction.method !== 'CARD' && !isKnown)
      return refuse(422, 'R6', 'Invalid customer account; send destinationAccountNumber and destinationAccountBankCode')
    const refund = { reference, transaction, amount, asked: wish, createdAt: new Date(), isTheirs: false }
    books.giveBack(refund)
    return say(books.refundOf(refund))
  }

  const WRITES: Record<string, [Record<string, RegExp | null>, (wish: Body) => Said]> = {
    '/api/v1/merchant/transactions/init-transaction': [INIT_FIELDS, initTransaction],
    '/api/v1/merchant/bank-transfer/init-payment': [INIT_PAYMENT_FIELDS, initPayment],
    '/api/v1/merchant/cards/charge-card-token': [CHARGE_FIELDS, charge],
    '/api/v1/refunds/initiate-refund': [REFUND_FIELDS, giveBack],
  }

  function write({ path, headers, body }: Asked): Said {
    const [fields, act] = WRITES[path] ?? []
    if (!fields || !act) return refuse(404, '99', 'Not found')
    if (headers['content-type'] !== 'application/json') return refuse(400, '99', 'Not JSON')
    const wish = readRequest(body, fields)
    if (typeof wish === 'string') return refuse(400, '99', wish)
    if (switches.refusesRefunds && act === giveBack) return NOT_APPROVED
    if ('contractCode' in wish && wish.contractCode !== KEYS.contractCode) return refuse(400, '99', 'Unknown contract')
    return act(wish)
  }

  function tell(path: string): Said {
    const url = new URL(path, 'http://monnify.example')
    const [page, size] = [url.searchParams.get('page'), url.searchParams.get('size')].map(Number)
    if (switches.refusesRefunds && url.pathname.startsWith('/api/v1/refunds')) return NOT_APPROVED
    if (url.pathname === '/api/v1/sdk/transactions/banks') return say(BANKS)
    if (url.pathname === '/api/v1/refunds')
      return say(books.pageOf(books.listedRefunds(url.searchParams), page ?? 0, size ?? 10))
    if (url.pathname === '/api/v1/transactions/search') {
      const found = books.within(books.transactions.values(), url.searchParams, ({ startedAt }) => startedAt)
      return say(books.pageOf(found.toReversed().map(books.foundOf), page ?? 0, size ?? 10))
    }
    const [, refundReference] = /^\/api\/v1\/refunds\/([^/]+)$/.exec(url.pathname) ?? []
    if (refundReference) {
      const refund = books.refunds.get(refundReference)
      return refund ? say(books.refundOf(refund)) : refuse(404, 'R7', 'Refund not found')
    }
    const [, theirs] = /^\/api\/v2\/transactions\/([^/]+)$/.exec(url.pathname) ?? []
    const isQuery = url.pathname === '/api/v2/merchant/transactions/query'
    const transaction = isQuery
      ? books.transactions.get(url.searchParams.get('paymentReference') ?? '')
      : books.byTheirs(decodeURIComponent(theirs ?? ''))
    return transaction ? say(books.recordOf(transaction)) : refuse(404, '99', 'Transaction not found')
  }

  function hosted(reference: string): HostedOrder | undefined {
    const transaction = books.byTheirs(reference)
    if (!transaction) return undefined
    const back = () => {
      const address = new URL(text(transaction.asked, 'redirectUrl'))
      address.searchParams.set('paymentReference', transaction.paymentReference)
      return address.href
    }
    return {
      amount: money(books.due(transaction), 'NGN' as Currency),
      pay: () => payByCard(transaction, false),
      decline: () => {
        transaction.status = 'FAILED'
      },
      paidTo: back,
      cancelledTo: back,
    }
  }

  function payByCard(transaction: Transaction, save: boolean): void {
    if (paidIn(transaction) > 0) return // the page has closed
    if (save) transaction.cardToken = CARDS.paying
    books.take(transaction, books.due(transaction))
  }

  const upstream = await startUpstream(t, (request) => {
    asked.push(request)
    const { method, path, headers } = request
    const page = hostedPage(request, '/checkout/', hosted)
    if (page) return page
    if (path.includes('|')) return { status: 400, text: '<html>Bad Request</html>' }
    if (path === '/api/v1/auth/login') return logIn(request)
    if (!tokens.has(headers.authorization ?? '')) return refuse(401, '99', 'Token expired')
    return method === 'GET' ? tell(path) : write(request)
  })

  return {
    provider: monnify,
    settings: KEYS,
    upstream,
    switches,
    asked,
    secrets: [KEYS.secretKey, BASIC, 'eyJhbGciOiJIUzUxMiJ9', ...Object.values(CARDS)],
    price: { amount: 1_025_381, currency: 'NGN', country: 'NG' },
    ordersMade: () => books.transactions.size,
    refundsMade: () => books.refunds.size,
    customer: {
      payByCard: async (reference, { save }) => payByCard(books.find(reference), save),
      failByCard: async (reference) => {
        books.find(reference).status = 'FAILED'
      },
      transfer: async (reference, amount) => books.take(books.find(reference), amount),
      async approve(reference) {
        const transaction = books.find(reference)
        if (transaction.bankCode) transaction.method = 'USSD'
        books.take(transaction, books.due(transaction))
      },
      // What happens between the customer and their bank, they never hear of.
      refuse: async () => {},
      async expire(reference) {
        books.find(reference).status = 'EXPIRED'
      },
    },
    savedCards: { paying: CARDS.paying, declining: CARDS.declining, unheardOf: 'MNFY_NOBODY' },
    notices: {
      sign,
      signAsAnother: (body, at) => sign(body, at, KEYS.secretKey.replace('1', '2')),
      covers: { body: true, time: false },
      bodyOf(kind, reference) {
        const transaction = books.find(reference)
        const [refund] = books.refundsFor(transaction)
        if (kind === 'refund') return refund && refundNotice(refund)
        return kind === 'paid' ? books.paidNotice(transaction) : undefined
      },
    },
    ledger: books.ledger,
    takeNotices: () =>
      books.notices.splice(0).map((body) => {
        const { headers } = sign(body, new Date())
        return { headers: switches.signsNotices ? headers : {}, body }
      }),
    refundAtProvider: async (reference, amount) => books.refundAtProvider(books.find(reference), amount),
    limitPages: (size) => {
      switches.pageLimit = size
    },
    listsLag: (ms) => {
      switches.lagMs = ms
    },
    otherShopSells() {
      const asked = { paymentReference: `order-${books.transactions.size}`, amount: '700.00', redirectUrl: '' }
      const transaction = books.begin(asked, 'CARD')
      books.take(transaction, books.due(transaction))
      books.refundAtProvider(transaction, 20_000)
    },
    settle: settlements.settle,
    settlementNotice: settlements.noticeOf,
    transactionOf: books.find,
    endTokens: () => tokens.clear(),
  }
}

export function sign(
  body: Buffer,
  receivedAt: Date,
  key: string = KEYS.secretKey,
): RawNotice & { headers: Record<string, string> } {
  return { headers: { 'monnify-signature': createHmac('sha512', key).update(body).digest('hex') }, body, receivedAt }
}

export const fakeMonnify = {
  provider: monnify,
  features: {
    notices: ['paid', 'refund'],
    wrongTransferAmounts: 'kept',
    idempotentRefunds: true,
    listsReversals: true,
    listsTransactions: true,
    refundsByTransaction: true,
    reportsRefusedKeys: true,
    settlements: 'in notices',
    namesFees: true,
    channels: [
      {
        ...{ channel: 'ussd', price: { amount: 1_025_381, currency: 'NGN', country: 'NG' }, input: { bank: '058' } },
        ...{ starts: 'dial', expired: 'prompt_expired' },
      },
    ],
  },
  start: startFakeMonnify,
} satisfies Fake
