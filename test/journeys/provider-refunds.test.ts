import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { reconcileAttempt } from '../../src/payments/refunds/reconcile-attempt.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processNotice, receiveNotice } from '../../src/payments/settle/receive-notice.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { refundReference } from '../../src/payments/state/refund.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { sealAccount } from '../../src/payments/store/refund-accounts.ts'
import { findRefund } from '../../src/payments/store/refunds.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { signNotice } from '../../src/providers/gateway/simulator/notices.ts'
import type { ListedRefund, Provider, ProviderClient, RefundOutcome } from '../../src/providers/provider.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import { assertAudited, letPass, noticeAbout, noticesAbout, recordAt } from '../support/payment-records.ts'
import { reconcile } from '../support/reconciling.ts'
import {
  atProvider,
  DAY,
  givenBack,
  heard,
  listedRefund,
  listingProvider,
  refund,
  toldOf,
  typesTold,
} from '../support/returns.ts'
import { AMOUNT, charge, loseNotices, type Paid, paid, start } from '../support/sandbox-payments.ts'
import type { Answer } from '../support/service.ts'

const service = await startPaying()
const { database, parts } = service
afterEach(() => assertAudited(database))
const { attemptOf, pendingRefund, reconcileWith, withProvider } = listingProvider(service)

const refunded = async (shop: Shop, payment: Paid) => (await shop.payment(payment.reference)).amountRefunded

const silent: ProviderClient['refund'] = async () => ({ kind: 'unknown', because: 'no answer' })

test('a refund made at the provider whose notice was lost is found by reconciliation', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await loseNotices(shop)
  await atProvider(shop, '/refunds', { reference: payment.order, amount: 300_000 })
  await reconcile(parts, shop)
  assert.equal(await refunded(shop, payment), 300_000)
  const [told] = await toldOf(database, payment)
  assert.deepEqual([told?.type, told?.data.refund.kind], ['refund.successful', 'provider'])
  assert.equal(await givenBack(shop, payment), 300_000)
})

test('a refund notice is retried while the provider does not list its refunds', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await loseNotices(shop)
  await atProvider(shop, '/refunds', { reference: payment.order, amount: 300_000 })
  const record = await recordAt(service, shop, payment.order)
  const body = JSON.stringify(noticeAbout(record, 'refund.successful'))
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const headers = { 'gateway-signature': signNotice(secretKey, body, new Date()) }
  const owner = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  const received = await receiveNotice(parts, owner, 'gateway', { body: Buffer.from(body), headers })
  assert.ok(received.kind === 'kept')
  const listReversals: ProviderClient['listReversals'] = async () => ({ kind: 'unknown', because: 'no answer' })
  await assert.rejects(processNotice(withProvider({ listReversals }), received.notice), /no answer/)
  assert.deepEqual(
    (await noticesAbout(database, payment.order)).map(({ says, state }) => [says, state]),
    [
      ['paid', 'done'],
      ['refund', 'waiting'],
    ],
  )
  await processNotice(parts, received.notice)
  await heard(database, payment, 2)
  assert.equal(await refunded(shop, payment), 300_000)
})

test('a refund of the merchant and one of the same amount at the provider are two', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  assert.equal((await refund(shop, payment.reference, { amount: 300_000 })).body.data.status, 'successful')
  await atProvider(shop, '/refunds', { reference: payment.order, amount: 300_000 })
  await eventually(
    () => refunded(shop, payment),
    (amount) => amount === 600_000,
  )
  assert.equal(await givenBack(shop, payment), 600_000)
  assert.deepEqual(
    (await toldOf(database, payment)).map(({ data }) => data.refund.kind),
    ['merchant', 'provider'],
  )
})

test('a refund without a reference is not taken for one of ours that is not answered yet', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const ours = await pendingRefund(payment, 300_000)
  const waiting = await reconcileWith(payment, [listedRefund('t-1', 300_000), listedRefund('t-2', 100_000)])
  assert.ok(waiting.kind === 'reconciled' && waiting.waits !== null)
  assert.equal(await refunded(shop, payment), 100_000, 'what can be told is recorded all the same')
  const reference = refundReference(ours)
  const done = await reconcileWith(payment, [
    listedRefund('t-1', 300_000),
    listedRefund('t-2', 100_000),
    listedRefund('t-3', 300_000, { reference }),
  ])
  assert.deepEqual(done, { kind: 'reconciled', changes: 2, waits: null, isOpen: false })
  assert.equal(await refunded(shop, payment), 700_000)
})

test('a refund whose id is on record is never taken for one that is not answered yet', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await reconcileWith(payment, [listedRefund('t-1', 300_000)])
  await pendingRefund(payment, 300_000)
  const again = await reconcileWith(payment, [listedRefund('t-1', 300_000)])
  assert.deepEqual(again, { kind: 'reconciled', changes: 0, waits: null, isOpen: false })
  assert.equal(await refunded(shop, payment), 300_000)
})

test('a refund of ours that was made twice at the provider is on record twice', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const reference = refundReference(await pendingRefund(payment, 300_000))
  for (let times = 0; times < 2; times++)
    await reconcileWith(payment, [
      listedRefund('t-1', 300_000, { reference }),
      listedRefund('t-2', 300_000, { reference }),
    ])
  assert.equal(await refunded(shop, payment), 600_000)
})

test('a second refund under our reference is booked, also when it is listed before ours, or alone at first', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const reference = refundReference(await pendingRefund(payment, 300_000))
  const at = (hour: number) => ({ reference, at: new Date(Date.now() + hour * 3_600_000) })
  const [earlier, ours, third] = ['t-1', 't-2', 't-3'].map((id, hour) => listedRefund(id, 300_000, at(hour)))
  assert.ok(earlier && ours && third)
  await reconcileWith(payment, [ours])
  assert.equal(await refunded(shop, payment), 300_000)
  await reconcileWith(payment, [earlier])
  for (let times = 0; times < 2; times++) {
    await reconcileWith(payment, [earlier, ours, ours])
    assert.equal(await refunded(shop, payment), 600_000, 'the list was late with one of them')
  }
  await reconcileWith(payment, [earlier, ours, third])
  assert.equal(await refunded(shop, payment), 900_000)
})

test('a refund that the provider lists with another amount is not completed: a person is asked', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const reference = refundReference(await pendingRefund(payment, 1_000))
  for (let times = 0; times < 2; times++) await reconcileWith(payment, [listedRefund('t-1', 1_500, { reference })])
  assert.equal(await refunded(shop, payment), 0)
  const { attempts, refunds } = await shop.payment(payment.reference)
  assert.match(attempts[0].needsReview, /^refund_mismatch: .*10\.00 .*15\.00/)
  assert.equal(refunds?.[0]?.status ?? 'pending', 'pending')
})

test('a refund follows the status that the provider lists, also when it changes later', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const reference = refundReference(await pendingRefund(payment, 300_000))
  const say = (status: ListedRefund['status']) =>
    reconcileWith(payment, [listedRefund('t-1', 300_000, { reference, status })])
  for (const [status, amount] of [
    ['pending', 0],
    ['successful', 300_000],
    ['failed', 0],
    ['successful', 300_000],
    ['pending', 300_000],
  ] as const) {
    await say(status)
    assert.equal(await refunded(shop, payment), amount, status)
  }
  assert.deepEqual(await typesTold(database, payment), ['refund.successful', 'refund.failed', 'refund.successful'])
})

test('more than was received is never recorded as returned; the attempt needs review once', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  for (let times = 0; times < 2; times++) await reconcileWith(payment, [listedRefund('t-1', AMOUNT + 1)])
  const { amountRefunded, attempts } = await shop.payment(payment.reference)
  assert.equal(amountRefunded, 0)
  assert.match(attempts[0].needsReview, /^refund_mismatch: /)
  const reviews = await database.rows(sql`
    select from events where payment_id = ${uuidOf(payment.id as PaymentId)} and type = 'attempt.needs_review'`)
  assert.equal(reviews.length, 1)
})

test('a listed refund of money that is not on record waits for it for a week; then a person decides', async () => {
  const shop = await service.addShop()
  const { payment, order } = await start(shop)
  const waiting: Paid = { id: payment.id, reference: payment.reference, order }
  const daysAgo = (days: number) => ({ at: new Date(Date.now() - days * DAY * 1_000) })
  const reviewAfter = async (days: number) => {
    const found = await reconcileWith(waiting, [listedRefund('t-1', AMOUNT, daysAgo(days))])
    const { needsReview } = (await shop.payment(payment.reference)).attempts[0]
    return [found.kind === 'reconciled' && found.waits !== null, needsReview]
  }
  assert.deepEqual(await reviewAfter(6), [true, null])
  const [waits, needsReview] = await reviewAfter(8)
  assert.equal(waits, false)
  assert.match(String(needsReview), /^refund_mismatch: .*the payment that it refunds is not on record yet\.$/)
})

test('a refund has the days that its provider takes, counted from when it took the customer’s account', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await database.rows(sql`update refunds set due_at = now() + interval '7 days' where status = 'pending'`) // of other tests
  const id = await pendingRefund(payment, 300_000)
  const answering = (answer: RefundOutcome) => {
    const provider = parts.providers.find('gateway') as Provider
    const slow = { ...provider, capabilities: { ...provider.capabilities, refundTakesDays: 21 } }
    const deps = withProvider({ refund: async () => answer })
    return { ...deps, providers: { ...deps.providers, find: () => slow } }
  }
  const waits: RefundOutcome = { kind: 'pending', refundId: 'r-1', needsAccount: 'which account?' }
  const sendAfter = async (days: number, answer: RefundOutcome) => {
    await letPass(database, payment, days * DAY)
    await sendDueRefunds(answering(answer), 100)
    return (await findRefund(database, { ...shop, mode: 'sandbox' }, id))?.needsReview
  }
  const pending: RefundOutcome = { kind: 'pending', refundId: 'r-1' }
  assert.equal(await sendAfter(4, pending), null)
  assert.match((await sendAfter(18, waits)) ?? '', /^refund_needs_account/)
  const account = { accountNumber: '0690000031', bankCode: '058' }
  await database.rows(sql`
    update refunds set sealed_account = ${sealAccount(parts.secrets, id, account)}, due_at = now() where id = ${uuidOf(id)}`)
  assert.equal(await sendAfter(0, pending), null, 'the 21 days begin')
  assert.equal(await sendAfter(20, pending), null)
  assert.match((await sendAfter(1, pending)) ?? '', /^refund_unfinished: .* within 21 days/)
})

test('a refund that is not finished within 3 days needs review, is announced once and retried daily', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await database.rows(sql`update refunds set due_at = now() + interval '7 days' where status = 'pending'`) // of other tests
  const id = await pendingRefund(payment, 300_000)
  let asked = 0
  const refund: ProviderClient['refund'] = async (wanted) => {
    asked++
    return silent(wanted)
  }
  const troubled = withProvider({ refund })
  const pass = async (hours: number) => {
    for (let passed = 0; passed < hours; passed += 6) {
      await letPass(database, payment, 6 * 3_600)
      await sendDueRefunds(troubled, 100)
    }
  }
  await pass(66)
  assert.deepEqual(await typesTold(database, payment), [])
  await pass(6)
  const [told, ...others] = await toldOf(database, payment)
  assert.equal(others.length, 0)
  assert.equal(told?.type, 'refund.needs_review')
  assert.deepEqual([told?.data.refund.id, told?.data.refund.status], [id, 'pending'])
  assert.match(told?.data.refund.needsReview, /^refund_unfinished: /)
  asked = 0
  await pass(24 * 5)
  assert.equal(asked, 5)
  assert.deepEqual(await typesTold(database, payment), ['refund.needs_review'])

  await letPass(database, payment, DAY)
  await sendDueRefunds(parts, 100)
  assert.deepEqual(await typesTold(database, payment), ['refund.needs_review', 'refund.successful'])
  assert.equal((await toldOf(database, payment))[1]?.data.refund.needsReview, null)
})

test('money that was given back before we first saw it is not counted again when its refunds are listed', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const { data } = (await shop.initialize({ amount: AMOUNT })).body
  const order = String(data.data.reference)
  await charge(shop, order)
  for (const amount of [300_000, 200_000]) await atProvider(shop, '/refunds', { reference: order, amount })
  const { id, reference } = await shop.payment(data.reference)
  const payment: Paid = { id, reference, order }
  await letPass(database, payment, 15)
  await checkDueAttempts(parts, 100)
  assert.equal(await refunded(shop, payment), 500_000)
  const list = async () => reconcileAttempt(parts, await attemptOf(payment))
  await list()
  assert.equal(await refunded(shop, payment), 500_000)
  const rows = await database.rows<{ amount: number }>(sql`
    select amount from refunds where payment_id = ${uuidOf(id as PaymentId)} and amount > 0 order by amount`)
  assert.deepEqual(
    rows.map(({ amount }) => amount),
    [200_000, 300_000],
  )
  await atProvider(shop, '/refunds', { reference: order, amount: 200_000 })
  await database.rows(sql`
    update refunds set created_at = created_at - interval '1 hour' where payment_id = ${uuidOf(id as PaymentId)}`)
  await list()
  assert.equal(await refunded(shop, payment), 700_000, 'a later refund of the same amount is another')
})

test('returns of several transfers that were made before we saw them are counted once, in any order of the list', async () => {
  const shop = await service.addShop()
  for (const amounts of [
    [300, 400],
    [200, 300, 200],
  ]) {
    const { data } = (await shop.initialize({ provider: 'gateway-virtual-bank-account', amount: 1_000 })).body
    const { id, reference } = await shop.payment(data.reference)
    const payment: Paid = { id, reference, order: data.reference }
    const [attempt] = (await findPaymentStateById(database, id))?.attempts ?? []
    assert.ok(attempt)
    const receipt = (transactionId: string, amount: number, returned: number) => ({
      ...{ transactionId: `${reference}-${transactionId}`, amount: money(amount, 'NGN' as Currency), returned },
      at: new Date(),
    })
    const receipts = [receipt('a', 400, 400), receipt('b', 1_000, 300), receipt('c', 1_000, 0)]
    const check: ProviderClient['check'] = async () => ({ kind: 'paid', receipts })
    await checkAttempt(withProvider({ check }), attempt, { source: 'check' })
    const before = await shop.payment(reference)
    assert.equal(before.status, 'successful')
    const answer = await reconcileWith(
      payment,
      amounts.map((amount, index) => listedRefund(`${reference}-${index}`, amount)),
    )
    // A row that is split has an event.
    const changes = amounts.length - 2
    assert.deepEqual(answer, { kind: 'reconciled', changes, waits: null, isOpen: false })
    const rows = await database.rows<{ amount: number }>(sql`
      select amount from refunds where payment_id = ${uuidOf(id as PaymentId)} and kind = 'provider' and amount > 0
       order by provider_refund_id`)
    assert.deepEqual(
      rows.map(({ amount }) => amount),
      amounts,
    )
    assert.equal(await refunded(shop, payment), before.amountRefunded)
  }
})

test('the sandbox provider lists every payment of a range once, page by page, with what went back of it', async () => {
  const shop = await service.addShop()
  const from = new Date(Date.now() - 60_000)
  const payments: Paid[] = []
  for (let count = 0; count < 3; count++) payments.push(await paid(shop))
  const [first] = payments
  assert.ok(first)
  await atProvider(shop, '/refunds', { reference: first.order, amount: 300_000 })
  await shop.initialize()
  const { secretKey } = gatewayKeys(service.masterKey, shop.merchantUuid)
  const headers = { authorization: `Bearer ${secretKey}` }
  const to = new Date(Date.now() + 60_000)
  const range = `from=${from.toISOString()}&to=${to.toISOString()}&limit=2`
  const listed: { reference: string; refunded: number }[] = []
  let cursor: string | null = '0'
  while (cursor !== null) {
    const url: string = `${service.baseUrl}/sandbox/gateway/v1/transactions?${range}&cursor=${cursor}`
    const { data }: Answer['body'] = (await request(url, 'GET', headers)).body
    listed.push(...data.transactions)
    cursor = data.nextCursor
  }
  assert.deepEqual(
    listed.map(({ reference, refunded }) => [reference, refunded]),
    payments.map(({ order }) => [order, order === first.order ? 300_000 : 0]),
  )
})
