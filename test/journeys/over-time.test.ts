import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { makeChecksDue } from '../../src/payments/store/attempts.ts'
import { deleteClosedPayments } from '../../src/payments/store/delete-old.ts'
import { startFakeFlutterwave } from '../fakes/flutterwave/fake.ts'
import { type Between, startBetween } from '../support/between.ts'
import { eventually, startPaying } from '../support/paying.ts'
import {
  assertAudited,
  type Json,
  letPass,
  noticeAbout,
  notify,
  paidTransaction,
  recordAt,
  recordsOf,
} from '../support/payment-records.ts'
import { AMOUNT, becomes, charge, isPaid, ledger, start, TRANSFER, transfer } from '../support/sandbox-payments.ts'

// What happens to money in the days and weeks after the moment: answers that change, providers that are away.

const service = await startPaying()
const { database } = service

const SMALL = AMOUNT - 100

async function check({ parts }: Between, { id }: { id: string }): Promise<void> {
  await makeChecksDue(database, id as PaymentId)
  await checkDueAttempts(parts, 100)
}

/** The provider answers each question with this record from now on. Undefined: with the truth. */
function answers({ upstream }: Between, record: Json | undefined): void {
  upstream.garble = record && (() => ({ status: 200, text: JSON.stringify({ data: record }) }))
}

async function paidByCard(between: Between) {
  const { payment, order } = await start(between.shop)
  await charge(between.shop, order)
  await check(between, payment)
  assert.ok(isPaid(await between.shop.payment(payment.id)))
  return { payment, order, record: await recordAt(service, between.shop, order) }
}

const reviewsIn = (types: string[]) => types.filter((type) => type === 'attempt.needs_review').length

test('J1: an answer that contradicts the money on record changes nothing: a person is asked once for each contradiction', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, record } = await paidByCard(between)
  const before = await shop.payment(payment.id)
  const [transaction] = record.transactions
  const contradictions = [
    { ...record, amount: SMALL, transactions: [{ ...transaction, amount: SMALL }] },
    { ...record, status: 'pending', amount: 0, transactions: [] },
  ]
  for (const [index, wrong] of contradictions.entries()) {
    answers(between, wrong)
    for (const _ of ['first', 'again']) await check(between, payment)
    const { attempts, ...sums } = await shop.payment(payment.id)
    assert.deepEqual([sums.status, sums.amountPaid, sums.refunds], ['successful', AMOUNT, before.refunds])
    assert.deepEqual([attempts[0].status, attempts[0].amountReceived], ['successful', AMOUNT])
    assert.match(attempts[0].needsReview, /^contradiction: /)
    assert.equal(reviewsIn((await recordsOf(database, payment)).eventTypes), index + 1)
  }
  await assertAudited(database, payment)
})

test('an answer that has the money again ends a contradiction; the next one is new, also after a person closed it', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, record } = await paidByCard(between)
  const cases = async () => {
    const { data } = (await shop.call('GET', `/payments/v1/cases?payment=${payment.id}`)).body
    return data.toReversed().map(({ reason, status, closedBy }: Json) => [reason, closedBy ?? status])
  }
  const denied = { ...record, status: 'pending', amount: 0, transactions: [] }
  const checkWith = async (answer: Json) => {
    answers(between, answer)
    await check(between, payment)
  }
  await checkWith(denied)
  await checkWith(record)
  assert.deepEqual(await cases(), [['contradiction', 'books']])
  await checkWith(denied)
  const [open] = (await shop.call('GET', `/payments/v1/cases?payment=${payment.id}&status=open`)).body.data
  await shop.call('POST', `/payments/v1/cases/${open.id}/close`, { note: 'Their dashboard has it.' })
  await checkWith(denied)
  assert.equal((await cases()).length, 2, 'a person knows of it')
  await checkWith(record)
  await checkWith(denied)
  assert.deepEqual((await cases())[2], ['contradiction', 'open'])
  await assertAudited(database, payment)
})

test('an order with money on record that the provider does not know any more needs a review', async (t) => {
  const between = await startBetween(t, service)
  const { payment } = await paidByCard(between)
  between.upstream.garble = () => ({
    status: 404,
    text: JSON.stringify({ type: 'urn:manilla:problem:not_found', code: 'not_found', detail: 'No such payment.' }),
  })
  await check(between, payment)
  const { status, attempts } = await between.shop.payment(payment.id)
  assert.deepEqual([status, attempts[0].amountReceived], ['successful', AMOUNT])
  assert.match(attempts[0].needsReview, /^missing_at_provider: /)
})

test('one link that is charged twice before the first check is paid once, and the rest is surplus', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order } = await start(shop)
  await charge(shop, order)
  const record = await recordAt(service, shop, order)
  const at = new Date(Date.now() + 1_000).toISOString()
  const again = paidTransaction({ amount: AMOUNT, at })
  answers(between, { ...record, amount: 2 * AMOUNT, transactions: [...record.transactions, again] })
  await check(between, payment)
  const { amountPaid, attempts } = await shop.payment(payment.id)
  assert.deepEqual([amountPaid, attempts[0].amountReceived], [AMOUNT, 2 * AMOUNT])
  const { eventTypes, refunds } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(2), ['attempt.successful', 'payment.successful', 'payment.surplus'])
  assert.deepEqual(refunds, [{ amount: AMOUNT, kind: 'surplus', status: 'pending' }])
  await assertAudited(database, payment)
})

test('after new keys were set, attempts that wait for an answer are asked about soon', async () => {
  const flutterwave = await startFakeFlutterwave({ after })
  const shop = await service.addShop()
  const integration = { settings: flutterwave.settings, baseURL: flutterwave.upstream.url }
  const path = '/payments/v1/integrations/flutterwave'
  await shop.call('PUT', path, integration)
  for (const reference of ['keys-ended', 'keys-open']) {
    await eventually(
      () => shop.initialize({ provider: 'flutterwave', reference }),
      ({ status }) => status === 200,
    )
  }
  const [ended, open] = [await shop.payment('keys-ended'), await shop.payment('keys-open')]
  const id = uuidOf(ended.id as PaymentId)
  await database.rows(sql`
    update attempts set instructions_expire_at = now() - interval '60 hours' where payment_id = ${id}`)
  await database.rows(sql`
    update attempts set next_check_at = now() + interval '20 hours' where merchant_id = ${shop.merchantUuid}`)
  await shop.call('PUT', path, { settings: { ...flutterwave.settings, secretHash: 'another-secret-hash' } })
  const soon = async (payment: Json) => {
    const row = await database.row<{ soon: boolean }>(sql`
      select next_check_at < now() + interval '2 minutes' as soon from attempts
       where payment_id = ${uuidOf(payment.id as PaymentId)}`)
    return row?.soon
  }
  assert.deepEqual([await soon(ended), await soon(open)], [true, false])
})

test('J3: a refund whose answer was lost is asked for once, however long the list of refunds lags', async () => {
  const flutterwave = await startFakeFlutterwave({ after })
  flutterwave.odd.refundStatus = 'completed-mpgs'
  const shop = await service.addShop()
  const integration = { settings: flutterwave.settings, baseURL: flutterwave.upstream.url }
  await shop.call('PUT', '/payments/v1/integrations/flutterwave', integration)
  const { body } = await eventually(
    () => shop.initialize({ provider: 'flutterwave', reference: 'lagging' }),
    ({ status }) => status === 200,
  )
  assert.ok(body)
  const payment = await shop.payment('lagging')
  const order = uuidOf(payment.attempts[0].id).replaceAll('-', '')
  await flutterwave.customer.payByCard(order, { save: false })
  await makeChecksDue(database, payment.id)
  await checkDueAttempts(service.parts, 100)
  const isList = ({ text }: { text: string }) => text.includes('Refunds fetched')
  const none = { status: 200, text: JSON.stringify({ status: 'success', message: 'Refunds fetched', data: [] }) }
  flutterwave.upstream.garble = (said) => (isList(said) ? none : { status: 500, text: '{}' })
  const refund = async () => (await shop.call('GET', '/payments/v1/payments/lagging/refunds')).body.data[0]
  const made = await shop.call('POST', '/payments/v1/payments/lagging/refunds', { amount: 10_000 })
  assert.deepEqual([made.status, made.body.data.status], [201, 'pending'])
  flutterwave.upstream.garble = (said) => (isList(said) ? none : said)
  for (const hours of [0.01, 1, 10, 24, 48]) {
    await letPass(database, payment, hours * 3_600)
    await sendDueRefunds(service.parts, 100)
    assert.equal(flutterwave.ledger().givenBack.length, 1, `after ${hours} hours`)
  }
  assert.match((await refund()).needsReview, /^unanswered: /)
  flutterwave.upstream.garble = undefined
  await letPass(database, payment, 86_400)
  await sendDueRefunds(service.parts, 100)
  assert.deepEqual([(await refund()).status, (await refund()).needsReview], ['successful', null])
  assert.equal(flutterwave.ledger().givenBack.length, 1)
  await assertAudited(database, payment)
})

test('surplus that the provider does not name again stays: its refund fails, and a person decides', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, record } = await paidByCard(between)
  const wrong = { ...record, amount: 2 * AMOUNT }
  const again = paidTransaction({ amount: AMOUNT })
  answers(between, { ...wrong, transactions: [...record.transactions, again] })
  await check(between, payment)
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'pending' },
  ])
  await sendDueRefunds(between.parts, 100)
  assert.equal((await recordsOf(database, payment)).refunds[0]?.status, 'pending', 'not within a minute')
  answers(between, record)
  await letPass(database, payment, 61)
  await sendDueRefunds(between.parts, 100)
  const { refunds, eventTypes } = await recordsOf(database, payment)
  assert.deepEqual(refunds, [{ amount: AMOUNT, kind: 'surplus', status: 'failed' }])
  assert.ok(eventTypes.includes('payment.surplus'), 'announced at first sight')
  await checkDueAttempts(between.parts, 100)
  assert.match((await shop.payment(payment.id)).attempts[0].needsReview, /^contradiction: /)
  await assertAudited(database, payment)
})

test('J2: while the provider is silent, surplus waits; when it names the money again, it goes back once', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, accountNumber, order } = await start(shop, TRANSFER)
  for (const _ of ['first', 'second']) await transfer(shop, accountNumber, AMOUNT)
  await check(between, payment)
  between.upstream.trouble = 'answering 500 before the work'
  for (const minutes of [2, 60, 3_000]) {
    await letPass(database, payment, minutes * 60)
    await sendDueRefunds(between.parts, 100)
    assert.equal((await recordsOf(database, payment)).refunds[0]?.status, 'pending')
  }
  between.upstream.trouble = undefined
  between.aheadMs = 3_600_000
  await letPass(database, payment, 86_400)
  await sendDueRefunds(between.parts, 100)
  assert.deepEqual(
    (await recordsOf(database, payment)).refunds.map(({ status }) => status),
    ['successful'],
  )
  assert.equal((await ledger(shop, order)).refunded, AMOUNT)
})

test('J4: a signed notice of a second payment waits while the provider answers 500, and until it has the money', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT)
  await check(between, payment)
  const first = await recordAt(service, shop, order)
  await transfer(shop, accountNumber, AMOUNT)
  const both = await recordAt(service, shop, order)
  between.upstream.trouble = 'answering 500 before the work'
  await notify(between, shop, noticeAbout(both, 'payment.paid'))
  const waits = async (tries: number) =>
    eventually(
      async () =>
        await database.row<{ tries: number; state: string }>(sql`
        select tries, state from notices where reference = ${order}`),
      (notice) => notice?.tries === tries,
    )
  const again = async () => {
    await database.rows(sql`update notices set due_at = now() where reference = ${order}`)
    await processWaitingNotices(between.parts, 100)
  }
  await again()
  assert.equal((await waits(1))?.state, 'waiting')
  between.upstream.trouble = undefined
  between.aheadMs = 3_600_000
  answers(between, first)
  await again()
  assert.equal((await waits(2))?.state, 'waiting', 'its list is late')
  answers(between, undefined)
  await again()
  assert.equal((await waits(3))?.state, 'done')
  assert.deepEqual((await recordsOf(database, payment)).refunds, [
    { amount: AMOUNT, kind: 'surplus', status: 'pending' },
  ])
})

test('a signed notice of more money waits also while the answers contradict what is on record', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT)
  await check(between, payment)
  await transfer(shop, accountNumber, AMOUNT)
  const both = await recordAt(service, shop, order)
  answers(between, { ...both, status: 'pending', amount: 0, transactions: [] })
  await notify(between, shop, noticeAbout(both, 'payment.paid'))
  const stateAfter = async (days: number) => {
    await database.rows(sql`
      update notices set due_at = now(), received_at = received_at - make_interval(days => ${days}) where reference = ${order}`)
    await processWaitingNotices(between.parts, 100)
    return (await database.row<{ state: string }>(sql`select state from notices where reference = ${order}`))?.state
  }
  const reasons = async () =>
    (await recordsOf(database, payment)).eventTypes.filter((type) => type === 'attempt.needs_review').length
  assert.deepEqual([await stateAfter(0), await reasons()], ['waiting', 1])
  assert.deepEqual([await stateAfter(1), await reasons()], ['waiting', 1])
  assert.deepEqual([await stateAfter(7), await reasons()], ['ignored', 2])
  const { data } = (await shop.call('GET', `/payments/v1/cases?payment=${payment.id}`)).body
  assert.ok(data.some(({ reason }: Json) => reason === 'unanswered'))
})

test('money of a signed notice that the provider does not confirm for a week needs a review', async (t) => {
  const between = await startBetween(t, service)
  const { shop } = between
  const { payment, order, record } = await paidByCard(between)
  const again = paidTransaction({ amount: AMOUNT })
  const both = { ...record, amount: 2 * AMOUNT, transactions: [...record.transactions, again] }
  await notify(between, shop, noticeAbout(both, 'payment.paid'))
  await database.rows(sql`
    update notices set due_at = now(), received_at = received_at - interval '8 days' where reference = ${order}`)
  await processWaitingNotices(between.parts, 100)
  const [attempt] = (await shop.payment(payment.id)).attempts
  assert.match(attempt.needsReview, /^unanswered: .*12,500/)
  assert.equal(attempt.amountReceived, AMOUNT)
  await assertAudited(database, payment)
})

test('payments of a link count for its limit after they were deleted by age', async () => {
  const shop = await service.addShop()
  const terms = { title: 'Ticket', amount: AMOUNT, currency: 'NGN', country: 'NG', maxPayments: 1 }
  const { status, body: made } = await shop.call('POST', '/payments/v1/links', terms)
  assert.equal(status, 201, JSON.stringify(made))
  const { payment, order } = await start(shop)
  await charge(shop, order)
  await becomes(shop, payment, isPaid)
  const [link, id] = [uuidOf(made.data.id), uuidOf(payment.id as PaymentId)]
  await database.rows(sql`update payments set link_id = ${link} where id = ${id}`)
  await database.rows(sql`update attempts set next_check_at = null where payment_id = ${id}`)
  const times = async () => (await shop.call('GET', `/payments/v1/links/${made.data.id}`)).body.data.timesPaid
  assert.equal(await times(), 1)
  const old = {
    mode: 'sandbox' as const,
    before: new Date(Date.now() + 3_600_000),
    after: '00000000-0000-0000-0000-000000000000',
  }
  const owner = { uuid: shop.merchantUuid, place: shop.place }
  const deleted = await database.transaction(async (tx) => {
    await tx.rows(sql`select set_config('manilla.retention', 'on', true)`)
    return deleteClosedPayments(tx, owner, old, 100)
  })
  assert.equal(deleted.times.length, 1)
  assert.equal(await times(), 1)
})
