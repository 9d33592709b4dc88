import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { providerName } from '../../src/kernel/channel.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { Problem } from '../../src/kernel/problem.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { refundPayment, sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { cancelPayment } from '../../src/payments/settle/cancel-payment.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { processNotice, processWaitingNotices, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { initializePayment } from '../../src/payments/start/initialize-payment.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { Adversary, type ChargeKind, FATES, type Fate } from './adversary.ts'
import { adversaryShop } from './adversary-shop.ts'

export const PRICE = 1_000
const STEPS = 25

/** `which` chooses among what there is at that moment. */
export type Step =
  | { do: 'start'; channel: Attempt['channel']; fate: Fate }
  | { do: 'charge'; which: number; kind: ChargeKind }
  | { do: 'transfer'; which: number; amount: number; returned: number }
  | { do: 'hear'; which: number; times: 1 | 2; fate: Fate }
  | { do: 'lose'; which: number }
  | { do: 'forge'; which: number }
  | { do: 'ask'; which: number; source: 'check' | 'return'; fate: Fate }
  | { do: 'speak up' | 'cancel' | 'expire' }
  | { do: 'wait'; minutes: number }
  | { do: 'refund'; amount: number; fate: Fate }
  | { do: 'send surplus back'; fate: Fate }
  | { do: 'at once'; steps: [Step, Step] }

const which = fc.nat(9)
const fate = fc.oneof(
  { arbitrary: fc.constant<Fate>('honest'), weight: 3 },
  { arbitrary: fc.constantFrom(...FATES), weight: 2 },
)
const start: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('start' as const),
  channel: fc.constantFrom('card' as const, 'virtual-bank-account' as const, 'mobile-money' as const),
  fate,
})
const simple: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: start },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('charge' as const),
      which,
      kind: fc.constantFrom<ChargeKind>(
        'pays',
        'declines',
        'declines',
        'code',
        'hushed',
        'less',
        'more',
        'reversed',
        'partly returned',
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('transfer' as const),
      which,
      amount: fc.constantFrom(PRICE, PRICE - 400, 400, PRICE + 300),
      returned: fc.constantFrom(0, 0, 0, 300, 400, PRICE),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('hear' as const),
      which,
      times: fc.constantFrom(1 as const, 2 as const),
      fate,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      which,
      source: fc.constantFrom('check' as const, 'return' as const),
      fate,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('forge' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Step>({ do: 'speak up' }, { do: 'speak up' }, { do: 'cancel' }, { do: 'expire' }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 11) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('refund' as const), amount: fc.constantFrom(300, PRICE), fate }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('send surplus back' as const), fate }) },
)
const atOnce = fc.record({ do: fc.constant('at once' as const), steps: fc.tuple(simple, simple) })
const step: fc.Arbitrary<Step> = fc.oneof({ arbitrary: simple, weight: 4 }, { arbitrary: atOnce, weight: 1 })

export const story = fc
  .tuple(start, fc.array(step, { minLength: 8, maxLength: STEPS - 1, size: 'max' }))
  .map(([first, others]) => [first, ...others])

/** One payment, its provider, and a clock that only a step moves. */
export class Scene {
  readonly reference = `any-${crypto.randomUUID()}`
  readonly adversary: Adversary
  #phones = 0
  readonly #database: Database
  readonly #clock: { aheadMs: number; now: () => Date }
  readonly #shop: Awaited<ReturnType<typeof adversaryShop>>

  static async open(database: Database): Promise<Scene> {
    const clock = { aheadMs: 0, now: () => new Date(Date.now() + clock.aheadMs) }
    const adversary = new Adversary(clock.now)
    return new Scene(database, adversary, clock, await adversaryShop(database, adversary, clock))
  }

  private constructor(
    database: Database,
    adversary: Adversary,
    clock: { aheadMs: number; now: () => Date },
    shop: Awaited<ReturnType<typeof adversaryShop>>,
  ) {
    this.#database = database
    this.adversary = adversary
    this.#clock = clock
    this.#shop = shop
  }

  now(): Date {
    return this.#clock.now()
  }

  parts(met: Fate): PaymentDeps {
    return this.#shop.parts(met)
  }

  paymentId(): Promise<PaymentId> {
    return this.#shop.newPayment(PRICE, this.reference)
  }

  /** A refusal is an answer, and so is a database that is too busy; anything else that is thrown is a bug. */
  async play(id: PaymentId, step: Step): Promise<void> {
    try {
      await this.#act(id, step)
    } catch (error) {
      if (!(error instanceof Problem) || error.code === 'internal_error') throw error
    }
  }

  async #act(id: PaymentId, step: Step): Promise<unknown> {
    const { adversary } = this
    switch (step.do) {
      case 'start':
        return this.#start(step.channel, step.fate)
      case 'charge':
        return adversary.charge(chosen(adversary.references('whole'), step.which) ?? '', step.kind)
      case 'transfer':
        return adversary.transfer(
          chosen(adversary.references('in parts'), step.which) ?? '',
          step.amount,
          Math.min(step.amount, step.returned),
        )
      case 'hear': {
        const body = chosen(adversary.mailbox, step.which)
        if (!body) return
        adversary.mailbox.splice(adversary.mailbox.indexOf(body), 1)
        return Promise.all(Array.from({ length: step.times }, () => this.#hear(body, step.fate)))
      }
      case 'lose':
        return adversary.mailbox.splice(step.which % (adversary.mailbox.length || 1), 1)
      case 'forge':
        return this.#forge(step.which)
      case 'ask': {
        const attempt = chosen(await this.attempts(id), step.which)
        return attempt && checkAttempt(this.parts(step.fate), attempt, { source: step.source })
      }
      case 'speak up':
        return adversary.speakUp()
      case 'cancel':
        return cancelPayment(this.parts('honest'), id)
      case 'expire':
        await this.#database.rows(sql`update payments set expires_at = now() where id = ${uuidOf(id)}`)
        return expirePayments(this.parts('honest'), 100)
      case 'wait':
        this.#clock.aheadMs += step.minutes * 60_000
        return
      case 'refund':
        return refundPayment(this.parts(step.fate), 'test', id, { amount: step.amount, reason: null })
      case 'send surplus back':
        return this.sendBack(id, step.fate)
      case 'at once':
        return Promise.all(step.steps.map((each) => this.play(id, each)))
    }
  }

  #start(channel: Attempt['channel'], met: Fate) {
    const parts = this.parts(met)
    return initializePayment(
      { ...parts, ...this.#shop.createDependencies },
      this.#shop.caller,
      {
        provider: providerName('adversary', channel),
        reference: this.reference,
        saveCard: false,
        amount: PRICE,
        currency: 'NGN' as Currency,
        country: undefined,
        customerBearsCharge: false,
        user: { id: null, email: 'ada@example.com', phoneNumber: null, name: null },
        redirectURL: null,
        webhook: null,
        metadata: {},
        expiresInSeconds: 86_400,
        // Another phone each time: the same one is not asked twice.
        input: channel === 'mobile-money' ? { phoneNumber: this.#nextPhone(), network: 'mtn' } : {},
      },
      { startedId: null, startedBy: undefined },
    )
  }

  #nextPhone(): string {
    return `+23480312${String(++this.#phones).padStart(5, '0')}`
  }

  async #hear(body: Buffer, met: Fate): Promise<void> {
    const parts = this.parts(met)
    const received = await receiveNotice(parts, this.#shop.caller, 'adversary', this.adversary.signed(body))
    assert.equal(received.kind, 'kept')
    // As at the door: what cannot be worked off now is on disk, and waits for the worker.
    if (received.kind === 'kept' && received.isNew) await processNotice(parts, received.notice).catch(() => {})
  }

  async #forge(which: number): Promise<void> {
    const reference = chosen(this.adversary.references('whole'), which)
    const body = Buffer.from(JSON.stringify({ id: 0, reference, says: 'paid' }))
    const headers = { signature: 'of a stranger' }
    const received = await receiveNotice(this.parts('honest'), this.#shop.caller, 'adversary', { body, headers })
    assert.equal(received.kind, 'forged')
  }

  async attempts(id: PaymentId): Promise<Attempt[]> {
    return (await findPaymentStateById(this.#database, id))?.attempts ?? []
  }

  async sendBack(id: PaymentId, met: Fate): Promise<void> {
    await this.#database.rows(
      sql`update refunds set due_at = now() where payment_id = ${uuidOf(id)} and status = 'pending'`,
    )
    await sendDueRefunds(this.parts(met), 100)
  }

  /** As the worker does it: what could not be done now is done again. */
  async #check(attempt: Attempt): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await checkAttempt(this.parts('honest'), attempt, { source: 'check' })
        return
      } catch (error) {
        if (!(error instanceof Problem && error.code === 'unavailable') || tries === 5) throw error
      }
    }
  }

  /**
   * No notice comes any more, and the provider answers as it should. Only what the schedule still watches is asked for.
   */
  async settleDown(id: PaymentId): Promise<void> {
    this.adversary.speakUp()
    for (let round = 0; round < 2; round++) {
      for (const attempt of await this.attempts(id)) {
        if (attempt.checks.nextAt) await this.#check(attempt)
      }
    }
    await this.sendBack(id, 'honest')
    await this.#database.rows(sql`update notices set due_at = now() where state = 'waiting'`)
    await processWaitingNotices(this.parts('honest'), 100)
  }
}

function chosen<Item>(items: Item[], which: number): Item | undefined {
  return items[which % (items.length || 1)]
}
