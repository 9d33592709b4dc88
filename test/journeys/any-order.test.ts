import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import type { Fate } from '../support/adversary.ts'
import { createDatabase } from '../support/database.ts'
import { assertAudited } from '../support/payment-records.ts'

import { PRICE, Scene, type Step, story } from '../support/random-history.ts'

// RUNS=200 and more for a longer look.
const RUNS = Number(process.env.RUNS ?? 20)

const { database } = await createDatabase()

const card = { do: 'start', channel: 'card', fate: 'honest' } as const
const hear = (fate: Fate) => ({ do: 'hear', which: 0, times: 1, fate }) as const

/** Stories that once ended badly, told again in every run. */
const SEEN: Step[][] = [
  // A notice says "paid" after a check has found the wrong amount: the attempt went back to `processing`, and stayed
  // there.
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
  // A part of a transfer had gone back before it was seen, and a notice of another refund had all returns listed: it
  // counted twice.
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

test(`${RUNS} random orders of events: one success, money counted once, and the records equal the provider’s`, async () => {
  await fc.assert(
    fc.asyncProperty(story, async (steps) => {
      const scene = await Scene.open(database)
      const id = await scene.paymentId()
      for (const each of steps) await scene.play(id, each)
      await holds(scene, id)
      await assertAudited(database, { id }, scene.now())
      await scene.settleDown(id)
      await holds(scene, id)
      await assertAudited(database, { id }, scene.now())
      await agrees(scene, id)
    }),
    { numRuns: RUNS, examples: SEEN.map((steps) => [steps]) },
  )
})

test('a refund that was never sent is retried every ten seconds; an unanswered one after ten, then sixty seconds', async () => {
  const scene = await Scene.open(database)
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
