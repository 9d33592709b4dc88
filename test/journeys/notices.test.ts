import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { sql } from '../../src/database/sql.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { listUnmatched } from '../../src/payments/store/notices.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { signNotice } from '../../src/providers/gateway/simulator/notices.ts'
import { startBetween } from '../support/between.ts'
import { eventually, startPaying } from '../support/paying.ts'
import {
  letPass,
  madeUpRecord,
  noticeAbout,
  noticesAbout,
  notify,
  paidTransaction,
  recordAt,
  recordsOf,
  workedOff,
} from '../support/payment-records.ts'
import { AMOUNT, becomes, charge, isPaid, loseNotices, start } from '../support/sandbox-payments.ts'

const alerts: { msg: string; noticeId?: number; attemptId?: string }[] = []
const log = pino({ level: 'error' }, { write: (line) => void alerts.push(JSON.parse(line)) })
const service = await startPaying({ log })
const { database, parts } = service

/** A shop that hears nothing by itself: each notice is a test's own. */
async function quietShop() {
  const shop = await service.addShop()
  await loseNotices(shop)
  return shop
}

const statusesOf = (answers: { status: number }[]) => [...new Set(answers.map(({ status }) => status))]

test('B1: the same notice a hundred times at once: 2xx each time, one transition, one event', async () => {
  const shop = await quietShop()
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const notice = noticeAbout(await recordAt(service, shop, order), 'payment.paid')
  const answers = await Promise.all(Array.from({ length: 100 }, () => notify(service, shop, notice)))
  assert.deepEqual(statusesOf(answers), [200])
  const paid = await becomes(shop, payment, isPaid)
  assert.equal(paid.amountPaid, AMOUNT)
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.pending', 'attempt.successful', 'payment.successful'])
  assert.equal(receipts.length, 1)
  const [kept, ...more] = await workedOff(database, order, 1)
  assert.deepEqual([kept?.state, kept?.times, more], ['done', 100, []])
})

test('B1: a hundred notices about the same change at once: 2xx each time, one transition, one event', async () => {
  const shop = await quietShop()
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const record = await recordAt(service, shop, order)
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => notify(service, shop, noticeAbout(record, 'payment.paid'))),
  )
  assert.deepEqual(statusesOf(answers), [200])
  await becomes(shop, payment, isPaid)
  // Whoever found no connection free leaves its notice to the clock.
  const notices = await eventually(
    async () => {
      await database.rows(sql`update notices set due_at = now() where state = 'waiting' and reference = ${order}`)
      await processWaitingNotices(parts, 100)
      return noticesAbout(database, order)
    },
    (all) => all.length === 100 && all.every(({ state }) => state !== 'waiting'),
  )
  const byState = Map.groupBy(notices, ({ state }) => state)
  assert.deepEqual([byState.get('done')?.length, byState.get('ignored')?.length], [1, 99])
  const { eventTypes, receipts } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), ['attempt.successful', 'payment.successful'])
  assert.equal(receipts.length, 1)
})

test('B2: after a success, stale notices of "pending" or "failed" change nothing and are stored as ignored with the reason', async () => {
  const shop = await quietShop()
  const { payment, order } = await start(shop)
  const old = await recordAt(service, shop, order)
  await charge(shop, order)
  await notify(service, shop, noticeAbout(await recordAt(service, shop, order), 'payment.paid'))
  await becomes(shop, payment, isPaid)
  const before = await recordsOf(database, payment)

  const declined = { ...paidTransaction({ amount: AMOUNT }), status: 'failed', failure: { code: 'card_declined' } }
  for (const [type, record] of [
    ['payment.processing', { ...old, status: 'processing' }],
    ['payment.failed', { ...old, status: 'failed', transactions: [declined] }],
  ] as const) {
    assert.equal((await notify(service, shop, noticeAbout(record, type))).status, 200)
  }
  const [first, ...late] = await workedOff(database, order, 3)
  assert.equal(first?.state, 'done')
  assert.deepEqual(
    late.map(({ says, state, note }) => [says, state, note]),
    [
      ['processing', 'ignored', 'changed nothing: the attempt is successful'],
      ['failed', 'ignored', 'changed nothing: the attempt is successful'],
    ],
  )
  assert.deepEqual(await recordsOf(database, payment), before)
  const after = await shop.payment(payment.id)
  assert.deepEqual(
    [after.status, after.attempts[0].status, after.attempts[0].failure],
    ['successful', 'successful', null],
  )
})

test('B5: the notice that it is paid comes before our own create call returned: it counts, and the call is still answered', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  between.meanwhile = async ({ method, path, headers, body }) => {
    if (method !== 'POST' || !path.endsWith('/v1/payments')) return undefined
    between.meanwhile = undefined
    const { reference } = JSON.parse(body)
    const answer = await fetch(service.baseUrl + path, {
      method,
      headers: { authorization: String(headers.authorization), 'content-type': 'application/json' },
      body,
    })
    const text = await answer.text()
    await charge(shop, reference)
    assert.equal(
      (await notify(between, shop, noticeAbout(await recordAt(service, shop, reference), 'payment.paid'))).status,
      200,
    )
    await workedOff(database, reference, 1) // all of it before the customer's link is out
    return { status: answer.status, text }
  }
  const { payment, order } = await start(shop)
  assert.deepEqual([payment.status, payment.attempts[0].status], ['successful', 'successful'])
  assert.match(payment.attempts[0].instructions.link, /^http/)
  const { eventTypes } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes, ['attempt.started', 'attempt.successful', 'payment.successful'])
  assert.deepEqual(
    (await noticesAbout(database, order)).map(({ state }) => state),
    ['done'],
  )
})

test('B5: the notice comes and our create call is never answered: it is matched by our reference', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  between.upstream.trouble = 'reset after the work'
  const { status, body } = await shop.initialize()
  assert.deepEqual([status, body.code], [504, 'provider_timeout'])
  between.upstream.trouble = undefined
  const payment = await shop.payment(body.attempt)
  const order = payment.attempts[0].providerReference
  await charge(shop, order)
  await notify(between, shop, noticeAbout(await recordAt(service, shop, order), 'payment.paid'))
  await becomes(shop, payment, isPaid)
  assert.deepEqual((await recordsOf(database, payment)).eventTypes, [
    'attempt.started',
    'attempt.successful',
    'payment.successful',
  ])
})

test('B6, B18: a notice for a reference that we do not know is kept in the unmatched list with its money; an error is logged, no payment changes', async () => {
  const shop = await service.addShop()
  const { payment } = await start(shop)
  const before = await recordsOf(database, payment)
  const record = madeUpRecord({
    channel: 'transfer',
    transactions: [paidTransaction({ kind: 'transfer', amount: AMOUNT })],
  })
  const notice = noticeAbout(record, 'transfer.received')
  for (let times = 0; times < 3; times++) assert.equal((await notify(service, shop, notice)).status, 200)
  await workedOff(database, record.reference, 1)

  const unmatched = await listUnmatched(database, 100)
  const listed = unmatched.find(({ reference }) => reference === record.reference)
  assert.deepEqual(
    [listed?.merchantId, listed?.provider, listed?.mode, listed?.note, listed?.times],
    [shop.merchantId, 'gateway', 'sandbox', 'names a reference that is not ours', 3],
  )
  const money = await database.rows(sql`
    select amount, currency, counted, attempt_id, payment_id from receipts
     where merchant_id = ${shop.merchantUuid} and transaction_id = ${record.transactions[0].id}`)
  assert.deepEqual(money, [{ amount: AMOUNT, currency: 'NGN', counted: false, attempt_id: null, payment_id: null }])
  assert.ok(
    alerts.some(
      ({ msg, noticeId }) =>
        msg === 'unmatched notice: it names a reference that is not ours' && noticeId === listed?.id,
    ),
  )
  assert.deepEqual(await recordsOf(database, payment), before)
  assert.equal((await shop.payment(payment.id)).amountPaid, 0)
})

test('B6: another merchant’s order is not ours to settle: a signed notice that names it is unmatched', async () => {
  const owner = await quietShop()
  const stranger = await service.addShop()
  const { payment, order } = await start(owner)
  const record = madeUpRecord({
    reference: order,
    requested: AMOUNT,
    transactions: [paidTransaction({ amount: AMOUNT })],
  })
  assert.equal((await notify(service, stranger, noticeAbout(record, 'payment.paid'))).status, 200)
  const [kept] = await workedOff(database, order, 1)
  assert.deepEqual([kept?.state, kept?.note], ['unmatched', 'names an order of another merchant'])
  // Two merchants may use one provider account: the money of the one must not be there for the other to match.
  const money = await database.rows(sql`
    select transaction_id from receipts where place = ${stranger.place} and merchant_id = ${stranger.merchantUuid}`)
  assert.deepEqual(money, [])
  const after = await owner.payment(payment.id)
  assert.deepEqual([after.status, after.attempts[0].status], ['pending', 'pending'])
})

test('a notice that always fails does not block others and is retried at least every hour', async (t) => {
  const between = await startBetween(t, service)
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await letPass(database, payment, 15)
  await checkDueAttempts(between.parts, 100)
  // A refund of ours that is never answered, and news of one that may be it: nobody can tell, so the notice waits.
  between.upstream.trouble = 'reset before the work'
  const asked = await between.shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, { amount: 5 })
  assert.equal(asked.body.data.status, 'pending')
  await between.shop.call('POST', '/sandbox/gateway/refunds', { reference: order, amount: 5 })
  const record = await recordAt(service, between.shop, order)
  assert.equal((await notify(between, between.shop, noticeAbout(record, 'refund.successful'))).status, 200)

  for (const tries of [9, 40, 100_000]) {
    const shop = await quietShop()
    const other = await start(shop)
    await charge(shop, other.order)
    // Kept by a receiver that died before it could work it off.
    const body = JSON.stringify(noticeAbout(await recordAt(service, shop, other.order), 'payment.paid'))
    const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
    const headers = { 'gateway-signature': signNotice(secretKey, body, new Date()) }
    const owner = { merchantId: shop.merchantId, mode: 'sandbox' } as const
    const received = await receiveNotice(parts, owner, 'gateway', { body: Buffer.from(body), headers })
    assert.equal(received.kind, 'kept')
    await database.rows(sql`update notices set due_at = now() where reference = ${other.order}`)
    await database.rows(sql`update notices set due_at = now(), tries = ${tries} where reference = ${order}`)
    assert.equal(await processWaitingNotices(parts, 100), 2)
    assert.equal((await shop.payment(other.payment.id)).status, 'successful', `after ${tries} tries of the other`)
    const waits = await database.row<{ state: string; tries: number; soon: boolean }>(sql`
      select state, tries, due_at between now() + interval '50 minutes' and now() + interval '61 minutes' as soon
        from notices where reference = ${order}`)
    assert.deepEqual(waits, { state: 'waiting', tries: tries + 1, soon: true })
  }
})

test('B6: unmatched money is assigned to its attempt later, with the provider’s amount', async () => {
  const shop = await quietShop()
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const transaction = (await recordAt(service, shop, order)).transactions.at(-1)
  const stranger = madeUpRecord({ requested: 5, amount: 5, transactions: [{ ...transaction, amount: 5 }] })
  await notify(service, shop, noticeAbout(stranger, 'payment.paid'))
  await workedOff(database, stranger.reference, 1)
  const unmatched = () => database.rows(sql`select amount from receipts where transaction_id = ${transaction.id}`)
  assert.deepEqual(await unmatched(), [{ amount: 5 }])
  await letPass(database, payment, 15)
  await checkDueAttempts(parts, 100)
  const paid = await shop.payment(payment.id)
  assert.deepEqual([paid.status, paid.amountPaid], ['successful', AMOUNT])
  assert.deepEqual((await recordsOf(database, payment)).receipts, [
    { attempt: 1, amount: AMOUNT, currency: 'NGN', counted: true },
  ])
  assert.deepEqual(await unmatched(), [{ amount: AMOUNT }], 'on record once')
})
