import { pino } from 'pino'
import type { Database, Writes } from '../database/database.ts'
import type { Channel } from '../kernel/channel.ts'
import type { Country } from '../kernel/country.ts'
import { feeOf } from '../kernel/fee.ts'
import type { LinkId, PaymentId } from '../kernel/ids.ts'
import { type Currency, money } from '../kernel/money.ts'
import type { Scope } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { writeDecision, writeNewPayment } from '../payments/change-payment.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import type { Links } from '../payments/links.ts'
import { refundChange, withRefunded, withReversal } from '../payments/refunds/refund-payment.ts'
import {
  failRefund,
  loseDispute,
  markForReview,
  type Reconciliation,
  recordDispute,
  winDispute,
} from '../payments/refunds/write-reversals.ts'
import { newPayment } from '../payments/start/create-payment.ts'
import { type Attempt, comesInParts } from '../payments/state/attempt.ts'
import { newAttempt } from '../payments/state/new-attempt.ts'
import type { OutcomeReport } from '../payments/state/outcome-report.ts'
import {
  addAttempt,
  attemptIn,
  cancel,
  type Decision,
  decide,
  expire,
  storeInstructions,
} from '../payments/state/payment-state.ts'
import { newRefund } from '../payments/state/refund.ts'
import { settle } from '../payments/state/settle.ts'
import type { LockedPayment } from '../payments/store/payment-states.ts'
import { writeReceipt } from '../payments/store/receipts.ts'
import { insertRefund } from '../payments/store/refunds.ts'
import type { Capabilities } from '../providers/capabilities.ts'
import { offerOf } from '../providers/capabilities.ts'
import { failureOf } from '../providers/failure.ts'
import type { FailureCode, Receipt } from '../providers/provider.ts'
import { PROVIDERS } from '../providers/registry.ts'
import { demoChannel, demoInput, demoInstructions } from './channels.ts'

export interface DemoPlan {
  payments: number
  days: number
  seed: number
  now: Date
}

/** The reusable links that some customers came from. */
export interface DemoLinks {
  /** Has a price of its own. */
  workshop: LinkId
  /** The customer chooses the amount. */
  donation: LinkId
}

export const WORKSHOP_PRICE = 1_500_000

export interface DemoDataDeps {
  database: Database
  links: Links
  secrets: SecretBox
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export function demoReference({ seed }: Pick<DemoPlan, 'seed'>, number: number): string {
  return `DEMO-${seed}-${String(number).padStart(5, '0')}`
}

/** mulberry32: a small generator with a seed. */
export function randomBy(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const capabilitiesOf = PROVIDERS.map(({ capabilities }) => capabilities)
export const SANDBOX = capabilitiesOf.find(({ sandboxOnly }) => sandboxOnly) as Capabilities
/** The sandbox's own provider takes most; two real ones take some, so that the charts compare them. */
const TAKERS = [
  SANDBOX,
  ...capabilitiesOf.filter(({ sandboxOnly, currencies }) => !sandboxOnly && currencies.includes('NGN')).slice(0, 2),
]

const FIRST =
  'Ada Bola Chidi Dami Efe Funke Gbenga Hauwa Ife Jide Kemi Lola Musa Ngozi Ola Sade Tunde Uche Yemi Zainab'.split(' ')
const LAST =
  'Adeyemi Bello Chukwu Danjuma Eze Folarin Ibrahim Johnson Kalu Lawal Musa Nwosu Okafor Sani Williams'.split(' ')
const ITEMS =
  'Ankara tote, Shea butter, Clay mug, Aso oke scarf, Bead set, Coffee 1 kg, Raffia basket, Leather sandals'.split(', ')
/** Some payments of each forty came by a link. */
const LINK_EVERY = 40
const LINK_OF: Record<number, keyof DemoLinks> = { 7: 'workshop', 19: 'donation', 33: 'workshop' }
const DECLINES: FailureCode[] = [
  ...Array<FailureCode>(8).fill('insufficient_funds'),
  ...Array<FailureCode>(5).fill('card_declined'),
  ...Array<FailureCode>(3).fill('incorrect_otp'),
  ...([
    'incorrect_pin',
    'limit_exceeded',
    'authentication_failed',
    'card_expired',
    'suspected_fraud',
    'provider_unavailable',
  ] as const),
]

const PHONE_DECLINES: FailureCode[] = [
  ...Array<FailureCode>(6).fill('insufficient_funds'),
  ...Array<FailureCode>(4).fill('prompt_expired'),
  ...(['customer_cancelled', 'customer_cancelled', 'incorrect_pin', 'limit_exceeded', 'subscriber_unknown'] as const),
]

/** Where the shop sells, how often, and by how much the amounts differ from those in naira. */
const MARKETS = [
  { share: 0.8, country: 'NG' as Country, currency: 'NGN' as Currency, scale: 100 },
  { share: 0.92, country: 'GH' as Country, currency: 'GHS' as Currency, scale: 1 },
  { share: 1, country: 'KE' as Country, currency: 'KES' as Currency, scale: 10 },
] as const

/**
 * One payment, from its creation to its end, or to now. It is taken through the state machine and written by the same
 * code as a real one, with the time set back, so that the audit finds no difference.
 */
export class Story {
  readonly #tx: Writes
  readonly #deps: Pick<PaymentDeps, 'clock' | 'links' | 'log'>
  readonly #plan: DemoPlan & DemoLinks
  readonly #random: () => number
  readonly #number: number
  #state: LockedPayment
  #at: Date
  #isNew = true
  #tries = 0

  constructor(deps: DemoDataDeps, tx: Writes, scope: Scope, plan: DemoPlan & DemoLinks, number: number, start: Date) {
    this.#tx = tx
    this.#plan = plan
    this.#number = number
    this.#at = start
    this.#random = randomBy(plan.seed * 1_000_003 + number)
    this.#deps = { links: deps.links, clock: { now: () => this.#at }, log: pino({ level: 'silent' }) }
    this.#state = { payment: this.#newPayment(scope), attempts: [], cases: [], receipts: [], refunds: [], lockedAt: 0 }
  }

  #newPayment(scope: Scope) {
    const luck = this.#random()
    const { country, currency, scale } = MARKETS.find(({ share }) => luck < share) ?? MARKETS[0]
    const isAtHome = country === MARKETS[0].country
    const [first, last] = [this.#pick(FIRST), this.#pick(LAST)]
    const link = isAtHome ? LINK_OF[this.#number % LINK_EVERY] : undefined
    // Many small amounts, few large ones.
    const some = Math.round(15 * Math.exp(this.#random() * 4.6) * scale) * 100
    return newPayment(
      {
        caller: scope,
        ...(link && { link: this.#plan[link] }),
        request: {
          amount: link === 'workshop' ? WORKSHOP_PRICE : some,
          currency,
          country,
          customerBearsCharge: this.#chance(0.2),
          user: {
            id: null,
            email: `${first}.${last}@example.com`.toLowerCase(),
            phoneNumber: null,
            name: `${first} ${last}`,
          },
          redirectURL: null,
          webhook: null,
          metadata: { item: this.#pick(ITEMS) },
        },
        reference: demoReference(this.#plan, this.#number),
        expiresInSeconds: (24 * HOUR) / SECOND,
        idempotency: undefined,
      },
      this.#at,
    ).payment
  }

  tell(): PaymentId {
    this.#pay()
    const { payment } = this.#state
    if (this.#isNew) this.#write(decide(this.#state, [], this.#at))
    if (payment.status === 'successful') this.#afterwards()
    return payment.id
  }

  #pay(): void {
    const isUsed = !this.#chance(0.07) // some links never are
    const channel = demoChannel(this.#state.payment.country, this.#random())
    for (let tries = 0; isUsed && tries < 4; tries++) {
      if (!this.#later(10 * SECOND, 3 * MINUTE)) return
      if (this.#payBy(channel)) return
      if (this.#state.payment.status !== 'pending' || this.#chance(0.3)) break
    }
    this.#end()
  }

  #payBy(channel: Channel): boolean {
    switch (channel) {
      case 'virtual-bank-account':
        return this.#transfer()
      case 'card':
        return this.#charge(channel, DECLINES)
      case 'mobile-money':
      case 'ussd':
      case 'bank':
      case 'qr':
        return this.#charge(channel, PHONE_DECLINES)
    }
  }

  #charge(channel: Channel, declines: FailureCode[]): boolean {
    const id = this.#start(channel)
    if (this.#chance(0.05) || !this.#later(10 * SECOND, 2 * MINUTE)) return false
    if (this.#chance(0.2)) {
      const failure = failureOf(this.#pick(declines), null)
      this.#settle(id, { kind: 'declined', failure, tryId: `try-${++this.#tries}` }, [])
      return false
    }
    this.#receive(id, 1)
    return true
  }

  #transfer(): boolean {
    const id = this.#start('virtual-bank-account')
    if (this.#chance(0.15) || !this.#later(MINUTE, 25 * MINUTE)) return false
    const share = this.#chance(0.04) ? 0.6 : this.#chance(0.03) ? 1.2 : 1
    this.#receive(id, share)
    if (share < 1 && this.#later(10 * MINUTE, 5 * HOUR)) this.#receive(id, 1 - share)
    return true
  }

  #start(channel: Channel) {
    const luck = this.#random()
    const takers = TAKERS.filter((each) => offerOf(each, channel, this.#state.payment.currency) !== undefined)
    const capabilities = takers[luck < 0.55 ? 0 : luck < 0.85 ? 1 : 2] ?? SANDBOX
    const number = String(1_000_000_000 + this.#plan.seed * 1_000_000 + this.#number * 10 + ++this.#tries)
    const input = demoInput(channel, this.#state.payment.country, number)
    const start = { capabilities, channel, input, keysVersion: 0, chargedAtOnce: false }
    const attempt = newAttempt(this.#state, start, this.#at)
    this.#write(addAttempt(this.#state, attempt), 'start')
    const instructions = demoInstructions(attempt, number)
    const issued = { instructions, instructionsExpireAt: null, providerReference: attempt.providerReference }
    this.#write(storeInstructions(this.#state, attempt.id, issued, this.#at), 'start')
    return attempt.id
  }

  /** A part of what is charged, or all of it. */
  #receive(id: OutcomeReport['attemptId'], share: number): void {
    const attempt = attemptIn(this.#state, id)
    const amount =
      share < 0.5 ? attempt.amountCharged - attempt.amountReceived : Math.round(attempt.amountCharged * share)
    const transactionId = `demo-${this.#plan.seed}-${this.#number}-${++this.#tries}`
    const fee = this.#feeCharged(attempt, amount)
    const receipt: Receipt = { transactionId, amount: money(amount, attempt.currency), at: this.#at, fee }
    const isEnough = attempt.amountReceived + amount >= attempt.amountCharged
    this.#settle(id, { kind: isEnough ? 'paid' : 'pending', receipts: [receipt] }, [receipt])
  }

  /** What the provider keeps: as its schedule says, but for the last one, which has raised its price. */
  #feeCharged({ provider, channel, currency }: Attempt, amount: number): number {
    const at = TAKERS.findIndex(({ name }) => name === provider)
    const offer = offerOf(TAKERS[at] ?? SANDBOX, channel, currency)
    const raised = at === 2 ? Math.ceil(amount / 1_000) : 0
    return offer ? feeOf(offer.fee, amount) + raised : 0
  }

  #settle(attemptId: OutcomeReport['attemptId'], outcome: OutcomeReport['outcome'], receipts: Receipt[]): void {
    const decision = settle(this.#state, { attemptId, outcome, newReceipts: receipts, source: 'notice', now: this.#at })
    const attempt = attemptIn(this.#state, attemptId)
    this.#write(decision, `notice: ${outcome.kind}`)
    for (const receipt of receipts) {
      writeReceipt(this.#tx, attempt, receipt, decision.counted)
      const { transactionId, amount } = receipt
      const recorded = {
        attemptId,
        transactionId,
        ...amount,
        counted: decision.counted,
        isMatched: false,
        receiptNumber: null,
      }
      this.#state.receipts.push(recorded)
    }
  }

  /** Cancelled soon, or expired after a day. A few are paid after that. */
  #end(): void {
    if (this.#isNew) this.#write(decide(this.#state, [], this.#at))
    if (this.#chance(0.25)) {
      if (this.#later(MINUTE, HOUR)) this.#write(cancel(this.#state, this.#at), 'customer')
      return
    }
    this.#at = this.#state.payment.expiresAt
    if (!this.#later(SECOND, 5 * SECOND)) return
    this.#write(expire(this.#state, this.#at))
    const open = this.#state.attempts.find((each) => each.status === 'abandoned' && comesInParts(each))
    if (open && this.#chance(0.15) && this.#later(HOUR, DAY)) this.#receive(open.id, 1)
  }

  #afterwards(): void {
    if (this.#chance(0.04)) {
      if (this.#later(HOUR, 8 * DAY)) this.#refund()
    } else if (this.#chance(0.008)) {
      if (this.#later(DAY, 12 * DAY)) this.#dispute()
    } else if (this.#chance(0.002)) markForReview(this.#work(), 'The provider’s answers disagree about the amount.')
  }

  #refund(): void {
    const { payment, attempts } = this.#state
    const attempt = attempts.find(({ status }) => status === 'successful')
    if (!attempt) return
    const amount = this.#chance(0.6) ? payment.amount : Math.ceil(payment.amount / 2)
    const fails = this.#chance(0.1)
    const reason = this.#pick(['Returned by the customer.', 'Out of stock.', 'Ordered twice.'])
    const of = { attemptId: attempt.id, amount, kind: 'merchant' as const, counted: true, transactionIds: [], reason }
    const wanted = { ...of, ...(!fails && { providerRefundId: `demo-refund-${this.#plan.seed}-${this.#number}` }) }
    const refund = newRefund(payment, wanted, this.#at)
    insertRefund(this.#tx, payment, refund)
    const held = { ...this.#state, ...withReversal(this.#state, attempt.id, amount), refunds: [refund] }
    if (fails) {
      failRefund({ ...this.#work(), state: held, refunds: [refund] }, refund, 'The account was closed.')
      return
    }
    this.#state = { ...this.#state, refunds: [refund] }
    this.#write(decide(withRefunded(held, refund), [refundChange(refund)], this.#at), 'refund')
  }

  #dispute(): void {
    const { payment } = this.#state
    const work = this.#work()
    const dispute = recordDispute(work, {
      disputeId: `demo-dispute-${this.#plan.seed}-${this.#number}`,
      amount: money(payment.amount, payment.currency),
      status: 'open',
      reason: this.#pick(['Not received.', 'Not recognised by the cardholder.', 'Not as described.']),
      respondBy: new Date(this.#at.getTime() + 10 * DAY),
      openedAt: this.#at,
    })
    if (!this.#later(3 * DAY, 10 * DAY)) return
    if (this.#chance(0.5)) winDispute(work, dispute)
    else loseDispute(work, dispute, { amount: payment.amount })
  }

  #work(): Reconciliation {
    const attempt = this.#state.attempts.find(({ status }) => status === 'successful')
    if (!attempt) throw new Error('the payment is not paid')
    return { tx: this.#tx, deps: this.#deps, state: this.#state, attempt, refunds: [], disputes: [] }
  }

  #write(decision: Decision, cause: string | null = null): void {
    if (this.#isNew) writeNewPayment(this.#tx, this.#deps, this.#made(), decision, cause)
    else writeDecision(this.#tx, this.#deps, this.#state, decision, { cause })
    this.#state = { ...this.#state, ...decision.state }
    this.#isNew = false
  }

  #made() {
    return { payment: this.#state.payment, idempotency: undefined }
  }

  /** Some time passes, mostly little. False when that would be in the future. */
  #later(least: number, most: number): boolean {
    const passed = least + (most - least) * this.#random() ** 3
    if (this.#at.getTime() + passed > this.#plan.now.getTime()) return false
    this.#at = new Date(this.#at.getTime() + passed)
    return true
  }

  #chance(share: number): boolean {
    return this.#random() < share
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item
  }
}
