import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { gateway } from '../../src/providers/gateway/adapter.ts'
import type { Provider, RefundOrder } from '../../src/providers/provider.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { letPass } from '../support/payment-records.ts'
import { refund } from '../support/returns.ts'
import { ledger, paid } from '../support/sandbox-payments.ts'

/** The sandbox provider, but its refunds wait until the test lets them go, and every request for one is counted. */
const requests: RefundOrder[] = []
let gate: Promise<void> = Promise.resolve()
/** The request that gets no clear answer. */
let silent: RefundOrder | undefined
const slowGateway: Provider = {
  ...gateway,
  connect(account) {
    const connection = gateway.connect(account)
    return {
      ...connection,
      async refund(wanted) {
        requests.push(wanted)
        await gate
        return wanted === silent ? { kind: 'unknown', because: 'it did not answer' } : connection.refund(wanted)
      },
    }
  },
}

const service = await startPaying({ providers: [slowGateway] })
const { database, parts } = service
const shop = await service.addShop()
const AMOUNT = 300_000

/** A refund as a process leaves it that was killed between its commit and the request to the provider, a minute ago. */
async function killedBeforeRequest(key: string) {
  const payment = await paid(shop, { amount: AMOUNT })
  const never = Promise.withResolvers<void>()
  gate = never.promise
  const before = requests.length
  const lost = refund(shop, payment.reference, { amount: AMOUNT }, { 'idempotency-key': key })
  await eventually(
    async () => requests.length,
    (count) => count === before + 1,
  )
  requests.pop()
  await letPass(database, payment, 61)
  await database.rows(sql`
    update idempotent_calls set running_until = now() - interval '1 second' where merchant_id = ${shop.merchantUuid} and key = ${key}`)
  const end = () => {
    never.resolve()
    return lost
  }
  const release = Promise.withResolvers<void>()
  gate = release.promise
  return { payment, release: release.resolve, end }
}

test('a client that repeats a refund with its key while the worker resumes it: one request to the provider', async () => {
  const { payment, release, end } = await killedBeforeRequest('worker-first')
  const before = requests.length
  const resumed = sendDueRefunds(parts, 10)
  await eventually(
    async () => requests.length,
    (count) => count === before + 1,
  )
  const repeated = await refund(shop, payment.reference, { amount: AMOUNT }, { 'idempotency-key': 'worker-first' })
  assert.deepEqual([repeated.status, repeated.body.data.status], [201, 'pending'], 'it does not ask, it tells')
  assert.equal(requests.length, before + 1)
  release()
  assert.equal(await resumed, 1)
  const again = await refund(shop, payment.reference, { amount: AMOUNT }, { 'idempotency-key': 'worker-first' })
  assert.deepEqual(
    [again.status, again.headers['idempotent-replayed'], again.body.data.status, again.body.data.id],
    [201, 'true', 'successful', repeated.body.data.id],
    'a repeat answers with the refund as it stands now',
  )
  assert.equal((await ledger(shop, payment.order)).refunded, AMOUNT)
  await end()
})

test('the worker does not send a refund that a repeated call has leased', async () => {
  const { payment, release, end } = await killedBeforeRequest('client-first')
  const before = requests.length
  const repeated = refund(shop, payment.reference, { amount: AMOUNT }, { 'idempotency-key': 'client-first' })
  await eventually(
    async () => requests.length,
    (count) => count === before + 1,
  )
  assert.equal(await sendDueRefunds(parts, 10), 0)
  assert.equal(requests.length, before + 1)
  release()
  assert.equal((await repeated).body.data.status, 'successful')
  assert.equal((await ledger(shop, payment.order)).refunded, AMOUNT)
  await end()
})

test('a process that was frozen until its lease expired sends nothing, and its late answer does not release the next lease', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { payment, release, end } = await killedBeforeRequest('frozen')
  const before = requests.length
  const frozen = sendDueRefunds(parts, 10)
  const wanted = await eventually(
    async () => requests.at(before),
    (request) => request !== undefined,
  )
  assert.equal(wanted?.isLeaseHeld?.(), true)
  await letPass(database, payment, 61)
  t.mock.timers.tick(20_000) // it wakes up, and wants to renew
  await eventually(
    async () => wanted?.isLeaseHeld?.(),
    (isHeld) => isHeld === false,
  )

  const next = sendDueRefunds(parts, 10)
  await eventually(
    async () => requests.length,
    (count) => count === before + 2,
  )
  silent = wanted
  release()
  await Promise.all([frozen, next, end()])
  const leases = await database.rows<{ status: string; due: boolean }>(sql`
    select r.status, r.due_at is not null as due from refunds r join payments p on p.id = r.payment_id
     where p.reference = ${payment.reference}`)
  assert.deepEqual(leases, [{ status: 'successful', due: false }])
  assert.equal((await ledger(shop, payment.order)).refunded, AMOUNT)
})

test('the same refund again within a minute and without a key is 409 duplicate_refund with the first; allowDuplicate makes it', async () => {
  gate = Promise.resolve()
  const payment = await paid(shop, { amount: AMOUNT })
  const first = await refund(shop, payment.reference, { amount: 1_000 })
  assert.equal(first.status, 201)
  const second = await refund(shop, payment.reference, { amount: 1_000 })
  assert.deepEqual([second.status, second.body.code, second.body.retryable], [409, 'duplicate_refund', false])
  assert.deepEqual(second.body.existing, first.body.data)
  assert.match(second.body.detail, /allowDuplicate/)
  assert.equal(
    (await refund(shop, payment.reference, { amount: 2_000 })).status,
    201,
    'another amount is another refund',
  )
  assert.equal((await refund(shop, payment.reference, { amount: 1_000, allowDuplicate: true })).status, 201)
  assert.equal((await refund(shop, payment.reference, { amount: 1_000 }, { 'idempotency-key': 'its-own' })).status, 201)
  const doubleClick = { amount: 1_000, allowDuplicate: false }
  const third = await refund(shop, payment.reference, doubleClick, { 'idempotency-key': 'another' })
  assert.equal(third.body.code, 'duplicate_refund', 'false refuses it also with a key')
  await letPass(database, payment, 61)
  assert.equal((await refund(shop, payment.reference, { amount: 1_000 })).status, 201, 'after a minute it is meant')
  const rest = await refund(shop, payment.reference)
  assert.deepEqual([rest.status, rest.body.data.amount], [201, AMOUNT - 6_000])
  const all = await refund(shop, payment.reference)
  assert.deepEqual([all.status, all.body.code, all.body.existing.id], [409, 'duplicate_refund', rest.body.data.id])
  assert.equal((await ledger(shop, payment.order)).refunded, AMOUNT)
})

test('refunds can be read: of a payment, one by one, and as a member of the payment; never by another merchant', async () => {
  gate = Promise.resolve()
  const payment = await paid(shop, { amount: AMOUNT })
  assert.deepEqual((await shop.payment(payment.reference)).refunds, [])
  const first = (await refund(shop, payment.reference, { amount: 1_000, reason: 'Damaged' })).body.data
  const second = (await refund(shop, payment.reference, { amount: 2_000 })).body.data
  assert.deepEqual([first.payment, first.kind, first.reason], [payment.id, 'merchant', 'Damaged'])
  const list = await shop.call('GET', `/payments/v1/payments/${payment.reference}/refunds`)
  assert.deepEqual([list.status, list.body], [200, { data: [first, second], nextCursor: null }])
  assert.deepEqual((await shop.call('GET', `/payments/v1/refunds/${first.id}`)).body.data, first)
  assert.deepEqual((await shop.payment(payment.reference)).refunds, [first, second])
  const page = await shop.call('GET', '/payments/v1/payments?limit=1')
  assert.deepEqual(page.body.data[0].refunds, [first, second])
  const events = await shop.call('GET', `/payments/v1/events?payment=${payment.reference}&type=refund.successful`)
  assert.deepEqual(
    events.body.data[0].data.payment.refunds.map(({ id }: { id: string }) => id).toSorted(),
    [first.id, second.id].toSorted(),
  )

  const stranger = await service.addShop('Stranger')
  for (const id of [first.id, 'rfd_8e1111111111111111111111', 'nonsense']) {
    const { status, body } = await stranger.call('GET', `/payments/v1/refunds/${id}`)
    assert.deepEqual([status, body.code], [404, 'not_found'], id)
  }
  assert.equal((await stranger.call('GET', `/payments/v1/payments/${payment.reference}/refunds`)).status, 404)
})

test('A1: the same refund twice under one key is made once, and answered alike; without a key two are meant by allowDuplicate', async () => {
  const { reference, id, order } = await paid(shop, { amount: AMOUNT })
  const key = { 'idempotency-key': 'refund-once' }
  const first = await refund(shop, reference, { amount: 1_000 }, key)
  const second = await refund(shop, id, { amount: 1_000 }, key)
  assert.deepEqual([first.status, second.status], [201, 201])
  assert.deepEqual(second.body, first.body)
  assert.deepEqual(
    [first.headers['idempotent-replayed'], second.headers['idempotent-replayed']],
    [undefined, 'true'],
    'by whatever name the payment is called',
  )
  const other = await refund(shop, reference, { amount: 2_000 }, key)
  assert.deepEqual([other.status, other.body.code], [422, 'idempotency_key_reused'])
  assert.equal((await ledger(shop, order)).refunded, 1_000)

  for (let times = 0; times < 2; times++)
    assert.equal((await refund(shop, reference, { amount: 1_000, allowDuplicate: true })).status, 201)
  assert.equal((await shop.payment(reference)).amountRefunded, 3_000)
  const { reference: elsewhere } = await paid(shop, { amount: AMOUNT })
  const fresh = await refund(shop, elsewhere, { amount: 1_000 }, key)
  assert.notEqual(fresh.body.data.id, first.body.data.id, 'a key is of one payment')
})

test('A3: ten concurrent refunds with one key make one; early repeats get 409', async () => {
  const { reference, order } = await paid(shop, { amount: AMOUNT })
  const key = { 'idempotency-key': 'all-at-once' }
  const all = await Promise.all(Array.from({ length: 10 }, () => refund(shop, reference, { amount: 1_000 }, key)))
  for (const { status, body } of all) assert.ok(status === 201 || body.code === 'idempotency_in_progress', body.code)
  assert.equal(new Set(all.filter(({ status }) => status === 201).map(({ body }) => body.data.id)).size, 1)
  assert.equal((await ledger(shop, order)).refunded, 1_000)
})

test('A5: a refund whose call died before it was answered is found again by its key, and not made twice', async () => {
  const { reference, order } = await paid(shop, { amount: AMOUNT })
  const key = { 'idempotency-key': 'died' }
  const first = await refund(shop, reference, { amount: 1_000 }, key)
  // As the process leaves it that dies between the refund and the answer; and a minute passes.
  await database.rows(sql`
    update idempotent_calls set answer = null, running_until = now() - interval '1 second',
           created_at = created_at - interval '1 minute'
     where merchant_id = ${shop.merchantUuid} and key = 'died'`)
  const again = await refund(shop, reference, { amount: 1_000 }, key)
  assert.deepEqual([again.status, again.body.data.id], [201, first.body.data.id])
  assert.equal((await shop.payment(reference)).amountRefunded, 1_000)
  assert.equal((await ledger(shop, order)).refunded, 1_000)
})
