import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { browserAs } from '../support/dashboard.ts'
import { startPaying } from '../support/paying.ts'
import { reconcile } from '../support/reconciling.ts'
import { AMOUNT, paid } from '../support/sandbox-payments.ts'

// What the screens about settlements read beside the routes of the merchants' API.
const service = await startPaying({ inOneProcess: true })
const { database, parts } = service
const shop = await service.addShop()
const { merchantId, merchantUuid } = shop
const viewer = await browserAs(service, 'viewer', merchantId)
const base = `/merchants/${merchantId}/sandbox`
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

async function read(path: string) {
  const { status, body } = await viewer.call('GET', `${base}${path}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}
const money = (from = day(-3), to = day(1)) => read(`/money?from=${from}&to=${to}&zone=UTC`)
const settled = ({ reference }: { reference: string }) => read(`/payments/${reference}/settlements`)

const first = await paid(shop)
const second = await paid(shop)
const other = await paid(shop, { currency: 'GHS', country: 'GH', amount: 900 })
const { fee } = await shop.payment(first.reference)
const { fee: feeAbroad } = await shop.payment(other.reference)

test('gross, fees, refunds and lost disputes of a range of days, by currency', async () => {
  await shop.call('POST', `/payments/v1/payments/${second.reference}/refunds`, { amount: 250_000 })
  await sendDueRefunds(parts, 100)
  const sums = { gross: 2 * AMOUNT, fees: 2 * fee, calculated: 0, refunds: 250_000, disputes: 0 }
  const abroad = { currency: 'GHS', gross: 900, fees: feeAbroad, calculated: 0, refunds: 0, disputes: 0 }
  assert.deepEqual(await money(), [{ currency: 'NGN', ...sums }, abroad])
  await database.rows(sql`update refunds set kind = 'chargeback' where merchant_id = ${merchantUuid}`)
  assert.deepEqual(await money(), [{ currency: 'NGN', ...sums, refunds: 0, disputes: 250_000 }, abroad])
  await database.rows(sql`update refunds set kind = 'merchant' where merchant_id = ${merchantUuid}`)
})

test('a fee that the provider has not named is the calculated one, and is said to be', async () => {
  const charged = async (now: number | null) => {
    const [attempt] = await database.rows<{ id: string }>(sql`
      update attempts set fee_charged = ${now}::bigint where provider_reference = ${first.order} returning id`)
    await database.rows(sql`update receipts set fee_charged = ${now}::bigint where attempt_id = ${attempt?.id}`)
    const [{ fees, calculated }] = await money()
    return [fees, calculated]
  }
  assert.deepEqual(await charged(null), [2 * fee, fee])
  assert.deepEqual(await charged(fee + 100), [2 * fee + 100, 0])
  assert.deepEqual(await charged(fee), [2 * fee, 0])
})

test('what happened on other days does not count, and wrong ranges are refused', async () => {
  assert.deepEqual(await money(day(-9), day(-2)), [])
  await database.rows(sql`
    update receipts set taken_at = taken_at - interval '7 days' where merchant_id = ${merchantUuid} and currency = 'GHS'`)
  assert.deepEqual(
    (await money(day(-9), day(-5))).map(({ currency }: { currency: string }) => currency),
    ['GHS'],
  )
  for (const query of ['from=2026-02-02&to=2026-02-01&zone=UTC', 'from=2026-02-01&to=2026-02-02&zone=Moon'])
    assert.equal((await viewer.call('GET', `${base}/money?${query}`)).status, 400, query)
})

test('a payment says in which settlement its money and its refund are, or when it is expected', async () => {
  await reconcile(parts, shop, '10 days')
  const [waiting] = await settled(first)
  assert.deepEqual([waiting.settlement, waiting.gross, waiting.late], [null, AMOUNT, false])
  assert.match(waiting.expectedOn, /^\d{4}-\d\d-\d\d$/)
  await database.rows(sql`
    update integrations set created_at = now() - interval '50 days' where merchant_id = ${merchantUuid}`)
  await database.rows(sql`
    update receipts set taken_at = taken_at - interval '9 days' where transaction_id in (
      select transaction_id from receipts r join attempts a on a.id = r.attempt_id where a.provider_reference = ${first.order})`)
  assert.equal((await settled(first))[0].late, true)
  await shop.call('POST', '/sandbox/gateway/settlements', {})
  await reconcile(parts, shop, '10 days')
  const lines = await settled(second)
  assert.deepEqual(
    lines.map(({ kind, net, status }: Record<string, unknown>) => [kind, net, status]),
    [
      ['payment', AMOUNT - fee, 'paid'],
      ['refund', -250_000, 'paid'],
    ],
  )
  assert.match(lines[0].settlement, /^stl_/)
  assert.match(lines[0].paidAt, /Z$/)
})

test('the lines of a settlement that differ are listed with what is on record', async () => {
  const [{ id }] = (await shop.call('GET', '/payments/v1/settlements?currency=NGN')).body.data
  assert.deepEqual(await read(`/settlements/${id}/odd-lines`), [])
  await database.rows(sql`
    update settlement_lines set gross = gross - 100, net = net - 100
     where merchant_id = ${merchantUuid} and kind = 'payment' and payment_id = (select id from payments where reference = ${first.reference})`)
  const [line, ...others] = await read(`/settlements/${id}/odd-lines`)
  assert.deepEqual(others, [])
  assert.deepEqual([line.payment, line.gross, line.received], [first.reference, AMOUNT - 100, AMOUNT])
  assert.equal((await viewer.call('GET', `${base}/settlements/stl_x/odd-lines`)).status, 404)
})
