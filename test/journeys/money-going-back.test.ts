import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentId } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { FIRST_PAGE, listTransfers } from '../../src/payments/store/transfers.ts'
import { closeTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { type Between, startBetween } from '../support/between.ts'
import { startPaying } from '../support/paying.ts'
import { type Json, letPass, paidTransaction, recordAt, recordsOf } from '../support/payment-records.ts'
import { reconcile } from '../support/reconciling.ts'
import { atProvider, refund } from '../support/returns.ts'
import { AMOUNT, charge, isPaid, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

// Refunds and returns: what went back is on record, and what should not stay has a case.

const service = await startPaying()
const { database } = service

async function check({ parts }: Between, { id }: { id: string }): Promise<void> {
  await makeChecksDue(database, id as PaymentId)
  await checkDueAttempts(parts, 100)
}

async function paidByCard(between: Between) {
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await check(between, payment)
  assert.ok(isPaid(await between.shop.payment(payment.id)))
  return { payment, order }
}

const casesOf = async ({ shop }: Between, { id }: { id: string }): Promise<Json[]> =>
  (await shop.call('GET', `/payments/v1/cases?payment=${id}&status=open`)).body.data

const reasonsOf = async (between: Between, payment: { id: string }) =>
  (await casesOf(between, payment)).map(({ reason }) => reason).sort()

async function stateOf({ id }: { id: string }) {
  return (await findPaymentStateById(database, id as PaymentId)) ?? assert.fail()
}

/** The lines of money that does not add up. */
const transfersOf = async (payment: { id: string }) =>
  (await listTransfers(database, (await stateOf(payment)).payment, FIRST_PAGE, 10)).transfers

/** One link was charged twice, and the refund of the second charge failed. */
async function heldSurplus(between: Between) {
  const { shop, upstream } = between
  const { payment, order } = await paidByCard(between)
  const record = await recordAt(service, shop, order)
  const transactions = [...record.transactions, paidTransaction({ amount: AMOUNT })]
  const twice = { status: 200, text: JSON.stringify({ data: { ...record, amount: 2 * AMOUNT, transactions } }) }
  upstream.garble = () => twice
  await check(between, payment)
  // The second charge is not named again.
  upstream.garble = () => ({ status: 200, text: JSON.stringify({ data: record }) })
  await letPass(database, payment, 61)
  await sendDueRefunds(between.parts, 100)
  upstream.garble = undefined
  return { payment, order }
}

test('J14: surplus stays a case when the merchant refunds what was due', async (t) => {
  const between = await startBetween(t, service)
  const { payment } = await heldSurplus(between)
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'failed' },
  ])
  const acts = (await casesOf(between, payment)).map(({ reason, suggestions }: Json) => [reason, suggestions])
  assert.deepEqual(acts.sort(), [
    ['refund_failed', ['return', 'close']],
    ['surplus', ['refund', 'close']],
  ])
  const line = { kind: 'overpaid', amount: AMOUNT, received: 2 * AMOUNT }
  assert.partialDeepStrictEqual(await transfersOf(payment), [line])
  const made = await refund(between.shop, payment.id)
  assert.deepEqual([made.status, made.body.data.amount, made.body.data.kind], [201, AMOUNT, 'merchant'])
  const { attempts, amountRefunded } = await between.shop.payment(payment.id)
  assert.deepEqual([attempts[0].amountReceived, amountRefunded], [2 * AMOUNT, AMOUNT], 'half of it is still there')
  assert.ok((await reasonsOf(between, payment)).includes('surplus'))
  assert.partialDeepStrictEqual(await transfersOf(payment), [line])
})

/** A transfer of 1000 too much, which a person has returned in cash. `before`: what happened until then. */
async function returnedByHand(between: Between, before: (order: string) => Promise<unknown>) {
  const { shop, parts } = between
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT + 1_000)
  await check(between, payment)
  await before(order)
  const state = await stateOf(payment)
  const by = { scope: state.payment, actor: 'test', note: 'In cash.' }
  const { id } = state.attempts[0] ?? assert.fail()
  await closeTransfer(parts, by, { kind: 'attempt', id, paymentId: state.payment.id }, 'returned_by_hand', 1_000)
  return { payment, order }
}

const goneOf = async (payment: { id: string }) =>
  (await recordsOf(database, payment)).refunds.map(({ amount, kind }: Json) => [kind, amount])

test('J15: a return by hand is not a refund of another amount that was made at the provider', async (t) => {
  const between = await startBetween(t, service)
  const { shop, parts } = between
  const { payment } = await returnedByHand(between, (order) =>
    atProvider(shop, '/refunds', { reference: order, amount: 400 }),
  )
  await reconcile(parts, shop, '48 hours')
  assert.deepEqual(await goneOf(payment), [
    ['provider', 1_000],
    ['provider', 400],
  ])
  for (const window of ['8 days', '180 days'] as const) await reconcile(parts, shop, window)
  assert.deepEqual(await reasonsOf(between, payment), [])
})

test('a return by hand is not the money of a lost dispute', async (t) => {
  const between = await startBetween(t, service)
  const { shop, parts } = between
  const { payment } = await returnedByHand(between, async (order) => {
    const { id } = await atProvider(shop, '/disputes', { reference: order, amount: 1_000 })
    await atProvider(shop, `/disputes/${id}/close`, { outcome: 'lost' }, 200)
  })
  await reconcile(parts, shop, '48 hours')
  assert.deepEqual(await goneOf(payment), [
    ['provider', 1_000],
    ['chargeback', 1_000],
  ])
})
