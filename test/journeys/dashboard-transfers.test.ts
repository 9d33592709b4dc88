import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { countOpenCases } from '../../src/payments/store/open-cases.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { listUnmatchedReceipts } from '../../src/payments/store/receipts.ts'
import { openCases, openCasesOfMoney } from '../support/cases.ts'
import { browserAs } from '../support/dashboard.ts'
import { AMOUNT, atTransfers } from '../support/dashboard-transfers.ts'
import { eventually, startPaying } from '../support/paying.ts'
import {
  assertAudited,
  type Json,
  letPass,
  madeUpRecord,
  noticeAbout,
  notify,
  paidTransaction,
  recordsOf,
} from '../support/payment-records.ts'
import { lastRefundFails } from '../support/returns.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts } = service
const shop = await service.addShop()
const { merchantId } = shop
const { base, owner, support, open, openOf, openMoney, unmatchedMoney, act, begin, pay } = await atTransfers(
  service,
  shop,
)

/** Money that a notice reports, and that the provider knows nothing of. */
async function madeUpMoney(amount: number): Promise<Json> {
  const transaction = paidTransaction({ kind: 'transfer', amount })
  const record = madeUpRecord({ channel: 'transfer', requested: amount, amount, transactions: [transaction] })
  assert.equal((await notify(service, shop, noticeAbout(record, 'transfer.received'))).status, 200)
  return openMoney(transaction.id)
}

test('unmatched money is matched with a payment, which it pays by the normal path, once', async () => {
  const { payment } = await begin('match-1')
  const money = await unmatchedMoney(AMOUNT)
  assert.deepEqual([money.kind, money.amount, money.payment, money.provider], ['unmatched', AMOUNT, null, 'gateway'])
  const wrong = await owner.call('POST', `${base}/transfers/${money.id}/match`, { amount: 1, payment: 'match-1' })
  assert.equal(wrong.status, 409, 'the amount is not the one that was seen')
  const { status, body } = await act(owner, money, 'match', { payment: 'match-1', note: 'wrong account number' })
  assert.deepEqual([status, body.data.state, body.data.paymentStatus], [200, 'matched', 'successful'])
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(-2), ['attempt.successful', 'payment.successful'])
  assert.deepEqual(receipts, [{ attempt: 1, amount: AMOUNT, currency: 'NGN', counted: true }])
  assert.equal(await openOf('match-1'), undefined)
  assert.equal((await act(owner, money, 'note', { note: 'again' })).status, 409)
  assert.equal((await act(owner, money, 'match', { payment: 'match-1' })).status, 409)

  const [handled] = (await owner.call('GET', `${base}/transfers/handled`)).body.data
  assert.deepEqual(
    [handled.kind, handled.act, handled.paymentReference, handled.note, handled.amount, /^Member /.test(handled.by)],
    ['unmatched', 'matched', 'match-1', 'wrong account number', AMOUNT, true],
  )
  const [act1] = await database.rows(sql`
    select act, subject from audit_log where merchant_id = ${shop.merchantUuid} order by id desc limit 1`)
  assert.deepEqual(act1, { act: 'transfer.matched', subject: `${money.id} with ${payment.id}` })
  await assertAudited(database)
})

test('money is matched with a payment that has ended or was never started: in part, then in full and late', async () => {
  const { body } = await shop.call('POST', '/payments/v1/checkouts', {
    ...{ amount: AMOUNT, country: 'NG', reference: 'match-2', user: { email: 'ada@example.com' } },
  })
  await shop.call('POST', '/payments/v1/payments/match-2/cancel')
  const [part, rest] = [await unmatchedMoney(4_000), await unmatchedMoney(6_000)]
  assert.equal((await act(owner, part, 'match', { payment: body.data.id })).body.data.paymentStatus, 'cancelled')
  const underpaid = await openOf('match-2')
  assert.deepEqual([underpaid.kind, underpaid.amount, underpaid.due], ['underpaid', 4_000, AMOUNT])
  assert.equal((await act(owner, rest, 'match', { payment: 'match-2' })).body.data.paymentStatus, 'successful')
  const payment = await shop.payment('match-2')
  assert.deepEqual([payment.late, payment.amountPaid, payment.attempts.length], [true, AMOUNT, 1])
  const late = await openOf('match-2')
  assert.deepEqual([late.kind, late.amount, late.id], ['late', AMOUNT, payment.id])
  assert.equal((await act(owner, late, 'note', { note: 'Delivered all the same.' })).status, 200)
  assert.equal(await openOf('match-2'), undefined)
  await assertAudited(database)
})

test('money is matched only if the provider confirms it: a notice alone pays nothing', async () => {
  await begin('match-4')
  const madeUp = await madeUpMoney(AMOUNT)
  const refused = await act(owner, madeUp, 'match', { payment: 'match-4' })
  assert.deepEqual([refused.status, /does not know the transaction/.test(refused.body.detail)], [409, true])

  const real = await unmatchedMoney(AMOUNT)
  await database.rows(sql`update receipts set amount = ${2 * AMOUNT} where transaction_id = ${real.transactionId}`)
  const doubled = await act(owner, { ...real, amount: 2 * AMOUNT }, 'match', { payment: 'match-4' })
  assert.deepEqual([doubled.status, /has ₦100.00 for this transaction/.test(doubled.body.detail)], [409, true])
  await database.rows(sql`update receipts set amount = ${AMOUNT} where transaction_id = ${real.transactionId}`)

  await shop.call('PUT', '/sandbox/gateway/faults', { serverError: 1 })
  const silent = await act(owner, real, 'match', { payment: 'match-4' })
  assert.deepEqual([silent.status, silent.body.code], [504, 'provider_timeout'])
  await shop.call('PUT', '/sandbox/gateway/faults', {})
  assert.deepEqual((await shop.payment('match-4')).status, 'pending')
  assert.equal((await act(owner, real, 'match', { payment: 'match-4' })).body.data.paymentStatus, 'successful')
  assert.equal((await act(owner, madeUp, 'note', { note: 'The provider knows nothing of it.' })).status, 200)
})

test('money in another currency, and money for a paid payment, are not matched', async () => {
  const money = await unmatchedMoney(700)
  assert.match((await act(owner, money, 'match', { payment: 'match-1' })).body.detail, /is paid already/)
  await begin('match-3')
  await database.rows(sql`update receipts set currency = 'GHS' where transaction_id = ${money.transactionId}`)
  assert.match((await act(owner, money, 'match', { payment: 'match-3' })).body.detail, /in GHS, the payment in NGN/)
  assert.equal((await act(owner, money, 'return', { byHand: false, note: 'x' })).status, 409, 'no order to refund')
  assert.equal((await act(owner, money, 'return', { byHand: true, note: 'Sent back by bank.' })).status, 200)
  assert.ok(!(await open()).some(({ id }) => id === money.id))
  await database.rows(sql`update receipts set currency = 'NGN' where transaction_id = ${money.transactionId}`)
})

test('two people at once make one result', async () => {
  await Promise.all([begin('race-1'), begin('race-2')])
  const money = await unmatchedMoney(AMOUNT)
  const answers = await Promise.all([
    act(owner, money, 'match', { payment: 'race-1' }),
    act(support, money, 'match', { payment: 'race-2' }),
    act(owner, money, 'note', { note: 'mine' }),
    act(support, money, 'return', { byHand: true, note: 'by bank' }),
  ])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409])

  const { accountNumber } = await begin('race-3')
  await pay('race-3', accountNumber, AMOUNT + 500, isPaid)
  const overpaid = await openOf('race-3')
  const returns = await Promise.all(
    [owner, support, owner, support].map((each) => act(each, overpaid, 'return', { byHand: false, note: 'too much' })),
  )
  assert.deepEqual(returns.map(({ status }) => status).sort(), [200, 409, 409, 409])
  assert.deepEqual((await recordsOf(database, await shop.payment('race-3'))).refunds, [
    { amount: 500, kind: 'merchant', status: 'successful' },
  ])
  await assertAudited(database)
})

test('overpaid and underpaid money goes back through the provider', async () => {
  const over = await begin('over-1')
  await pay('over-1', over.accountNumber, AMOUNT + 300, isPaid)
  const overpaid = await openOf('over-1')
  assert.deepEqual([overpaid.kind, overpaid.amount, overpaid.received], ['overpaid', 300, AMOUNT + 300])
  assert.equal((await act(owner, overpaid, 'return', { byHand: false, note: 'too much' })).body.data.state, 'returned')
  assert.equal((await shop.payment('over-1')).amountRefunded, 300)

  const under = await begin('under-1')
  await pay('under-1', under.accountNumber, 2_500, ({ amountPaid }) => amountPaid === 2_500)
  const underpaid = await openOf('under-1')
  const early = await act(owner, underpaid, 'return', { byHand: false, note: 'gone' })
  assert.deepEqual([early.status, early.body.code], [409, 'payment_not_completed'])
  await shop.call('POST', '/payments/v1/payments/under-1/cancel')
  assert.equal((await act(owner, underpaid, 'return', { byHand: false, note: 'gone' })).body.data.state, 'returned')
  assert.equal(await openOf('under-1'), undefined)
  await assertAudited(database)
})

test('money that was returned by hand cannot be refunded as well', async () => {
  const { accountNumber } = await begin('hand-1')
  await pay('hand-1', accountNumber, AMOUNT + 400, isPaid)
  const overpaid = await openOf('hand-1')
  assert.equal((await act(owner, overpaid, 'return', { byHand: true })).status, 400, 'a note says how')
  assert.equal((await act(owner, overpaid, 'return', { byHand: true, note: 'In cash.' })).status, 200)
  assert.equal(await openOf('hand-1'), undefined)
  const path = '/payments/v1/payments/hand-1/refunds'
  assert.equal((await shop.call('POST', path, { amount: AMOUNT + 1 })).body.code, 'refund_exceeds_payment')
  assert.equal((await shop.call('POST', path, { amount: AMOUNT })).status, 201)
  await assertAudited(database)
})

test('money that was returned by hand does not pay, and is not refunded when another attempt pays', async () => {
  const { payment, accountNumber } = await begin('hand-2')
  await pay('hand-2', accountNumber, 4_000, ({ amountPaid }) => amountPaid === 4_000)
  assert.equal((await act(owner, await openOf('hand-2'), 'return', { byHand: true, note: 'In cash.' })).status, 200)
  const { status, amountRefunded } = await pay('hand-2', accountNumber, 6_000, (each) => each.amountPaid === AMOUNT)
  assert.deepEqual([status, amountRefunded], ['pending', 4_000])
  const card = await begin('hand-2', { provider: 'gateway' })
  await charge(shop, card.order)
  await eventually(() => shop.payment('hand-2'), isPaid)
  const refunds = (await recordsOf(database, payment)).refunds.map(({ amount, kind }) => `${amount} ${kind}`)
  assert.deepEqual(refunds.sort(), ['4000 provider', '6000 surplus'])
  await assertAudited(database)
})

test('unmatched money that was returned by hand does not pay when the provider names its order later', async () => {
  const { payment } = await begin('hand-4')
  const money = await madeUpMoney(AMOUNT)
  assert.equal((await act(owner, money, 'return', { byHand: true, note: 'By bank.' })).status, 200)
  const [attempt] = (await findPaymentStateById(database, payment.id))?.attempts ?? []
  const receipt = {
    transactionId: money.transactionId,
    amount: { amount: AMOUNT, currency: 'NGN' as Currency },
    at: new Date(),
  }
  const outcome = { kind: 'paid' as const, receipts: [receipt] }
  await settleAttempt(parts, attempt ?? assert.fail(), { source: 'check', outcome })
  const { status, attempts } = await shop.payment('hand-4')
  assert.deepEqual([status, attempts[0].failure.code], ['pending', 'reversed'])
  await assertAudited(database)
})

test('a return by hand in the provider’s dashboard is one refund', async () => {
  const { payment, accountNumber, order } = await begin('hand-3')
  await pay('hand-3', accountNumber, AMOUNT + 400, isPaid)
  assert.equal((await act(owner, await openOf('hand-3'), 'return', { byHand: true, note: 'At theirs.' })).status, 200)
  await shop.call('POST', '/sandbox/gateway/refunds', { reference: order, amount: 400 })
  const named = () =>
    database.rows<{ amount: number; named: boolean }>(sql`
    select amount, provider_refund_id is not null as named from refunds where payment_id = ${uuidOf(payment.id as PaymentId)}`)
  assert.deepEqual(await eventually(named, (all) => all.some((each) => each.named)), [{ amount: 400, named: true }])
  await assertAudited(database)
})

test('a surplus whose refund failed is on the list, and is sent back again', async () => {
  const { payment, accountNumber } = await begin('surplus-1')
  const card = await begin('surplus-1', { provider: 'gateway' })
  await charge(shop, card.order)
  await eventually(() => shop.payment('surplus-1'), isPaid)
  await pay('surplus-1', accountNumber, AMOUNT, ({ attempts }) => attempts[0].status === 'surplus')
  assert.equal(await openOf('surplus-1'), undefined, 'its refund is under way')
  await lastRefundFails(parts, payment)
  const surplus = await openOf('surplus-1')
  assert.deepEqual([surplus.kind, surplus.amount, surplus.failure], ['surplus', AMOUNT, 'account closed'])
  assert.equal((await act(owner, surplus, 'return', { byHand: false, note: 'try again' })).body.data.state, 'returned')
  const { amountPaid, amountRefunded } = await shop.payment('surplus-1')
  assert.deepEqual([amountPaid, amountRefunded, await openOf('surplus-1')], [AMOUNT, 0, undefined])
  await assertAudited(database)
})

test('a note closes a line until more money comes', async () => {
  const { payment, accountNumber } = await begin('note-1')
  await pay('note-1', accountNumber, 1_000, ({ amountPaid }) => amountPaid === 1_000)
  await letPass(database, payment, 90_000)
  await expirePayments(parts, 10)
  assert.equal((await act(support, await openOf('note-1'), 'note', { note: 'The customer calls back.' })).status, 200)
  assert.equal(await openOf('note-1'), undefined)
  const more = await unmatchedMoney(200)
  assert.equal((await act(owner, more, 'match', { payment: 'note-1' })).status, 200)
  assert.equal((await openOf('note-1')).amount, 1_200)
})

test('every line is on one page; roles and the limit of support are respected', async () => {
  const { accountNumber } = await begin('page-1')
  await pay('page-1', accountNumber, 100, ({ amountPaid }) => amountPaid === 100)
  await shop.call('POST', '/payments/v1/payments/page-1/cancel')
  // The older of two late payments was paid after the newer one.
  const [older, newer] = [await begin('page-2'), await begin('page-3')]
  for (const { payment, accountNumber: number } of [newer, older]) {
    await shop.call('POST', `/payments/v1/payments/${payment.reference}/cancel`)
    await pay(payment.reference, number, AMOUNT, isPaid)
  }
  await unmatchedMoney(50)
  const all = (await open()).map(({ id }) => id)
  const paged: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await owner.call('GET', `${base}/transfers?limit=1${cursor && `&cursor=${cursor}`}`)
    paged.push(...body.data.map(({ id }: Json) => id))
    cursor = body.nextCursor
  }
  assert.equal((await owner.call('GET', `${base}/transfers?cursor=1.${'-'.repeat(36)}.${'-'.repeat(36)}`)).status, 400)
  assert.ok(all.length >= 4)
  assert.deepEqual([...paged].sort(), [...all].sort())
  const money = await unmatchedMoney(6_000_000)
  for (const [how, body] of [
    ['match', { payment: 'race-1' }],
    ['return', { byHand: true, note: 'x' }],
  ] as const)
    assert.equal((await act(support, money, how, body)).status, 403, how)
  // Several small returns of one payment at once do not get around the limit.
  await database.rows(sql`update merchants set refund_limit = 1000 where id = ${shop.merchantUuid}`)
  const limited = await begin('limit-1')
  await pay('limit-1', limited.accountNumber, AMOUNT + 600, isPaid)
  const overpaid = await openOf('limit-1')
  const returns = await Promise.all([
    act(support, overpaid, 'return', { byHand: true, note: 'by bank' }),
    support.call('POST', `${base}/payments/limit-1/refunds`, { amount: 500 }),
  ])
  assert.equal(returns.filter(({ status }) => status < 300).length, 1)
  await database.rows(sql`update merchants set refund_limit = 5000000 where id = ${shop.merchantUuid}`)
  const viewer = await browserAs(service, 'viewer', merchantId)
  assert.equal((await act(viewer, money, 'note', { note: 'x' })).status, 403)
  assert.equal((await act(support, money, 'note', { note: '<b>x</b>' })).status, 200, 'a note moves no money')
})

test('a payment that needs a review is marked as reviewed, with a note, once', async () => {
  const { payment } = await begin('review-1')
  const path = `${base}/payments/${payment.id}`
  assert.equal((await owner.call('POST', `${path}/review`, { note: 'nothing to do' })).status, 409)
  await openCases(database, ['review-1'], 'unanswered: why')
  const both = await Promise.all(
    [owner, support].map((each) => each.call('POST', `${path}/review`, { note: 'Asked the bank: nothing was paid.' })),
  )
  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 409])
  assert.equal((await shop.payment('review-1')).attempts[0].needsReview, null)
  const list = (await owner.call('GET', `${base}/payments?needsReview=true`)).body.data
  assert.ok(!list.some(({ reference }: Json) => reference === 'review-1'))
  const [review] = (await owner.call('GET', `${path}/reviews`)).body.data
  assert.deepEqual([review.act, review.note], ['reviewed', 'Asked the bank: nothing was paid.'])
  const { eventTypes } = await recordsOf(database, payment)
  assert.equal(eventTypes.at(-1), 'attempt.reviewed')
  await assertAudited(database)
})

test('the operator sees the money that is open in each mode, and none that was handled', async () => {
  for (const amount of [1_100, 1_200]) await unmatchedMoney(amount)
  const ids = (await open()).filter(({ kind }: Json) => kind === 'unmatched').map(({ id }) => id)
  assert.ok(ids.length > 1)
  assert.deepEqual((await listUnmatchedReceipts(database, 200)).map(({ id }) => id).toSorted(), ids.toSorted())
  await database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, transaction_id, amount, currency, counted, taken_at)
    values (${shop.place}, ${shop.merchantUuid}, 'live', 'gateway', 'live-1', 100, 'NGN', false, now())`)
  await openCasesOfMoney(database)
  const { sandbox, live } = await countOpenCases(database, 1)
  assert.deepEqual([sandbox.unmatchedMoney, live.unmatchedMoney], [1, 1])
  await database.rows(sql`delete from receipts where place = ${shop.place} and transaction_id = 'live-1'`)
})
