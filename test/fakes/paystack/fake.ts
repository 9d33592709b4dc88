import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { paystack } from '../../../src/providers/paystack/adapter.ts'
import { toHundredths } from '../../../src/providers/paystack/wire.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import type { Fake, FakeProvider, StartFake } from '../fake-provider.ts'
import { hostedPage } from '../hosted-page.ts'
import { type Asked, type Said, startUpstream } from '../upstream.ts'
import { AS_USUAL, BANKS, type Behaviour, list, listOfBanks, ok, refuse, TEST_CARD } from './answers.ts'
import { AUTHORIZATIONS, chargesOf } from './charges.ts'
import { FORMS, findFault } from './requests.ts'
import { SAMPLES } from './samples.ts'
import { settlementsOf } from './settlements.ts'
import {
  chargeOf,
  type Dispute,
  disputeOf,
  eventOf,
  moneyOf,
  type Refund,
  refundEventOf,
  refundOf,
  rejectionOf,
  type Sale,
  transactionOf,
} from './state.ts'

const SECRET_KEY = 'sk_test_0123456789abcdef0123456789abcdef01234567'
const PUBLIC_KEY = 'pk_test_89abcdef0123456789abcdef0123456789abcdef'
/** No bank has it. */
const UNKNOWN_ACCOUNT = '0000000009'
const CARDS = { paying: 'AUTH_paying', declining: 'AUTH_declining', askingForAStep: 'AUTH_asking' }

const hundredthsOf = (amount: number, { currency }: Sale) => toHundredths(money(amount, currency as Currency))

export interface FakePaystack extends FakeProvider {
  /** Every request that came, oldest first. */
  asked: Asked[]
  find(reference: string): Sale
  refunds: Refund[]
  disputes: Dispute[]
  /** What it accepts and signs with. Change it to rotate the keys of this account. */
  keys: { secretKey: string }
  /** Documented variations of its answers. */
  behaviour: Behaviour
}

/** Paystack for tests, in test mode: strict about what it is asked, and as odd in its answers as the real one. */
export const startFakePaystack = (async (t, { secretKey = SECRET_KEY } = {}): Promise<FakePaystack> => {
  const sales = new Map<string, Sale>()
  const refunds: Refund[] = []
  const asked: Asked[] = []
  const saved = new Map<string, string>()
  const waiting: (() => Buffer)[] = []
  const keys = { secretKey }
  const disputes: Dispute[] = []
  const behaviour = { ...AS_USUAL }
  // Beyond what a double can tell apart.
  let ids = 9_007_199_254_740_993n

  const settlements = settlementsOf({ sales, refunds, nextId: () => ++ids })
  const charges = chargesOf({ sales, open, url: () => upstream.url })
  const now = () => new Date().toISOString()
  const notFound = () => refuse(behaviour.missing, 'transaction_not_found', 'Transaction reference not found.')
  const find = (reference: string) => sales.get(reference) ?? assert.fail('there is such a sale')
  const codeOf = (sale: Sale) => `AUTH_${sale.code}`

  function open(body: Record<string, unknown>, more: Partial<Sale>): Sale {
    const id = ++ids
    const requested = body.amount as number
    const sale: Sale = {
      ...{ id, reference: String(body.reference ?? `t${id}`), email: body.email as string, channel: 'card', requested },
      ...{ status: 'abandoned', amount: requested + behaviour.feesPassedOn, currency: String(body.currency ?? 'NGN') },
      ...{ code: `c${id}`, callbackURL: body.callback_url as string | undefined, cancelURL: undefined, tries: 0 },
      ...{ response: 'The transaction was not completed', createdAt: new Date().toISOString(), paidAt: null },
      ...{ authorization: {}, account: undefined },
      ...more,
    }
    sales.set(sale.reference, sale)
    return sale
  }

  function pay(sale: Sale): void {
    if (sale.paidAt) return
    const card = { channel: 'card', reusable: behaviour.reusable, signature: 'SIG_x', ...TEST_CARD }
    const authorization =
      sale.channel === 'card' ? { authorization_code: codeOf(sale), ...card } : AUTHORIZATIONS[sale.channel]
    Object.assign(sale, { status: 'success', response: 'Successful', paidAt: new Date().toISOString(), authorization })
    sale.tries++
    if (sale.channel === 'card') saved.set(codeOf(sale), sale.email)
    waiting.push(() => eventOf('charge.success', transactionOf(sale, behaviour.metadata)))
  }

  // No notice: they tell of success alone.
  function fail(sale: Sale, response: string): void {
    Object.assign(sale, { status: 'failed', response })
    sale.tries++
  }

  function charge(body: Record<string, unknown>): Said {
    const code = body.authorization_code as string
    const isOurs = Object.values(CARDS).includes(code)
    if (!isOurs && !saved.has(code)) return refuse(400, 'invalid_code', 'Authorization code is invalid')
    if (!isOurs && saved.get(code) !== body.email) {
      return refuse(400, 'email_mismatch', 'Email does not match Authorization code. Please confirm.')
    }
    const { cancel_action } = JSON.parse(String(body.metadata ?? '{}'))
    const sale = open(body, { cancelURL: cancel_action, status: 'ongoing' })
    if (code === CARDS.askingForAStep) {
      const authorization_url = `${upstream.url}/resume/${sale.code}`
      const step = { authorization_url, reference: sale.reference, access_code: sale.code, paused: true }
      return ok('Please, redirect your customer to the authorization url provided', step)
    }
    if (code === CARDS.declining) fail(sale, 'Insufficient Funds')
    else pay(sale)
    return ok('Charge attempted', chargeOf(sale))
  }

  function leftOf(sale: Sale): number {
    const given = refunds.filter((refund) => refund.sale === sale && refund.status !== 'failed')
    return given.reduce((left, refund) => left - refund.amount, sale.amount)
  }

  function giveBack(body: Record<string, unknown>): Said {
    const sale = [...sales.values()].find(({ id, reference }) => [reference, `${id}`].includes(`${body.transaction}`))
    if (!sale?.paidAt) return refuse(404, 'transaction_not_found', 'Transaction not found')
    const amount = Number(body.amount ?? sale.amount)
    if (body.currency !== undefined && body.currency !== sale.currency) {
      return refuse(400, 'invalid_currency', 'Transaction currency must match refund currency')
    }
    if (amount > leftOf(sale)) {
      return refuse(400, 'invalid_amount', 'Total refund amount cannot exceed original transaction amount')
    }
    const note = `Refund for transaction ${sale.reference}`
    const notes = { merchantNote: String(body.merchant_note ?? note), customerNote: String(body.customer_note ?? note) }
    const refund: Refund = { id: ++ids, sale, amount, status: 'pending', ...notes, createdAt: now() }
    refunds.push(refund)
    sale.status = 'reversal-pending' // of a part, too
    if (behaviour.refundsNeedAttention) {
      refund.status = 'needs-attention'
      waiting.push(() => refundEventOf('refund.needs-attention', refund))
    } else finish(refund)
    const transaction = { id: sale.id, reference: sale.reference, amount: sale.amount, domain: 'test' }
    return ok('Refund has been queued for processing', { ...refundOf(refund), transaction })
  }

  /** Done by the time that they tell of it. */
  function finish(refund: Refund): void {
    waiting.push(() => refundEventOf('refund.pending', refund))
    waiting.push(() => {
      refund.status = 'processed'
      refund.sale.status = 'reversed'
      return refundEventOf('refund.processed', refund)
    })
  }

  function retryRefund(id: string, body: Record<string, unknown>): Said {
    const refund = refunds.find((each) => `${each.id}` === id)
    if (!refund) return refuse(404, 'refund_not_found', 'Refund not found')
    const fault = findFault('retry', body)
    if (fault) return refuse(400, fault.code, fault.message)
    const { account_number, bank_id } = body.refund_account_details as { account_number: string; bank_id: string }
    if (refund.status !== 'needs-attention')
      return refuse(422, 'invalid_params', 'Invalid Refund state, refund status should be "needs-attention"')
    if (!BANKS.some(({ id }) => `${id}` === bank_id) || account_number === UNKNOWN_ACCOUNT)
      return refuse(422, 'invalid_account', 'Could not resolve account name')
    refund.status = 'processing'
    finish(refund)
    const said = { ...refundOf(refund), reason: 'PROCESSING', account_number, bank_id }
    return ok('Refund retried and has been queued for processing', said)
  }

  /** Completed at once. */
  function giveBackInDashboard(sale: Sale, amount: number, disputeId?: bigint): Refund {
    const note = `Refund for transaction ${sale.reference}`
    const notes = { merchantNote: note, customerNote: note }
    const refund: Refund = { id: ++ids, sale, amount, status: 'processed', ...notes, createdAt: now() }
    if (disputeId !== undefined && behaviour.namesDispute) refund.disputeId = disputeId
    refunds.push(refund)
    sale.status = 'reversed'
    waiting.push(() => refundEventOf('refund.processed', refund))
    return refund
  }

  function dispute(sale: Sale, amount: number, category: string): Dispute {
    const [createdAt, dueAt] = [0, 86_400_000].map((ahead) => new Date(Date.now() + ahead).toISOString())
    const made: Dispute = {
      ...{ id: ++ids, sale, amount: behaviour.hidesDisputedAmount ? null : amount, category, resolution: null },
      ...{ status: 'awaiting-merchant-feedback', createdAt: String(createdAt), dueAt: String(dueAt) },
    }
    disputes.push(made)
    waiting.push(() => eventOf('charge.dispute.create', disputeOf(made)))
    return made
  }

  /** An accepted dispute is paid back with a refund. */
  function close(id: string, outcome: 'won' | 'lost'): void {
    const closed = disputes.find((each) => `${each.id}` === id) ?? assert.fail('there is such a dispute')
    closed.status = 'resolved'
    closed.resolution = outcome === 'won' ? 'declined' : 'merchant-accepted'
    waiting.push(() => eventOf('charge.dispute.resolve', disputeOf(closed)))
    if (outcome === 'lost') giveBackInDashboard(closed.sale, closed.amount ?? closed.sale.amount, closed.id)
  }

  function create(path: keyof typeof FORMS, { headers, body: text }: Asked): Said {
    if (headers['content-type'] !== 'application/json') return refuse(400, 'invalid_body', 'Not JSON')
    const body = JSON.parse(text)
    const fault = findFault(path, body)
    if (fault) return refuse(400, fault.code, fault.message)
    if (path === '/charge/submit_otp') return charges.submitCode(body)
    if (path !== '/refund' && sales.has(body.reference)) {
      return refuse(400, 'duplicate_reference', 'Duplicate Transaction Reference')
    }
    if (path === '/refund') return giveBack(body)
    if (path === '/transaction/charge_authorization') return charge(body)
    if (path === '/charge') return charges.charge(body)
    const channel = body.channels?.[0] ?? 'card'
    const { code, reference } = open(body, { channel, cancelURL: body.metadata?.cancel_action })
    const authorization_url = `${upstream.url}/checkout/${code}`
    return ok('Authorization URL created', { authorization_url, access_code: code, reference })
  }

  // By the number alone; a reference finds nothing.
  const ofTransaction = <T extends { sale: Sale }>(all: T[], query: URLSearchParams) =>
    all.filter(({ sale }) => !query.has('transaction') || query.get('transaction') === `${sale.id}`)

  /** The customer's side: pages without a key. */
  function showPage(request: Asked): Said | undefined {
    const back = ({ callbackURL, reference }: Sale) => {
      const url = callbackURL === undefined ? undefined : new URL(callbackURL)
      for (const name of ['trxref', 'reference']) url?.searchParams.append(name, reference)
      return url?.href
    }
    const open = (code: string) => {
      const sale = [...sales.values()].find((sale) => sale.code === code)
      if (!sale) return undefined
      return {
        amount: moneyOf(sale.amount, sale.currency),
        pay: () => pay(sale),
        decline: () => fail(sale, 'Declined'),
        paidTo: () => back(sale),
        cancelledTo: () => sale.cancelURL,
      }
    }
    return hostedPage(request, '/checkout/', open) ?? hostedPage(request, '/resume/', open)
  }

  function speak(request: Asked): Said {
    const page = showPage(request)
    if (page) return page
    asked.push(request)
    const { method, headers } = request
    const { pathname, searchParams } = new URL(request.path, 'http://paystack')
    if (headers.authorization !== `Bearer ${keys.secretKey}`) return refuse(401, 'invalid_Key', 'Invalid key')
    if (method === 'POST' && Object.hasOwn(FORMS, pathname)) return create(pathname as keyof typeof FORMS, request)
    const [, retried] = /^\/refund\/retry_with_customer_details\/(\d+)$/.exec(pathname) ?? []
    if (method === 'POST' && retried) return retryRefund(retried, JSON.parse(request.body))
    if (method !== 'GET') return refuse(404, 'unknown_route', 'Route not found')
    if (pathname === '/bank') return listOfBanks(searchParams)
    if (pathname === '/balance') return ok('Balances retrieved', [{ currency: 'NGN', balance: 0 }])
    if (pathname === '/refund') {
      return list(behaviour, 'Refunds retrieved', ofTransaction(refunds, searchParams), searchParams, refundOf)
    }
    if (pathname === '/dispute') {
      return list(behaviour, 'Disputes retrieved', ofTransaction(disputes, searchParams), searchParams, disputeOf)
    }
    const paidOut = settlements.speak(behaviour, pathname, searchParams)
    if (paidOut) return paidOut
    const show = (sale: Sale) => transactionOf(sale, behaviour.metadata)
    if (pathname === '/transaction')
      return list(behaviour, 'Transactions retrieved', [...sales.values()].toReversed(), searchParams, show)
    const [, , verb, reference] = pathname.split('/')
    const sale = verb === 'verify' ? sales.get(reference ?? '') : [...sales.values()].find(({ id }) => `${id}` === verb)
    return sale ? ok('Verification successful', show(sale)) : notFound()
  }

  const sign = (body: Buffer, at: Date, key = keys.secretKey): RawNotice => ({
    headers: { 'x-paystack-signature': createHmac('sha512', key).update(body).digest('hex') },
    body,
    receivedAt: at,
  })

  const upstream = await startUpstream(t, speak)
  return {
    ...{ provider: paystack, upstream, asked, find, refunds, disputes, behaviour, keys },
    settings: { secretKey, publicKey: PUBLIC_KEY, xofAmounts: 'hundredths' },
    secrets: [secretKey],
    price: { amount: 1_025_381, currency: 'NGN', country: 'NG' },
    refundsNeedAccounts: () => {
      behaviour.refundsNeedAttention = true
    },
    ordersMade: () => sales.size,
    refundsMade: () => refunds.length,
    customer: {
      payByCard: async (reference) => pay(find(reference)),
      failByCard: async (reference) => fail(find(reference), 'Declined'),
      async letStepRunOut(reference) {
        const sale = sales.get(reference)
        if (sale?.channel === 'card' && sale.status === 'ongoing') fail(sale, 'Authentication failed')
      },
      async transfer(reference, amount) {
        const sale = find(reference)
        const isOpen = Date.parse(sale.account?.expiresAt ?? '') > Date.now() && !sale.paidAt
        // Too little, too much or too late goes back to its sender, and never becomes the sale's.
        if (isOpen && amount === sale.amount) pay(sale)
        else waiting.push(() => rejectionOf(sale, amount))
      },
      approve: async (reference) => pay(find(reference)),
      refuse: async (reference) => fail(find(reference), 'Request cancelled by user'),
      // They go on to wait: an approval may come late.
      async expire(reference) {
        find(reference).status = 'abandoned'
      },
    },
    async refundAtProvider(reference, amount) {
      const sale = find(reference)
      const wanted = hundredthsOf(amount, sale)
      return wanted > leftOf(sale) ? undefined : `${giveBackInDashboard(sale, wanted).id}`
    },
    async disputeAtProvider(reference, { amount, reason }) {
      const sale = find(reference)
      return `${dispute(sale, hundredthsOf(amount, sale), reason).id}`
    },
    closeDispute: async (id, outcome) => close(id, outcome),
    limitPages: (size) => {
      behaviour.longestPage = size
    },
    listsLag: (ms) => {
      behaviour.lagMs = ms
    },
    otherShopSells() {
      const sale = open({ email: 'bola@example.com', amount: 70_000 }, {})
      pay(sale)
      giveBackInDashboard(sale, 20_000)
    },
    settle: settlements.settle,
    savedCards: { ...CARDS, unheardOf: 'AUTH_nobody' },
    notices: {
      sign,
      signAsAnother: (body, at) => sign(body, at, keys.secretKey.replace('0', '1')),
      covers: { body: true, time: false },
      bodyOf(kind, reference) {
        const sale = find(reference)
        if (kind === 'paid') return eventOf('charge.success', transactionOf(sale, behaviour.metadata))
        const disputed = disputes.findLast((each) => each.sale === sale)
        if (kind === 'dispute') return disputed && eventOf('charge.dispute.create', disputeOf(disputed))
        const refund = refunds.findLast((each) => each.sale === sale)
        return kind === 'refund' && refund ? refundEventOf('refund.processed', refund) : undefined
      },
    },
    ledger: () => ({
      taken: [...sales.values()]
        .filter(({ paidAt }) => paidAt)
        .map(({ reference, id, requested, currency }) => ({
          reference,
          id: `${id}`,
          amount: moneyOf(requested, currency),
        })),
      givenBack: refunds
        .filter(({ status }) => status !== 'failed')
        .map(({ id, sale, amount }) => ({
          reference: sale.reference,
          id: `${id}`,
          amount: moneyOf(amount, sale.currency),
        })),
    }),
    takeNotices: () =>
      waiting.splice(0).map((write) => {
        const { body, headers } = sign(write(), new Date())
        return { body, headers: headers as Record<string, string> }
      }),
  }
}) satisfies StartFake

export const fakePaystack = {
  provider: paystack,
  features: {
    notices: ['paid', 'refund', 'dispute'],
    asksForSteps: true,
    numbersTries: true,
    wrongTransferAmounts: 'rejected',
    listsReversals: true,
    listsDisputes: true,
    listsTransactions: true,
    refundsByTransaction: true,
    reportsRefusedKeys: true,
    settlements: 'in lists',
    namesFees: true,
    channels: SAMPLES,
  },
  start: startFakePaystack,
} satisfies Fake
