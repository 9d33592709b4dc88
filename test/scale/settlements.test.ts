import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import pg from 'pg'
import { sql } from '../../src/database/sql.ts'
import type { ListedSettlementLine, ProviderClient, Providers } from '../../src/providers/provider.ts'
import { startPaying } from '../support/paying.ts'
import type { Json } from '../support/payment-records.ts'
import { makeDue, runDue } from '../support/reconciling.ts'
import { get, only, page, SETTLEMENT } from '../support/settlements.ts'

// A settlement of ten thousand payments of a merchant that has a million.

const PAYMENTS = 1_000_000
const LINES = 10_000
const PAGE = 100
const MOST_CPU_S = 5
const MOST_P95_MS = 100

const service = await startPaying({ inOneProcess: true })
const { database, databaseUrl, parts } = service
const shop = await service.addShop()
const cpuNow = () => process.cpuUsage()
const secondsSince = (from: NodeJS.CpuUsage) => {
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1e6
}

/** Of all its connections so far, in seconds: from /proc, in hundredths. */
async function databaseCpu(): Promise<number> {
  const backends = await database.rows<{ pid: number }>(sql`
    select pid from pg_stat_activity where datname = current_database()`)
  const ticks = backends.map(({ pid }) => {
    const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/, 'x x').split(' ')
    return Number(fields[12 - 1]) + Number(fields[13 - 1])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / 100
}

test('a million payments are made', { timeout: 600_000 }, async () => {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('set session_replication_role = replica; set synchronous_commit = off')
  const of = `${shop.place}::smallint, '${shop.merchantUuid}'::uuid, 'sandbox'`
  const id = `(lpad(to_hex(${Date.now()} - i), 12, '0') || '7000' || '8000' || lpad(to_hex(i), 12, '0'))::uuid`
  const series = `generate_series(1, ${PAYMENTS}) as i`
  await client.query(`
    insert into payments (place, merchant_id, mode, id, reference, short_code, status, amount, currency, country, customer_bears_charge,
                          amount_paid, user_email, metadata, created_at, expires_at, completed_at)
    select ${of}, ${id}, 'P-' || i, 'P-' || i, 'successful', 5000, 'NGN', 'NG', false, 5000, 'ada@example.com', '{}', now(), now(), now() from ${series}`)
  await client.query(`
    insert into attempts (place, merchant_id, mode, id, payment_id, number, reference, provider, account, channel, status, currency,
                          amount_charged, fee, amount_received, order_reference, provider_reference, known_to_provider, created_at, resolved_at)
    select ${of}, ${id}, ${id}, 1, 'A-' || i, 'gateway', 0, 'card', 'successful', 'NGN', 5000, 75, 5000, 'o-' || i, 'o-' || i, true, now(), now() from ${series}`)
  await client.query(`
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, taken_at)
    select ${of}, 'gateway', 0, 't-' || i, ${id}, ${id}, 5000, 'NGN', true, now() - i * interval '1 second' from ${series}`)
  await client.query(
    `update integrations set created_at = now() - interval '100 days' where merchant_id = '${shop.merchantUuid}'`,
  )
  await client.query('analyze payments, attempts, receipts')
  await client.end()
})

test(`a settlement of ${LINES} lines is matched within ${MOST_CPU_S} s of CPU`, { timeout: 300_000 }, async (t) => {
  const lines = Array.from(
    { length: LINES },
    (_, n): ListedSettlementLine => ({
      ...{ id: null, kind: 'payment', transactionId: `t-${n + 1}`, orderReference: `o-${n + 1}` },
      ...{ gross: 5_000, fee: 80, net: 4_920 },
    }),
  )
  const totals = { gross: LINES * 5_000, fees: LINES * 80, net: LINES * 4_920 }
  const lists: ProviderClient['lists'] = {
    settlements: async () => page([{ ...SETTLEMENT, ...totals }]),
    async settlementLines(_, cursor) {
      const at = Number(cursor ?? 0)
      const next = at + PAGE < LINES ? String(at + PAGE) : null
      return { kind: 'page', entries: lines.slice(at, at + PAGE), nextCursor: next }
    },
  }
  const connect: Providers['connect'] = async (...of) => ({ ...(await parts.providers.connect(...of)), lists })
  const deps = { ...parts, providers: { ...parts.providers, connect } }
  const [cpu, inDatabase, took] = [cpuNow(), await databaseCpu(), performance.now()]
  await makeDue(database, shop, '10 days')
  await runDue(deps)
  const [ours, theirs] = [secondsSince(cpu), (await databaseCpu()) - inDatabase]
  const seconds = (performance.now() - took) / 1_000
  t.diagnostic(
    `CPU ${ours.toFixed(1)} s of this process, ${theirs.toFixed(1)} s of PostgreSQL, in ${seconds.toFixed(1)} s`,
  )
  const settlement = only<Json>(await get(shop, 'settlements'))
  assert.deepEqual([settlement.lines, settlement.difference], [{ count: LINES, foreign: 0 }, null])
  assert.ok(ours + theirs <= MOST_CPU_S, `${ours + theirs} s of CPU`)
})

for (const path of [
  'settlements',
  'settlements/:id',
  'settlements/:id/lines?limit=100',
  'settlements/:id/lines?foreign=true',
  'settlements/unsettled',
]) {
  test(`GET ${path} answers within ${MOST_P95_MS} ms (p95)`, async (t) => {
    const { id } = only<Json>(await get(shop, 'settlements'))
    const times: number[] = []
    for (let call = 0; call < 60; call++) {
      const from = performance.now()
      await get(shop, path.replace(':id', id))
      times.push(performance.now() - from)
    }
    const p95 = times.slice(10).sort((a, b) => a - b)[Math.floor(50 * 0.95)] ?? Number.POSITIVE_INFINITY
    t.diagnostic(`p95 ${p95.toFixed(1)} ms`)
    assert.ok(p95 <= MOST_P95_MS, `${p95} ms`)
  })
}

test('the sums of what is not settled yet take less than three seconds with a million payments', async (t) => {
  const from = performance.now()
  const [sum] = await get(shop, 'settlements/unsettled/sums')
  t.diagnostic(`${Math.round(performance.now() - from)} ms for ${sum?.payments} payments`)
  assert.ok(performance.now() - from < 3_000)
})
