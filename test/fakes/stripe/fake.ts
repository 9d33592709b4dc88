import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type Currency, money } from '../../../src/kernel/money.ts'
import type { RawNotice } from '../../../src/providers/provider.ts'
import { stripe, VERSION } from '../../../src/providers/stripe/adapter.ts'
import type { Entry, Fake, FakeProvider, StartFake } from '../fake-provider.ts'
import { type HostedOrder, hostedPage } from '../hosted-page.ts'
import { startUpstream } from '../upstream.ts'
import { type ApiSwitches, createApi } from './api.ts'
import { createPayouts } from './payouts.ts'
import { createBooks, type Intent, type Session } from './state.ts'

type NoticeKind = Parameters<FakeProvider['notices']['bodyOf']>[0]

const SETTINGS = {
  secretKey: 'sk_test_51FakeFakeFakeFakeFake',
  publicKey: 'pk_test_51FakeFakeFakeFakeFake',
  webhookSecret: 'whsec_fakefakefakefakefakefakefake',
}

/** A Stripe for tests. `books` and `api` have the switches for its odder behaviours. */
export const startFakeStripe = (async (t) => {
  let url = ''
  const books = createBooks(() => url)
  const payouts = createPayouts(books)
  const switches: ApiSwitches = {
    secretKey: SETTINGS.secretKey,
    version: VERSION,
    breakNext: 0,
    needsTheirScript: false,
    pageLimit: 100,
    lagMs: 0,
  }
  const api = createApi(books, payouts, switches, () => url)
  const upstream = await startUpstream(
    t,
    (asked) =>
      hostedPage(asked, '/c/pay/', pageOfSession) ?? hostedPage(asked, '/3ds/', pageOfIntent) ?? api.speak(asked),
  )
  url = upstream.url

  function pageOfSession(id: string): HostedOrder | undefined {
    const session = books.sessions.find((one) => one.id === id)
    // Once paid or expired, the page says so and takes nothing.
    if (session?.status !== 'open') return undefined
    const { asked } = session
    return {
      amount: sumOf(
        Number(asked['line_items[0][price_data][unit_amount]']),
        asked['line_items[0][price_data][currency]'] ?? '',
      ),
      pay: () => books.paySession(session),
      decline: () => books.decline(books.intentOf(session)),
      paidTo: () => asked.success_url?.replaceAll('{CHECKOUT_SESSION_ID}', id),
      cancelledTo: () => asked.cancel_url,
    }
  }

  /** Where the bank asks for a code. */
  function pageOfIntent(id: string): HostedOrder | undefined {
    const intent = books.intents.find((one) => one.id === id)
    if (intent?.status !== 'requires_action') return undefined
    const back = (status: string) => {
      const address = new URL(intent.returnURL ?? url)
      address.searchParams.set('payment_intent', id)
      address.searchParams.set('payment_intent_client_secret', `${id}_secret_x`)
      address.searchParams.set('redirect_status', status)
      return address.href
    }
    const fail = () => books.decline(intent, 'authentication_required')
    return {
      amount: sumOf(intent.amount, intent.currency),
      pay: () => books.succeed(intent),
      decline: fail,
      paidTo: () => back('succeeded'),
      cancelledTo: () => {
        fail()
        return back('failed')
      },
    }
  }

  const sessionOf = (reference: string): Session | undefined =>
    books.sessions.find(({ asked }) => asked.client_reference_id === reference)

  function intentFor(reference: string): Intent {
    const session = sessionOf(reference)
    if (session) return books.intentOf(session)
    return books.intents.find((intent) => intent.reference === reference) ?? assert.fail('there is such an order')
  }

  const aboutIntent = (type: string, reference: string, changes = {}) =>
    books.eventOf(type, { ...books.intentObject(intentFor(reference)), ...changes })

  function bodyOf(kind: NoticeKind, reference: string): Buffer | undefined {
    const session = sessionOf(reference)
    switch (kind) {
      case 'paid':
        return session
          ? books.eventOf('checkout.session.completed', books.sessionObject(session))
          : aboutIntent('payment_intent.succeeded', reference)
      case 'failed':
        return aboutIntent('payment_intent.payment_failed', reference)
      case 'processing':
        return aboutIntent('payment_intent.processing', reference, { status: 'processing' })
      case 'pending':
        return aboutIntent('payment_intent.requires_action', reference, { status: 'requires_action' })
      case 'refund': {
        const refund = books.refunds.findLast(({ intent }) => intent.reference === reference)
        return refund && books.eventOf('refund.updated', books.refundObject(refund))
      }
      case 'dispute': {
        const dispute = books.disputesOf(intentFor(reference)).at(-1)
        return dispute && books.eventOf('charge.dispute.created', books.disputeObject(dispute))
      }
      default:
        return undefined
    }
  }

  return {
    provider: stripe,
    settings: SETTINGS,
    upstream,
    secrets: [SETTINGS.secretKey, SETTINGS.webhookSecret],
    price: { amount: 1_099, currency: 'USD', country: 'US' },
    // Intents of sessions are not orders of their own.
    ordersMade: () => books.sessions.length + books.intents.filter(({ returnURL }) => returnURL !== null).length,
    refundsMade: () => books.refunds.length,
    customer: {
      // Their page asks nobody whether to keep the card: we said so, or we did not.
      async payByCard(reference: string) {
        const session = sessionOf(reference)
        if (session) books.paySession(session)
        else books.succeed(intentFor(reference))
      },
      async failByCard(reference: string) {
        books.decline(intentFor(reference), 'insufficient_funds')
      },
      async letStepRunOut(reference: string) {
        const intent = books.intents.find((one) => one.reference === reference && one.status === 'requires_action')
        if (intent) books.decline(intent, 'authentication_required')
      },
    },
    savedCards: {
      paying: 'cus_ada:pm_paying',
      declining: 'cus_ada:pm_declining',
      unheardOf: 'cus_ada:pm_nobody',
      askingForAStep: 'cus_ada:pm_asking',
    },
    notices: {
      sign,
      signAsAnother: (body: Buffer, at: Date) => sign(body, at, 'whsec_anotheranotheranother'),
      covers: { body: true, time: true },
      bodyOf,
    },
    ledger: () => ({
      taken: books.intents
        .filter(({ received }) => received > 0)
        .map(({ id, reference, received, currency }): Entry => ({ id, reference, amount: sumOf(received, currency) })),
      // A dispute takes its money for good when it is lost.
      givenBack: [
        ...books.refunds.filter(({ status }) => status === 'succeeded'),
        ...books.disputes.filter(({ status }) => status === 'lost'),
      ].map(({ id, intent, amount }): Entry => {
        return { id, reference: intent.reference, amount: sumOf(amount, intent.currency) }
      }),
    }),
    takeNotices: () =>
      books.events.splice(0).map((body) => ({ headers: signatureOf(body, new Date(), SETTINGS.webhookSecret), body })),
    async refundAtProvider(reference: string, amount: number) {
      const intent = intentFor(reference)
      if (books.isDisputed(intent) || amount > books.leftOf(intent)) return undefined
      return books.giveBack(intent, amount, {}).id
    },
    async disputeAtProvider(reference: string, dispute: { amount: number; reason: string }) {
      return books.dispute(intentFor(reference), dispute).id
    },
    async closeDispute(disputeId: string, outcome: 'won' | 'lost') {
      const dispute = books.disputes.find(({ id }) => id === disputeId) ?? assert.fail('there is such a dispute')
      books.closeDispute(dispute, outcome)
    },
    limitPages(size: number) {
      switches.pageLimit = size
    },
    listsLag(ms: number) {
      switches.lagMs = ms
    },
    /** Its currency is none of ours, and it notes nothing. */
    otherShopSells() {
      const intent = books.openIntent({ amount: 700, currency: 'isk' })
      Object.assign(intent, { reference: undefined })
      books.succeed(intent)
      books.giveBack(intent, 200, {})
    },
    settle: payouts.settle,
    books,
    payouts,
    api,
    switches,
    sessionOf,
    intentFor,
  }
}) satisfies StartFake

const sumOf = (amount: number, currency: string) => money(amount, currency.toUpperCase() as Currency)

function sign(body: Buffer, at: Date, secret = SETTINGS.webhookSecret): RawNotice {
  return { headers: signatureOf(body, at, secret), body, receivedAt: at }
}

function signatureOf(body: Buffer, at: Date, secret: string): { 'stripe-signature': string } {
  const t = Math.floor(at.getTime() / 1000)
  const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')
  return { 'stripe-signature': `t=${t},v1=${v1}` }
}

export const fakeStripe = {
  provider: stripe,
  features: {
    notices: ['paid', 'failed', 'processing', 'pending', 'refund', 'dispute'],
    asksForSteps: true,
    numbersTries: true,
    idempotentRefunds: true,
    listsReversals: true,
    listsDisputes: true,
    listsTransactions: true,
    refundsByTransaction: true,
    reportsRefusedKeys: true,
    settlements: 'in lists',
  },
  start: startFakeStripe,
} satisfies Fake
