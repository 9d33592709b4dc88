import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { chartSums } from '../../src/payments/store/chart-sums.ts'
import { listCursors, resetRollups, sumNextDay } from '../../src/payments/store/rollups.ts'
import { auditRollups } from '../../src/payments/upkeep/audit-rollups.ts'
import { foldRollups, rebuildRollups, sumUpDays } from '../../src/payments/upkeep/fold-rollups.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { payByCard } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

const service = await startPaying()
const { database } = service
const shop = await service.addShop()

/** A clock for which all that was written is old enough to be folded. */
const later = { database, clock: { now: () => new Date(Date.now() + 60_000) } }

async function fold(): Promise<void> {
  while (await foldRollups(later)) {}
}

async function sums(): Promise<Record<string, string>> {
  const rows = await database.rows<{ fact: string; is: string }>(sql`
    select concat_ws(' ', fact, nullif(provider, ''), nullif(channel, ''), case fact when 'attempt.failed' then detail end) as fact,
           sum(count) || ' ' || sum(amount) as is
      from rollups where place = ${shop.place} and merchant_id = ${uuidOf(shop.merchantId)} group by 1 order by 1`)
  return Object.fromEntries(rows.map(({ fact, is }) => [fact, is]))
}

const startMs = Date.now()
await payByCard(shop, { amount: 250_000 })
await payByCard(shop, { amount: 100_000 }, CARD.insufficientFunds, 'failed')
await shop.call('POST', '/payments/v1/checkouts', {
  ...{ amount: 300, country: 'NG', reference: 'GONE-1', user: { email: 'bola@example.com' } },
})
await shop.call('POST', '/payments/v1/payments/GONE-1/cancel')
const SUMS = {
  'attempt.failed gateway card insufficient_funds': '1 0',
  'attempt.started gateway card': '2 0',
  'attempt.successful gateway card': '1 0',
  'payment.cancelled': '1 0',
  'payment.created': '3 350300',
  'payment.successful gateway card': '1 250000',
}

test('payments and events that may still be joined by a late commit are not folded', async () => {
  await foldRollups({ database, clock: { now: () => new Date(startMs + 14_900) } })
  assert.deepEqual(await sums(), {})
})

test('each payment and event is counted once, however many processes fold', async () => {
  await Promise.all(Array.from({ length: 8 }, fold))
  assert.deepEqual(await sums(), SUMS)
  await fold()
  assert.deepEqual(await sums(), SUMS)
  await payByCard(shop, { amount: 5_000 })
  await Promise.all([fold(), fold()])
  assert.equal((await sums())['payment.successful gateway card'], '2 255000')
  assert.deepEqual((await auditRollups(database)).differences, [])
})

test('the audit finds a wrong, a missing and an invented rollup, and a rebuild mends them', async () => {
  const { rollups } = await auditRollups(database)
  await database.rows(
    sql`update rollups set count = count + 1, amount = 7 where place = ${shop.place} and fact = 'payment.created'`,
  )
  await database.rows(sql`delete from rollups where place = ${shop.place} and fact = 'attempt.failed'`)
  await database.rows(sql`
    insert into rollups (place, merchant_id, mode, hour, currency, fact, provider, channel, detail, count, amount)
    values (${shop.place}, ${uuidOf(shop.merchantId)}, 'live', '2026-01-01T00:00:00Z', 'NGN', 'payment.created', '', '', '', 1, 1)`)
  const { differences } = await auditRollups(database)
  const found = differences.map(({ rollup, finding }) => `${rollup}: ${finding}`).join('\n')
  assert.match(found, /payment\.created: count is 5, its records say 4/)
  assert.match(found, /payment\.created: amount is 7, its records say 355300/)
  assert.match(found, /attempt\.failed gateway card insufficient_funds: count is 0, its records say 1/)
  assert.match(found, /live 2026-01-01T00:00:00.000Z NGN payment\.created: count is 1, its records say 0/)
  await rebuildRollups(later)
  assert.deepEqual(await auditRollups(database), { rollups, differences: [] })
})

const DAY_MS = 24 * 3_600_000
const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
const daysAgo = (days: number) => new Date(today - days * DAY_MS)

/** Hourly sums of the last days, as if they had been folded. Their payments do not exist. */
async function addHours(days: number): Promise<void> {
  await database.rows(sql`
    insert into rollups (place, merchant_id, mode, hour, currency, fact, provider, channel, detail, count, amount)
    select ${shop.place}, ${uuidOf(shop.merchantId)}, 'live', ${daysAgo(days)}::timestamptz + n * interval '1 hour', 'NGN', 'payment.successful',
           'gateway', 'card', (array['5', '60', 'more'])[1 + n % 3], n + 1, 100 * n from generate_series(0, ${days * 24 - 1}) n`)
}

test('charts are the same with and without daily sums, which are made once, and which the audit compares', async () => {
  await addHours(10)
  const scope = { place: shop.place, merchantId: shop.merchantId, mode: 'live' as const }
  // Days in Lagos, from before the first sum until today.
  const starts = Array.from({ length: 13 }, (_, day) => new Date(daysAgo(12 - day).getTime() - 3_600_000))
  const to = new Date(daysAgo(-1).getTime() - 3_600_000)
  const charts = async () => {
    const sums = await chartSums(database, scope, { starts, to, recent: new Date() })
    return sums.map((sum) => JSON.stringify(sum)).sort()
  }
  const byHour = await charts()
  assert.ok(byHour.length > 30)
  const daily = () =>
    database.rows<{ day: Date; count: number }>(sql`
      select day, sum(count)::integer as count from daily_rollups
       where place = ${shop.place} and mode = 'live' group by 1 order by 1`)
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (await sumUpDays({ database })) {}
    }),
  )
  const summed = await daily()
  assert.deepEqual(summed[0], { day: daysAgo(10), count: 300 })
  assert.ok(summed.length >= 9, 'all days that ended more than an hour ago')
  assert.deepEqual(await charts(), byHour)

  const ofDays = async () =>
    (await auditRollups(database)).differences.filter(({ rollup }) => rollup.startsWith('day '))
  assert.deepEqual(await ofDays(), [])
  await database.rows(sql`
    update daily_rollups set count = count + 1 where place = ${shop.place} and day = ${daysAgo(10)} and detail = '5'`)
  const [difference, ...more] = await ofDays()
  assert.deepEqual([difference?.finding, more], ['count is 93, its hours say 92', []])
  await rebuildRollups(later)
  assert.deepEqual([await daily(), (await auditRollups(database)).differences], [[], []])
})

test('a day whose hourly sums are being made again is not summed up', async () => {
  await addHours(10)
  const listed = (await listCursors(database)).find(({ place }) => place === shop.place)
  assert.ok(listed)
  // The sums were reset after another process had read the cursor.
  await database.transaction((tx) => resetRollups(tx, shop.place))
  await addHours(10)
  assert.equal(await sumNextDay(database, listed, daysAgo(0)), false)

  // They are reset while it waits.
  await rebuildRollups(later)
  await addHours(10)
  const cursor = (await listCursors(database)).find(({ place }) => place === shop.place)
  assert.ok(cursor)
  let summed: Promise<boolean> | undefined
  await database.transaction(async (tx) => {
    await resetRollups(tx, shop.place)
    summed = sumNextDay(database, cursor, daysAgo(0))
    await eventually(
      () =>
        database.rows(
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      (waiting) => waiting.length > 0,
    )
  })
  assert.equal(await summed, false)
  await rebuildRollups(later)
})
