import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { cancelPayment } from '../../src/payments/settle/cancel-payment.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { Adversary, type ChargeKind } from '../support/adversary.ts'
import { adversaryShop } from '../support/adversary-shop.ts'
import { startById } from '../support/by-id.ts'
import { createDatabase } from '../support/database.ts'
import { assertAudited } from '../support/payment-records.ts'

const PRICE = 1_000
const { database } = await createDatabase()
const adversary = new Adversary(() => new Date())
const { parts, newPayment } = await adversaryShop(database, adversary)

async function start() {
  const id = await newPayment(PRICE)
  const { attempt } = await startById(parts(), id, { capabilities: adversary.capabilities, channel: 'card' })
  return { id, attempt }
}

/**
 * The customer pays at the provider, no notice arrives, and our own check asks. Twice, to see that the second changes
 * nothing.
 */
async function payAndCheck({ attempt }: Awaited<ReturnType<typeof start>>, kind: ChargeKind) {
  adversary.charge(attempt.orderReference, kind)
  const state = await checkAttempt(parts(), attempt, { source: 'check' })
  const now = state.attempts[0] ?? assert.fail()
  await checkAttempt(parts(), now, { source: 'check' })
}

async function recordsOf(id: PaymentId) {
  const state = (await findPaymentStateById(database, id)) ?? assert.fail()
  const events = await database.rows<{ type: string }>(sql`
    select type from events where payment_id = ${uuidOf(id)} and type not like 'case.%' order by sequence`)
  const refunds = await database.rows<Record<string, unknown>>(sql`
    select kind, status, amount, counted, provider_refund_id, cardinality(transaction_ids) as transactions
      from refunds where payment_id = ${uuidOf(id)}`)
  const receipts = await database.rows<Record<string, unknown>>(sql`
    select amount, counted, returned from receipts where payment_id = ${uuidOf(id)}`)
  return { ...state, types: events.map(({ type }) => type), refunds: refunds.map(plain), receipts: receipts.map(plain) }
}

const plain = (row: Record<string, unknown>): Record<string, unknown> => ({ ...row })

test('a cancelled payment whose money was reversed before we saw it stays cancelled, and both movements are recorded', async () => {
  const started = await start()
  await cancelPayment(parts(), started.id)
  await payAndCheck(started, 'reversed')
  const { payment, attempts, types, refunds, receipts } = await recordsOf(started.id)
  assert.deepEqual(
    [payment.status, payment.late, payment.amountPaid, payment.amountRefunded],
    ['cancelled', false, 0, 0],
  )
  assert.deepEqual(
    attempts.map(({ status, amountReceived, amountReturned }) => [status, amountReceived, amountReturned]),
    [['abandoned', PRICE, PRICE]],
  )
  assert.equal(types.includes('payment.successful'), false)
  const row = { kind: 'provider', status: 'successful', amount: PRICE, counted: false, provider_refund_id: null }
  assert.deepEqual(refunds, [{ ...row, transactions: 1 }])
  assert.deepEqual(receipts, [{ amount: PRICE, counted: false, returned: PRICE }])
  await assertAudited(database, started)
})

test('an open attempt whose money was reversed before we saw it fails with code reversed', async () => {
  const started = await start()
  await payAndCheck(started, 'reversed')
  const { payment, attempts, types } = await recordsOf(started.id)
  assert.deepEqual([payment.status, payment.amountPaid], ['pending', 0])
  assert.deepEqual([attempts[0]?.status, attempts[0]?.failure?.code], ['failed', 'reversed'])
  assert.deepEqual(types, ['attempt.started', 'attempt.pending', 'attempt.failed'])
  await assertAudited(database, started)
})

test('an attempt of whose money a part was returned before we saw it needs review', async () => {
  const started = await start()
  await payAndCheck(started, 'partly returned')
  const { payment, cases, types, refunds } = await recordsOf(started.id)
  assert.deepEqual([payment.status, payment.amountPaid, payment.amountRefunded], ['pending', PRICE, 300])
  assert.match(cases[0]?.summary ?? '', /₦3.00 was given back/)
  assert.deepEqual(types.slice(2), ['attempt.failed', 'attempt.needs_review'])
  assert.equal(refunds[0]?.counted, true)
  await assertAudited(database, started)
})
