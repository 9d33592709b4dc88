import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { createMerchant } from '../../src/integrations/create-merchant.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import type { Country } from '../../src/kernel/country.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { Problem } from '../../src/kernel/problem.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import type { Caller } from '../../src/merchants/merchant.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { linksOn } from '../../src/payments/links.ts'
import { refundPayment, sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { cancelPayment } from '../../src/payments/settle/cancel-payment.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { processNotice, processWaitingNotices, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { createPayment, paymentBatch } from '../../src/payments/start/create-payment.ts'
import { initializePayment } from '../../src/payments/start/initialize-payment.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { Adversary, type ChargeKind, FATES, type Fate } from '../support/adversary.ts'
import { createDatabase } from '../support/database.ts'

const PRICE = 1_000
// RUNS=200 and more for a longer look.
const RUNS = Number(process.env.RUNS ?? 40)
const STEPS = 25

const { database } = await createDatabase()
const integration = {
  provider: 'adversary',
  channels: ['card', 'virtual-bank-account'] as Attempt['channel'][],
  countries: ['NG'] as Country[],
  currencies: ['NGN'] as Currency[],
  priority: 100,
}
const { id: merchantId, place } = await createMerchant(
  { database, clock: systemClock, sandboxIntegrations: [integration] },
  'test',
  { name: 'Adaeze Kitchen', country: 'NG' as Country },
)
const caller: Caller = {
  actor: 'test',
  place,
  merchantId,
  mode: 'sandbox',
  suspended: false,
  merchantName: 'Test',
}

/** `which` chooses among what there is at that moment. */
type Step =
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
  channel: fc.constantFrom('card' as const, 'virtual-bank-account' as const),
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

const story = fc
  .tuple(start, fc.array(step, { minLength: 8, maxLength: STEPS - 1, size: 'max' }))
  .map(([first, others]) => [first, ...others])

const card = { do: 'start', channel: 'card', fate: 'honest' } as const
const hear = (fate: Fate) => ({ do: 'hear', which: 0, times: 1, fate }) as const

/** Stories that once ended badly, told again in every run. */
const SEEN: Step[][] = [
  // A notice says "paid" after a check has found the wrong amount: the attempt went back to `processing`, and stayed there.
  [
    card,
    { do: 'charge', which: 0, kind: 'less' },
    { do: 'ask', which: 0, source: 'check', fate: 'honest' },
    hear('honest'),
  ],
  // The wrong amount comes through a second card after the payment is paid: that attempt stayed `processing`.
  [
    card,
    card,
    { do: 'charge', which: 1, kind: 'less' },
    hear('silent before'),
    { do: 'charge', which: 0, kind: 'pays' },
    hear('honest'),
  ],
  // A notice says "paid" of a transfer of which a part had gone back: the attempt stayed `processing`.
  [
    { do: 'start', channel: 'virtual-bank-account', fate: 'honest' },
    { do: 'transfer', which: 0, amount: PRICE + 300, returned: PRICE },
    { do: 'ask', which: 0, source: 'check', fate: 'honest' },
    hear('honest'),
  ],
  // A part of a transfer had gone back before it was seen, and a notice of another refund had all returns listed: it counted twice.
  [
    { do: 'start', channel: 'virtual-bank-account', fate: 'honest' },
    { do: 'transfer', which: 0, amount: PRICE, returned: 0 },
    { do: 'ask', which: 0, source: 'check', fate: 'honest' },
    { do: 'lose', which: 0 },
    { do: 'refund', amount: 300, fate: 'honest' },
    { do: 'transfer', which: 0, amount: PRICE, returned: 300 },
    hear('stale'),
  ],
]

/** One payment, its provider, and a clock that only a step moves. */
class Scene {
  readonly reference = `any-${crypto.randomUUID()}`
  readonly adversary: Adversary
  #aheadMs = 0
  readonly #clock = { now: () => new Date(Date.now() + this.#aheadMs) }

  constructor() {
    this.adversary = new Adversary(this.#clock.now)
  }

  parts(met: Fate): PaymentDeps {
    return {
      database,
      clock: this.#clock,
      log: pino({ level: 'silent' }),
      links: linksOn(() => 'http://pay.test'),
      providers: {
        find: (name) => (name === 'adversary' ? this.adversary.provider() : undefined),
        isHealthy: () => true,
        keysVersions: async () => [0],
        recordResult: () => {},
        breakers: () => [],
        connect: async () => this.adversary.connection(met),
      },
      secrets: secretBox(Buffer.alloc(32)),
    }
  }

  #createDependencies() {
    return {
      database,
      clock: this.#clock,
      integrationCache: integrationCache(database),
      paymentBatch: paymentBatch(database),
    }
  }

  async paymentId(): Promise<PaymentId> {
    const { ticket } = await createPayment(this.#createDependencies(), {
      caller,
      request: {
        amount: PRICE,
        currency: 'NGN' as Currency,
        country: 'NG' as Country,
        customerBearsCharge: false,
        user: { id: null, email: 'ada@example.com', phoneNumber: null, name: null },
        redirectURL: null,
        webhook: null,
        metadata: {},
      },
      reference: this.reference,
      expiresInSeconds: 86_400,
      idempotency: undefined,
    })
    return ticket.id
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
        return adversary.charge(chosen(adversary.references('card'), step.which) ?? '', step.kind)
      case 'transfer':
        return adversary.transfer(
          chosen(adversary.references('virtual-bank-account'), step.which) ?? '',
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
        await database.rows(sql`update payments set expires_at = now() where id = ${uuidOf(id)}`)
        return expirePayments(this.parts('honest'), 100)
      case 'wait':
        this.#aheadMs += step.minutes * 60_000
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
      { ...parts, ...this.#createDependencies() },
      caller,
      {
        provider: channel === 'card' ? 'adversary' : 'adversary-virtual-bank-account',
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
      },
      { startedId: null, startedBy: undefined },
    )
  }

  async #hear(body: Buffer, met: Fate): Promise<void> {
    const parts = this.parts(met)
    const received = await receiveNotice(parts, caller, 'adversary', this.adversary.signed(body))
    assert.equal(received.kind, 'kept')
    // As at the door: what cannot be worked off now is on disk, and waits for the worker.
    if (received.kind === 'kept' && received.isNew) await processNotice(parts, received.notice).catch(() => {})
  }

  async #forge(which: number): Promise<void> {
    const reference = chosen(this.adversary.references('card'), which)
    const body = Buffer.from(JSON.stringify({ id: 0, reference, says: 'paid' }))
    const headers = { signature: 'of a stranger' }
    const received = await receiveNotice(this.parts('honest'), caller, 'adversary', { body, headers })
    assert.equal(received.kind, 'forged')
  }

  async attempts(id: PaymentId): Promise<Attempt[]> {
    return (await findPaymentStateById(database, id))?.attempts ?? []
  }

  async sendBack(id: PaymentId, met: Fate): Promise<void> {
    await database.rows(sql`update refunds set due_at = now() where payment_id = ${uuidOf(id)} and status = 'pending'`)
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

  /** No notice comes any more, and the provider answers as it should. Only what the schedule still watches is asked for. */
  async settleDown(id: PaymentId): Promise<void> {
    this.adversary.speakUp()
    for (let round = 0; round < 2; round++) {
      for (const attempt of await this.attempts(id)) {
        if (attempt.checks.nextAt) await this.#check(attempt)
      }
    }
    await this.sendBack(id, 'honest')
    await database.rows(sql`update notices set due_at = now() where state = 'waiting'`)
    await processWaitingNotices(this.parts('honest'), 100)
  }
}

function chosen<Item>(items: Item[], which: number): Item | undefined {
  return items[which % (items.length || 1)]
}

test(`${RUNS} random orders of events: one success, money counted once, and the records equal the provider’s`, async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const scene = new Scene()
      const id = await scene.paymentId()
      for (const each of steps) await scene.play(id, each)
      await holds(scene, id)
      await scene.settleDown(id)
      await holds(scene, id)
      await agrees(scene, id)
    }),
    { numRuns: RUNS, examples: SEEN.map((steps) => [steps]) },
  )
})

test('a refund that was never sent is retried every ten seconds; an unanswered one after ten, then sixty seconds', async () => {
  const scene = new Scene()
  const id = await scene.paymentId()
  for (const each of [card, { do: 'charge', which: 0, kind: 'pays' }, hear('honest')] as Step[])
    await scene.play(id, each)
  const waits: (number | undefined)[] = []
  /** The clock runs on while we look: the wait is between that from the start of the step and that from now. */
  const note = async (step: () => Promise<void>) => {
    const startedAt = new Date()
    await step()
    const row = await database.row<{ least: number; most: number }>(sql`
      select extract(epoch from due_at - clock_timestamp())::float8 as least, extract(epoch from due_at - ${startedAt}::timestamptz)::float8 as most
        from refunds where payment_id = ${uuidOf(id)}`)
    const { least, most } = row ?? assert.fail()
    waits.push([10, 60, 600].find((wait) => least <= wait && wait <= most))
  }
  await note(() => scene.play(id, { do: 'refund', amount: 300, fate: 'never sent' }))
  for (const fate of ['never sent', 'never sent', 'silent before', 'silent after', 'silent before'] as const)
    await note(() => scene.sendBack(id, fate))
  assert.deepEqual(waits, [10, 10, 10, 10, 60, 600])
  await scene.settleDown(id)
  await agrees(scene, id)
})

interface EventRow {
  type: string
  sequence: number
  attempt: string | null
}

interface ReceiptRow {
  attempt_id: string
  amount: number
  counted: boolean
}

/** What must hold at any moment, whatever the provider has yet to say. */
async function holds({ adversary }: Scene, id: PaymentId): Promise<void> {
  const state = await findPaymentStateById(database, id)
  assert(state)
  const { payment, attempts } = state
  const events = await database.rows<EventRow>(sql`
    select type, sequence, data->'attempt'->>'reference' as attempt from events
     where payment_id = ${uuidOf(id)} order by sequence`)
  const receipts = await receiptsOf(id)

  const successes = attempts.filter(({ status }) => status === 'successful').length
  assert.equal(successes, payment.status === 'successful' ? 1 : 0, 'INV-2: a successful payment has one success')
  assert.equal(events.filter(({ type }) => type === 'payment.successful').length, successes, 'INV-2: one event for it')

  for (const attempt of attempts) {
    const own = receipts.filter(({ attempt_id }) => attempt_id === uuidOf(attempt.id))
    assert.equal(attempt.amountReceived, sum(own), 'INV-4: an attempt has what its receipts say')
    assert(attempt.amountReceived <= adversary.taken(attempt.orderReference), 'INV-4: no money out of nowhere')
    if (attempt.status === 'successful') assert(attempt.amountReceived >= attempt.amountCharged, 'INV-3: paid in full')
  }
  assert.equal(payment.amountPaid, sum(receipts.filter(({ counted }) => counted)), 'INV-4: amountPaid is what counts')

  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(sequences, [...sequences.keys()].map((index) => index + 1), 'INV-5: no gap in the sequence') // biome-ignore format: one fact, one line
  assert.equal(payment.sequence, events.length, 'INV-6: as many changes as events')
  assert.equal(
    lastOf(events, /^payment\.(successful|cancelled|expired)$/) ?? 'pending',
    payment.status,
    'INV-6: payment',
  )
  for (const { reference, status } of attempts) {
    const own = events.filter(({ attempt }) => attempt === reference)
    const told = lastOf(own, /^attempt\.(?!needs_review)/)
    assert.equal(told === 'started' ? 'processing' : told, status, 'INV-6: an attempt is what its last event says')
  }

  const failed = new Set(events.filter(({ type }) => type === 'attempt.failed').map(({ attempt }) => attempt))
  for (const { reference, orderReference, failure } of attempts.filter((attempt) => failed.has(attempt.reference))) {
    const answers = adversary.answered.get(orderReference) ?? []
    const missing = answers.filter((kind) => kind === 'missing').length
    const isEvidence =
      answers.includes('declined') ||
      answers[0] === 'never sent' ||
      missing >= 2 ||
      (answers.includes('paid') && adversary.taken(orderReference) !== PRICE) ||
      adversary.refunded(orderReference) > 0
    assert(isEvidence, `INV-7: ${reference} failed (${failure?.code}) after nothing but ${answers.join(', ')}`)
  }
}

/** What must hold once the provider has said all: ours is theirs, to the unit. */
async function agrees({ adversary }: Scene, id: PaymentId): Promise<void> {
  const state = await findPaymentStateById(database, id)
  assert(state)
  const { payment, attempts } = state
  const refunds = await database.rows<{ attempt_id: string; amount: number; status: string; counted: boolean }>(sql`
    select attempt_id, amount, status, counted from refunds where payment_id = ${uuidOf(id)}`)
  const receipts = await receiptsOf(id)

  for (const { id: attemptId, orderReference, amountReceived, status } of attempts) {
    assert.equal(amountReceived, adversary.taken(orderReference), 'all that the provider took is on record')
    const own = refunds.filter(({ attempt_id }) => attempt_id === uuidOf(attemptId))
    const done = own.filter((refund) => refund.status === 'successful')
    assert.equal(sum(done), adversary.refunded(orderReference), 'all that the provider gave back is on record')
    if (status === 'processing') {
      assert(!adversary.ledger.has(orderReference), 'INV-7: only what the provider does not know stays unknown')
    }
  }
  assert(refunds.every(({ status }) => status !== 'pending'), 'no refund is left undone') // biome-ignore format: one fact, one line

  const unheard = await database.rows(sql`select id from notices where state = 'waiting'`)
  assert.equal(unheard.length, 0, 'INV-1: every notice that was taken is worked off')

  const isPaid = attempts.some(({ orderReference }) => adversary.taken(orderReference) >= PRICE)
  // Money that went back before the rest came completes nothing; after a success it changes nothing.
  const isHeld = attempts.some(
    ({ orderReference, amountReturned }) => adversary.taken(orderReference) - amountReturned >= PRICE,
  )
  if (isHeld) assert.equal(payment.status, 'successful', 'paid is successful')
  if (payment.status === 'successful') assert(isPaid, 'and nothing else is')
  if (payment.status === 'successful') {
    const surplus = refunds.filter(({ counted, status }) => !counted && status !== 'failed')
    const refused = refunds.filter(({ counted, status }) => !counted && status === 'failed')
    const beyond = receipts.filter(({ counted }) => !counted)
    assert.equal(sum(surplus) + sum(refused), sum(beyond), 'what is beyond the payment is sent back')
  }
}

function receiptsOf(id: PaymentId): Promise<ReceiptRow[]> {
  return database.rows(sql`select attempt_id, amount, counted from receipts where payment_id = ${uuidOf(id)}`)
}

function lastOf(events: EventRow[], type: RegExp): string | undefined {
  return events.findLast((event) => type.test(event.type))?.type.split('.')[1]
}

function sum(rows: { amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}
