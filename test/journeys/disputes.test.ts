import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { type Currency, money } from '../../src/kernel/money.ts'
import type { ListedDispute, ListedRefund } from '../../src/providers/provider.ts'
import { eventually, type Shop, startPaying } from '../support/paying.ts'
import { assertAudited } from '../support/payment-records.ts'
import { reconcile } from '../support/reconciling.ts'
import { atProvider, givenBack, listedRefund, listingProvider, toldOf, typesTold } from '../support/returns.ts'
import { AMOUNT, loseNotices, type Paid, paid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts } = service
afterEach(() => assertAudited(database))
const { reconcileWith } = listingProvider(service)

const openDispute = (shop: Shop, { order }: Paid, more: object = {}) =>
  atProvider(shop, '/disputes', { reference: order, ...more })
const close = (shop: Shop, id: string, outcome: 'won' | 'lost') =>
  atProvider(shop, `/disputes/${id}/close`, { outcome }, 200)

const disputesOf = async (shop: Shop, { reference }: Paid) =>
  (await shop.call('GET', `/payments/v1/disputes?payment=${reference}`)).body.data
const becomes = (shop: Shop, payment: Paid, status: string) =>
  eventually(
    () => disputesOf(shop, payment),
    ([dispute]) => dispute?.status === status,
  )
const moneyOf = async (shop: Shop, payment: Paid) => {
  const { status, amountPaid, amountRefunded } = await shop.payment(payment.reference)
  return [status, amountPaid, amountRefunded]
}

test('an open dispute does not count as returned money', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const theirs = await openDispute(shop, payment, { amount: 400_000, reason: 'product_not_received' })
  const [dispute] = await becomes(shop, payment, 'open')
  const { id, attempt, openedAt, ...rest } = dispute
  assert.match(id, /^dsp_/)
  assert.match(attempt, /^att_/)
  assert.equal(openedAt, theirs.openedAt)
  assert.deepEqual(rest, {
    payment: payment.reference,
    amount: 400_000,
    currency: 'NGN',
    status: 'open',
    reason: 'product_not_received',
    respondBy: theirs.respondBy,
    resolvedAt: null,
  })
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 0])
  const [told, ...others] = await toldOf(database, payment)
  assert.equal(others.length, 0)
  const { payment: _, attempt: of, ...shown } = dispute
  assert.deepEqual([told?.type, told?.data.dispute, told?.data.attempt.id], ['dispute.opened', shown, of])
  assert.equal(told?.data.payment.status, 'successful')
})

test('each change of a dispute’s reason or amount is announced once as dispute.updated', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment, { amount: 400_000 })
  await becomes(shop, payment, 'open')
  await atProvider(shop, `/disputes/${id}`, { amount: 500_000, reason: 'duplicate' }, 200)
  const [dispute] = await eventually(
    () => disputesOf(shop, payment),
    ([{ amount }]) => amount === 500_000,
  )
  assert.equal(dispute.reason, 'duplicate')
  await reconcile(parts, shop)
  assert.deepEqual(await typesTold(database, payment), ['dispute.opened', 'dispute.updated'])
})

test('a dispute that is won changes no money', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment)
  await becomes(shop, payment, 'open')
  await close(shop, id, 'won')
  const [dispute] = await becomes(shop, payment, 'won')
  assert.ok(dispute.resolvedAt)
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 0])
  assert.deepEqual(await typesTold(database, payment), ['dispute.opened', 'dispute.won'])
  const refund = await shop.call('POST', `/payments/v1/payments/${payment.reference}/refunds`, {})
  assert.deepEqual([refund.status, refund.body.data.status], [201, 'successful'])
})

test('the money of a lost dispute is counted as returned once, and cannot be refunded again', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment, { amount: 400_000 })
  await becomes(shop, payment, 'open')
  await close(shop, id, 'lost')
  await becomes(shop, payment, 'lost')
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 400_000])
  assert.equal(await givenBack(shop, payment), 400_000)
  const told = await toldOf(database, payment)
  assert.deepEqual(
    told.map(({ type }) => type),
    ['dispute.opened', 'dispute.lost'],
  )
  const { refund } = told[1]?.data ?? {}
  assert.deepEqual([refund.kind, refund.status, refund.amount], ['chargeback', 'successful', 400_000])
  const rest = await shop.call('POST', `/payments/v1/payments/${payment.reference}/refunds`, {})
  assert.equal(rest.body.data.amount, AMOUNT - 400_000)
})

test('a dispute whose notices were all lost is found by reconciliation, with all its events', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await loseNotices(shop)
  const { id } = await openDispute(shop, payment)
  await close(shop, id, 'lost')
  await reconcile(parts, shop)
  assert.deepEqual(await typesTold(database, payment), ['dispute.opened', 'dispute.lost'])
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, AMOUNT])
})

test('a lost dispute that the provider also lists as a refund is counted once', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment, { amount: 400_000 })
  await close(shop, id, 'lost')
  await becomes(shop, payment, 'lost')
  await loseNotices(shop)
  await atProvider(shop, '/refunds', { reference: payment.order, dispute: id })
  for (let days = 0; days < 2; days++) {
    await reconcile(parts, shop)
  }
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 400_000])
  assert.equal(await givenBack(shop, payment), 400_000)
  assert.deepEqual(await typesTold(database, payment), ['dispute.opened', 'dispute.lost'])
})

test('a refund as large as the lost dispute, which the provider does not link, counts beside it, and needs a review', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment, { amount: 400_000 })
  await becomes(shop, payment, 'open')
  await atProvider(shop, '/refunds', { reference: payment.order, amount: 400_000 })
  await eventually(
    () => shop.payment(payment.reference),
    ({ amountRefunded }) => amountRefunded === 400_000,
  )
  await close(shop, id, 'lost')
  await becomes(shop, payment, 'lost')
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 800_000], 'never less than the provider says')
  const [attempt] = (await shop.payment(payment.reference)).attempts
  assert.match(attempt.needsReview, /^refund_mismatch: /)
  const told = await toldOf(database, payment)
  assert.deepEqual(
    told.map(({ type, data }) => [type, data.refund?.kind]),
    [
      ['dispute.opened', undefined],
      ['refund.successful', 'provider'],
      ['dispute.lost', 'chargeback'],
    ],
  )
})

test('a dispute that is won after it was lost gives the money back in our records too', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const { id } = await openDispute(shop, payment)
  await close(shop, id, 'lost')
  await becomes(shop, payment, 'lost')
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, AMOUNT])
  await close(shop, id, 'won')
  await becomes(shop, payment, 'won')
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 0])
  assert.equal(await givenBack(shop, payment), 0)
  await close(shop, id, 'lost')
  await becomes(shop, payment, 'lost')
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, AMOUNT])
  assert.deepEqual(await typesTold(database, payment), [
    'dispute.opened',
    'dispute.lost',
    'dispute.won',
    'dispute.lost',
  ])
})

test('a merchant lists its own disputes by status and payment, with pagination', async () => {
  const shop = await service.addShop()
  const ids: string[] = []
  for (let count = 0; count < 3; count++) {
    const payment = await paid(shop)
    const { id } = await openDispute(shop, payment)
    const [dispute] = await becomes(shop, payment, 'open')
    ids.unshift(dispute.id)
    if (count === 0) {
      await close(shop, id, 'won')
      await becomes(shop, payment, 'won')
    }
  }
  const list = async (query: string) => (await shop.call('GET', `/payments/v1/disputes?${query}`)).body
  const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id)
  const first = await list('limit=2')
  assert.deepEqual(idsOf(first), ids.slice(0, 2))
  const second = await list(`limit=2&cursor=${first.nextCursor}`)
  assert.deepEqual([idsOf(second), second.nextCursor], [ids.slice(2), null])
  assert.deepEqual(idsOf(await list('status=won')), ids.slice(2))
  assert.deepEqual(idsOf(await list('status=lost')), [])
  const one = await shop.call('GET', `/payments/v1/disputes/${ids[0]}`)
  assert.deepEqual([one.status, one.body.data.id], [200, ids[0]])

  const stranger = await service.addShop()
  for (const [path, by] of [
    [`/${ids[0]}`, stranger],
    [`?payment=${one.body.data.payment}`, stranger],
    ['/dsp_nothing', shop],
    ['?payment=nothing', shop],
  ] as const) {
    const { status, body } = await by.call('GET', `/payments/v1/disputes${path}`)
    assert.deepEqual([status, body.code], [404, 'not_found'], path)
  }
  assert.deepEqual((await stranger.call('GET', '/payments/v1/disputes')).body.data, [])
  assert.equal((await shop.call('GET', '/payments/v1/disputes?status=odd')).status, 400)
})

test('the timeline of a payment shows its dispute', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await openDispute(shop, payment, { reason: 'fraudulent' })
  const [dispute] = await becomes(shop, payment, 'open')
  const { body } = await shop.call('GET', `/payments/v1/payments/${payment.reference}/timeline`)
  const entry = body.data.find(({ what }: { what: string }) => what === 'dispute.opened')
  assert.deepEqual([entry.detail.dispute.id, entry.detail.dispute.reason], [dispute.id, 'fraudulent'])
})

const listedDispute = (status: ListedDispute['status'], amount = 400_000): ListedDispute => ({
  disputeId: '77',
  amount: money(amount, 'NGN' as Currency),
  status,
  reason: null,
  respondBy: null,
  openedAt: new Date('2026-01-02T00:00:00Z'),
})

test('a refund that follows a partial dispute without naming it counts beside it, in every order of the list', async () => {
  const shop = await service.addShop()
  const refund = listedRefund('77', 400_000, { at: new Date('2026-01-03T00:00:00Z') })
  const orders: { refunds?: ListedRefund[]; disputes?: ListedDispute[] }[][] = [
    [{ disputes: [listedDispute('lost')] }, { disputes: [listedDispute('lost')], refunds: [refund] }],
    [
      { disputes: [listedDispute('open')], refunds: [refund] },
      { disputes: [listedDispute('lost')], refunds: [refund] },
    ],
    [{ disputes: [listedDispute('lost')], refunds: [refund] }],
    [{ refunds: [refund] }, { disputes: [listedDispute('lost')], refunds: [refund] }],
  ]
  for (const [index, lists] of orders.entries()) {
    const payment = await paid(shop)
    for (const { refunds, disputes } of [...lists, ...lists.slice(-1)]) await reconcileWith(payment, refunds, disputes)
    assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 800_000], `order ${index}`)
    const [attempt] = (await shop.payment(payment.reference)).attempts
    assert.match(attempt.needsReview, /^refund_mismatch: /)
  }
})

test('a refund that follows a dispute of all the money is the same money: both cannot be true', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const refund = listedRefund('78', AMOUNT, { at: new Date('2026-01-03T00:00:00Z') })
  for (const refunds of [[], [refund], [refund]]) await reconcileWith(payment, refunds, [listedDispute('lost', AMOUNT)])
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, AMOUNT])
  assert.equal((await shop.payment(payment.reference)).attempts[0].needsReview, null)
})

test('a refund that was made before the dispute was opened is counted separately', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const refund = listedRefund('77', 400_000, { at: new Date('2026-01-01T00:00:00Z') })
  await reconcileWith(payment, [refund], [listedDispute('lost')])
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, 800_000])
})

test('a lost dispute that exceeds the received money needs review', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await reconcileWith(payment, [], [listedDispute('lost', AMOUNT + 1)])
  assert.deepEqual(await moneyOf(shop, payment), ['successful', AMOUNT, AMOUNT])
  const { attempts } = await shop.payment(payment.reference)
  assert.match(attempts[0].needsReview, /^dispute_lost: /)
  assert.equal((await disputesOf(shop, payment))[0].status, 'lost')
})

test('a stale list does not reopen a dispute', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  for (const status of ['open', 'lost', 'open'] as const) await reconcileWith(payment, [], [listedDispute(status)])
  assert.deepEqual(await typesTold(database, payment), ['dispute.opened', 'dispute.lost'])
})
