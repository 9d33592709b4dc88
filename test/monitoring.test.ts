import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sql } from '../src/database/sql.ts'
import { EVENT_LOOP_LAG, METRICS } from '../src/metrics/list.ts'
import { lateAfterMs } from '../src/reconciliation/windows.ts'
import {
  findingsOf,
  LAG_SECONDS,
  LATE_DELIVERIES_SECONDS,
  LATE_SECONDS,
  processFindings,
} from '../src/status/findings.ts'
import { readStatus, type Status } from '../src/status/read-status.ts'
import { dashboard, metricsPage } from './monitoring/generate.ts'
import { openCases, openCasesOfMoney } from './support/cases.ts'
import { startListener } from './support/listener.ts'
import { eventually, request, startPaying } from './support/paying.ts'
import { charge } from './support/sandbox-payments.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const rules = read('ops/prometheus/alerts.yml')
const cases = read('ops/prometheus/alerts.test.yml')
const alerts = [...rules.matchAll(/- alert: (\w+)\n\s+expr: ([\s\S]*?)\n\s+(?:for|labels):/g)].map(
  ([, name = '', expr = '']) => ({ name, expr }),
)

const { addShop, baseUrl, database } = await startPaying({ deliver: true, worker: true })
const shop = await addShop()
const listener = await startListener()
const { body } = await shop.initialize({ webhook: listener.url })
await charge(shop, body.data.data.reference)
await listener.hears(1)
const metrics = await eventually(
  async () => String((await request(`${baseUrl}/metrics`, 'GET')).body),
  (text) =>
    /manilla_webhook_tries_total\{mode="sandbox",outcome="delivered"\} 1/.test(text) &&
    /^manilla_queue_depth\{/m.test(text), // not while the database takes longer than 2 s
)
const served = new Set([...metrics.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name))

test('a paid payment is counted: attempts, provider calls, webhook tries, batches', () => {
  for (const line of [
    /^manilla_attempts_total\{provider="gateway",mode="sandbox",outcome="started"\} 1$/m,
    /^manilla_attempts_total\{provider="gateway",mode="sandbox",outcome="successful"\} 1$/m,
    /^manilla_payments_total\{mode="sandbox",outcome="successful"\} 1$/m,
    /^manilla_provider_calls_total\{provider="gateway",mode="sandbox",call="start",outcome="\w+"\} 1$/m,
    /^manilla_provider_call_seconds_count\{provider="gateway",call="check"\} [1-9]/m,
    /^manilla_breakers\{provider="gateway",mode="sandbox",state="closed"\} [1-9]/m,
    /^manilla_webhook_try_seconds_count\{outcome="delivered"\} 1$/m,
    // Read at most every 5 seconds, so this may be from before the delivery.
    /^manilla_queue_depth\{queue="deliveries"\} [01]$/m,
    /^manilla_queue_oldest_seconds\{queue="checks"\} \d/m,
    /^manilla_delivery_workers [01]$/m,
    /^manilla_needs_review\{mode="live"\} 0$/m,
    /^manilla_batch_items_count\{batch="record tries"\} [1-9]/m,
    /^manilla_database_wait_seconds_count [1-9]/m,
  ])
    assert.match(metrics, line)
})

test('the service has exactly the metrics of the list, and no label names a merchant', () => {
  assert.deepEqual(
    [...served].filter((name) => name.startsWith('manilla_')).sort(),
    Object.values(METRICS)
      .map(({ name }) => name)
      .sort(),
  )
  assert.doesNotMatch(metrics, /mer_|pay_|example\.com/)
})

const isServed = (name: string) => served.has(name) || served.has(name.replace(/_(bucket|count|sum)$/, ''))
const namesIn = (text: string) => text.match(/\b(manilla|nodejs|process)_\w+/g) ?? []

test('every metric in the dashboard and in the alerts is one that the service has', () => {
  assert.ok(served.has(EVENT_LOOP_LAG))
  const panels = [...read('ops/grafana/dashboard.json').matchAll(/"expr": "(.*)"/g)].map(([, expr = '']) => expr)
  assert.ok(panels.length > 20 && alerts.length > 15)
  for (const text of [...panels, ...alerts.map(({ expr }) => expr)])
    assert.deepEqual(
      namesIn(text).filter((name) => !isServed(name)),
      [],
      text,
    )
})

test('docs/operations/metrics.md and the dashboard are up to date: npm run monitoring', () => {
  assert.equal(read('docs/operations/metrics.md'), metricsPage())
  assert.deepEqual(JSON.parse(read('ops/grafana/dashboard.json')), dashboard())
})

test('every alert has a case in which it fires, one in which it stays silent, and a section in incidents.md', () => {
  const sections = [...read('docs/operations/incidents.md').matchAll(/^## (Manilla\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(
    sections,
    alerts.map(({ name }) => name),
  )
  const outcomes = [...cases.matchAll(/alertname: (\w+)\n\s+exp_alerts:( \[\])?/g)].map(
    ([, name, silent]) => `${name} ${silent ? 'silent' : 'fires'}`,
  )
  assert.deepEqual(
    outcomes,
    alerts.flatMap(({ name }) => [`${name} fires`, `${name} silent`]),
  )
})

const HOUR_AGO = new Date(Date.now() - 3_600_000)

test('doctor finds what the alerts report, with the same limits', async () => {
  const quiet = await readStatus(database, 1_000)
  assert.deepEqual(findingsOf(quiet, new Date()), [])
  const late = { due: 1, oldestAt: HOUR_AGO }
  const status: Status = {
    queues: { ...quiet.queues, checks: late, deliveries: late },
    workers: 0,
    cases: { ...quiet.cases, live: { ...quiet.cases.live, needsReview: 2, unmatchedMoney: 1, refundsStuck: 3 } },
    comparisons: [
      { provider: 'x', window: '180 days', comparedAt: new Date(Date.now() - 8.1 * 86_400_000) },
      { provider: 'y', window: '48 hours', comparedAt: HOUR_AGO },
      { provider: 'y', window: '180 days', comparedAt: new Date(Date.now() - 7.9 * 86_400_000) },
    ],
  }
  const found = [
    ...findingsOf(status, new Date()),
    ...processFindings(`manilla_breakers{provider="x",mode="live",state="open"} 1\n${EVENT_LOOP_LAG} 0.9\n`),
  ]
  assert.deepEqual(
    found.map(({ alert }) => alert),
    [
      ...['ManillaNoWorker', 'ManillaQueueLate', 'ManillaWebhooksLate', 'ManillaReconciliationLate'],
      ...['ManillaNeedsReview', 'ManillaUnmatchedMoney', 'ManillaRefundsStuck', 'ManillaBreakerOpen'],
      'ManillaEventLoopLag',
    ],
  )
  assert.match(found[1]?.says ?? '', /check of an attempt .* 60 minutes/)
  // A busy machine may be late itself.
  const inTime = metrics.replace(new RegExp(`^${EVENT_LOOP_LAG} .*$`, 'm'), `${EVENT_LOOP_LAG} 0.01`)
  assert.deepEqual(processFindings(inTime), [])
  const limits = { ManillaQueueLate: LATE_SECONDS, ManillaWebhooksLate: LATE_DELIVERIES_SECONDS }
  for (const [name, limit] of Object.entries({ ...limits, ManillaEventLoopLag: LAG_SECONDS }))
    assert.ok(alerts.find((alert) => alert.name === name)?.expr.endsWith(`> ${limit}`), name)
  const comparing = alerts.find(({ name }) => name === 'ManillaReconciliationLate')?.expr ?? ''
  for (const window of ['48 hours', '8 days', 'open', '180 days'] as const)
    assert.match(comparing, new RegExp(`"[^"]*${window}[^"]*"}\\) > ${lateAfterMs(window) / 1_000}`))
  assert.match(found[3]?.says ?? '', /an account of x was not compared with its lists \(180 days\) for 194 hours/)
})

test('late work and cases for a person are counted by mode, and handled money no more', async () => {
  // Leased, so that the worker of this test leaves it alone.
  await database.rows(sql`
    update attempts set next_check_at = now() - interval '1 hour', check_leased_until = now() + interval '1 hour'`)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted)
    select place, id, payment_id, id, merchant_id, 'live', 100, currency, 'merchant', 'pending', false from attempts`)
  await openCases(database, undefined, 'test')
  await database.rows(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, reason, subject_kind, subject, summary, opened_at)
    select place, gen_random_uuid(), merchant_id, mode, payment_id, 'unanswered', 'refund', id::text, 'pending for 3 days', now() from refunds`)
  const addMoney = (transaction: string) =>
    database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, transaction_id, amount, currency, counted, taken_at)
    values (${shop.place}, ${shop.merchantUuid}, 'live', 'gateway', ${transaction}, 100, 'NGN', false, now())`)
  await addMoney('handled')
  await database.rows(sql`
    insert into reviews (place, id, merchant_id, mode, kind, act, receipt_id, amount, currency, actor)
    select place, gen_random_uuid(), merchant_id, mode, 'unmatched', 'noted', id, amount, currency, 'test' from receipts
     where transaction_id = 'handled'`)
  await addMoney('open')
  await openCasesOfMoney(database)
  const { queues, cases: counted } = await readStatus(database, 1_000)
  assert.deepEqual(counted, {
    sandbox: { needsReview: 1, unmatchedMoney: 0, unmatchedNotices: 0, refundsPending: 0, refundsStuck: 0 },
    live: { needsReview: 0, unmatchedMoney: 1, unmatchedNotices: 0, refundsPending: 1, refundsStuck: 1 },
  })
  assert.equal(queues.checks.due, 1)
  const lateBy = Date.now() - (queues.checks.oldestAt?.getTime() ?? assert.fail())
  assert.ok(lateBy > 3_500_000 && lateBy < 3_700_000, `${lateBy} ms`)
})
