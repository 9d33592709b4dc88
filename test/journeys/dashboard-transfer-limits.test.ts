import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import type { AttemptId, PaymentId } from '../../src/kernel/ids.ts'
import { closeTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import { AMOUNT, atTransfers } from '../support/dashboard-transfers.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { assertAudited } from '../support/payment-records.ts'
import { lastRefundFails } from '../support/returns.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'

const alerts: { msg: string; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database, parts } = service
const shop = await service.addShop()
const { merchantId } = shop
const { base, owner, support, openOf, unmatchedMoney, act, begin, pay } = await atTransfers(service, shop)

async function withLimit(limit: number, work: () => Promise<void>): Promise<void> {
  const set = (to: number) =>
    database.rows(sql`update merchants set refund_limit = ${to} where id = ${shop.merchantUuid}`)
  await set(limit)
  await work()
  await set(5_000_000)
}

test('returns of surplus by members add up against the limit of support, automatic ones do not', async () => {
  const { payment, accountNumber } = await begin('surplus-2')
  const card = await begin('surplus-2', { provider: 'gateway' })
  await charge(shop, card.order)
  await eventually(() => shop.payment('surplus-2'), isPaid)
  const surplusComes = (times: number) =>
    pay('surplus-2', accountNumber, AMOUNT, ({ attempts }) => attempts[0].amountReceived === times * AMOUNT)
  const returnIt = async () => act(support, await openOf('surplus-2'), 'return', { byHand: false, note: 'try again' })
  await withLimit(AMOUNT + 5_000, async () => {
    await surplusComes(1) // goes back by itself
    await surplusComes(2)
    await lastRefundFails(parts, payment)
    assert.equal((await returnIt()).status, 200)
    await surplusComes(3)
    await lastRefundFails(parts, payment)
    assert.equal((await returnIt()).status, 403)
    const { status } = await support.call('POST', `${base}/payments/surplus-2/refunds`, { amount: AMOUNT })
    assert.equal(status, 403, 'a refund of the payment, too')
  })
  assert.equal((await returnIt()).status, 200)
  await assertAudited(database)
})

test('the limit of support is for what is left of unmatched money', async () => {
  await begin('left-1')
  const money = await unmatchedMoney(6_000)
  await database.rows(sql`update receipts set returned = 5_500 where transaction_id = ${money.transactionId}`)
  const left = { ...money, amount: 500 }
  const match = () => act(support, left, 'match', { payment: 'left-1' })
  const returnByHand = () => act(support, left, 'return', { byHand: true, note: 'x' })
  await withLimit(499, async () => {
    assert.deepEqual([(await match()).status, (await returnByHand()).status], [403, 403])
  })
  await withLimit(500, async () => {
    assert.match((await match()).body.detail, /has given back less/, 'the limit allows it, the provider does not')
    assert.equal((await returnByHand()).status, 200)
  })
})

test('a match that needs a review is logged for the operator', async () => {
  const { attempt } = await begin('alert-1', { provider: 'gateway' })
  const money = await unmatchedMoney(4_000)
  assert.equal((await act(owner, money, 'match', { payment: 'alert-1' })).status, 200)
  assert.match((await shop.payment('alert-1')).attempts[0].needsReview, /^amount_mismatch: /)
  assert.ok(alerts.some(({ msg, attemptId }) => msg === 'attempt needs review' && attemptId === attempt.id))
})

test('an attempt that the payment does not have is refused, not read as its late money', async () => {
  const [{ payment, accountNumber }, other] = [await begin('late-1'), await begin('late-2')]
  await shop.call('POST', '/payments/v1/payments/late-1/cancel')
  await pay('late-1', accountNumber, AMOUNT, isPaid)
  const name = { kind: 'attempt', id: other.attempt.id as AttemptId, paymentId: payment.id as PaymentId } as const
  const by = { scope: { place: shop.place, merchantId, mode: 'sandbox' as const }, actor: 'cli:test', note: 'x' }
  await assert.rejects(closeTransfer(parts, by, name, 'noted', AMOUNT), { code: 'not_found' })
  assert.equal((await openOf('late-1')).amount, AMOUNT)
})
