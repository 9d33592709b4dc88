import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { foldRollups } from '../../src/payments/upkeep/fold-rollups.ts'
import { openCases } from '../support/cases.ts'
import { browserAs } from '../support/dashboard.ts'
import { startPaying } from '../support/paying.ts'
import { payByCard } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database } = service
const shop = await service.addShop()
const { merchantId } = shop
const viewer = await browserAs(service, 'viewer', merchantId)
const base = `/merchants/${merchantId}/sandbox`
const TODAY = new Date().toISOString().slice(0, 10)
const WEEK_AGO = new Date(Date.now() - 6 * 86_400_000).toISOString().slice(0, 10)
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)

await payByCard(shop, { amount: 250_000 })
await payByCard(shop, { amount: 50_000, reference: 'LATER-1' })
await payByCard(shop, { amount: 100_000 }, CARD.insufficientFunds, 'failed')
await payByCard(shop, { amount: 900, currency: 'GHS', country: 'GH' })
await shop.call('POST', '/payments/v1/checkouts', {
  ...{ amount: 300, country: 'NG', reference: 'GONE-1', user: { email: 'bola@example.com' } },
})
await shop.call('POST', '/payments/v1/payments/GONE-1/cancel')

async function charts(query: Record<string, string> = {}) {
  const given = new URLSearchParams({ from: WEEK_AGO, to: TOMORROW, zone: 'UTC', ...query })
  const { status, body } = await viewer.call('GET', `${base}/charts?${given}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data
}

test('the charts count payments the moment they happen, and the same after they are folded', async () => {
  const fresh = await charts()
  const { timeToPay, ...totals } = fresh.totals
  assert.deepEqual(totals, {
    ...{ volume: 300_000, created: 4, paid: 2, cancelled: 1, expired: 0 },
    ...{ attempts: 3, attemptsPaid: 2, attemptsFailed: 1, attemptsAbandoned: 0 },
  })
  assert.ok(timeToPay.p50 > 0 && timeToPay.p50 <= timeToPay.p90 && timeToPay.p90 < 60, JSON.stringify(timeToPay))
  assert.deepEqual(
    [fresh.currency, fresh.currencies, fresh.unit, fresh.isBehind],
    ['NGN', ['NGN', 'GHS'], 'day', false],
  )
  assert.equal(fresh.parts.length, 8)
  assert.equal(fresh.parts[0].at, `${WEEK_AGO}T00:00:00.000Z`)
  const sums = { volume: 300_000, paid: 2, attemptsPaid: 2, attemptsFailed: 1 }
  assert.deepEqual(fresh.providers, [{ name: 'gateway', ...sums }])
  assert.deepEqual(fresh.channels, [{ name: 'card', ...sums }])
  assert.deepEqual(fresh.declines, [{ code: 'insufficient_funds', count: 1 }])
  await foldRollups({ database, clock: { now: () => new Date(Date.now() + 60_000) } })
  assert.ok((await database.rows(sql`select from rollups where place = ${shop.place}`)).length > 5)
  assert.deepEqual(await charts(), fresh)
})

test('another currency, one day by hour, and a day in which nothing happened', async () => {
  assert.equal((await charts({ currency: 'GHS' })).totals.volume, 900)
  const hours = await charts({ from: TODAY })
  assert.deepEqual([hours.unit, hours.parts.length, hours.totals.paid], ['hour', 48, 2])
  const none = await charts({ from: '2026-01-01', to: '2026-01-01', zone: 'Europe/Berlin' })
  assert.deepEqual([none.currency, none.totals.paid, none.totals.timeToPay, none.declines], [null, 0, null, []])
  assert.equal(none.parts[0].at, '2025-12-31T23:00:00.000Z')
})

test('a range that is too long, backwards or no range, and an unknown zone are refused', async () => {
  const ranges: Record<string, string>[] = [
    { from: '2025-01-01', to: '2026-11-01' },
    { from: '2026-02-02', to: '2026-02-01' },
    { from: '2026-99-99' },
    { from: 'today' },
    { zone: 'Moon/Base' },
    { zone: '+01:00' },
    { currency: 'naira' },
  ]
  for (const wrong of ranges) {
    const query = new URLSearchParams({ from: WEEK_AGO, to: TODAY, zone: 'UTC', ...wrong })
    assert.equal((await viewer.call('GET', `${base}/charts?${query}`)).status, 400, String(query))
  }
})

test('charts of a day outside of 2000 to 2100 are refused at once, and the last days inside are answered', async () => {
  for (const day of ['9999-12-31', '0000-01-01', '1999-12-31', '2101-01-01', '2026-02-30', '+010000-01-01']) {
    const query = new URLSearchParams({ from: day, to: day, zone: 'UTC' })
    const { status, body } = await viewer.call('GET', `${base}/charts?${query}`)
    assert.deepEqual([status, body.code], [400, 'invalid_request'], day)
  }
  assert.equal((await charts({ from: '2100-12-31', to: '2100-12-31' })).parts.length, 24)
  assert.equal((await charts({ from: '2000-01-01', to: '2000-12-31' })).parts.length, 366)
  const leftOut = { from: '2011-12-30', to: '2011-12-30', zone: 'Pacific/Apia' }
  assert.equal((await charts(leftOut)).totals.paid, 0, 'a day that the zone left out')
})

test('payments that are not summed up yet are announced', async () => {
  await database.rows(sql`delete from rollup_cursors where place = ${shop.place}`)
  await database.rows(sql`delete from rollups where place = ${shop.place}`)
  const old = { place: shop.place, uuid: '01900000-0000-7000-8000-000000000001' }
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge,
                          user_email, metadata, created_at, expires_at)
    values (${old.place}, ${old.uuid}, ${uuidOf(merchantId)}, 'sandbox', 'OLD-1', 'OLD-1', 5, 'NGN', 'NG', false, 'ada@example.com', '{}',
            '2024-06-10', '2024-06-11')`)
  assert.equal((await charts()).isBehind, true)
  await foldRollups({ database, clock: { now: () => new Date(Date.now() + 60_000) } })
  assert.equal((await charts()).isBehind, false)
})

test('the overview counts what needs attention', async () => {
  const { body } = await viewer.call('GET', `${base}/overview`)
  const none = { openCases: 0, transfers: 0, openDisputes: 0 }
  const well = { failingEndpoints: 0, disabledEndpoints: 0, givenUpDeliveries: 0, expiringKeys: 0 }
  const [provider] = body.data.providers
  assert.deepEqual(body.data, { ...none, ...well, providers: [provider] })
  assert.deepEqual([provider.provider, provider.healthy], ['gateway', true])
  await openCases(database, ['LATER-1'], 'a person must look')
  const endpoint = (await shop.call('POST', '/payments/v1/webhook-endpoints', { url: 'https://shop.example/hook' }))
    .body
  assert.ok(endpoint.data, JSON.stringify(endpoint))
  await database.rows(sql`update webhook_endpoints set failing_since = now() where merchant_id = ${uuidOf(merchantId)}`)
  const after = (await viewer.call('GET', `${base}/overview`)).body.data
  assert.deepEqual([after.openCases, after.failingEndpoints], [1, 1])
})
