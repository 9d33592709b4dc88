import { connect, type Database } from '../src/database/database.ts'
import { migrate } from '../src/database/migrate.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { idOf, type MerchantId, newId } from '../src/kernel/ids.ts'
import { insertMember, insertMembership } from '../src/members/member-store.ts'
import { insertSession } from '../src/members/session-store.ts'
import { newToken } from '../src/members/token.ts'
import { digestOf } from '../src/merchants/credential.ts'
import { foldRollups, sumUpDays } from '../src/payments/upkeep/fold-rollups.ts'
import type { BenchDatabase } from './bench-database.ts'
import { MERCHANTS, merchantUuid, seed } from './dashboard-seed.ts'
import type { Bench, Result } from './part.ts'
import { table } from './report.ts'
import { type Subject, startManilla, stop } from './subjects.ts'

const SMALL = 10_000
/** Requests of each kind, spread over this many merchants. */
const REQUESTS = 60
const MEASURED_MERCHANTS = 10
const MAX_MS = 100
const MAX_GROWTH = 3
/** Growth of a shorter time is that of the machine's noise. */
const NOISE_MS = 10

/**
 * Every list, filter, search and chart of the dashboard, over HTTP, with few and with many payments in the database, in
 * turns.
 */
export async function measureDashboard({ database, payments, say }: Bench): Promise<Result> {
  const small = await prepare(database, 'dashboard_small', SMALL, say)
  const large = await prepare(database, 'dashboard_large', payments, say)
  const names = Object.keys(small.paths)
  // Without it the first kinds would be measured while most of the code is not compiled yet.
  for (const name of names) {
    for (let merchant = 0; merchant < MEASURED_MERCHANTS; merchant++) {
      for (const each of [small, large]) await ask(each, name, merchant)
    }
  }
  const results: { name: string; smallMs: number; largeMs: number; growth: number }[] = []
  for (const name of names) {
    const [smallTimes, largeTimes]: [number[], number[]] = [[], []]
    for (let number = 0; number < REQUESTS; number++) {
      const merchant = number % MEASURED_MERCHANTS
      smallTimes.push(await ask(small, name, merchant))
      largeTimes.push(await ask(large, name, merchant))
    }
    const [smallMs, largeMs] = [p95(smallTimes), p95(largeTimes)]
    results.push({ name, smallMs, largeMs, growth: Math.max(largeMs, NOISE_MS) / Math.max(smallMs, NOISE_MS) })
  }
  for (const { service } of [small, large]) await stop(service.child)
  const rows = results.map(({ name, smallMs, largeMs, growth }) => [
    name,
    ...[smallMs, largeMs, growth].map((value) => value.toFixed(1)),
  ])
  return {
    table: table(['dashboard, p95 ms', `${SMALL} payments`, `${payments} payments`, 'growth'], rows),
    ratios: [
      {
        name: 'dashboard, slowest p95 in ms',
        values: [Math.max(...results.map(({ largeMs }) => largeMs))],
        most: MAX_MS,
      },
      {
        name: `dashboard, slowest growth from ${SMALL} to ${payments} payments`,
        values: [Math.max(...results.map(({ growth }) => growth))],
        most: MAX_GROWTH,
      },
    ],
  }
}

interface Prepared {
  service: Subject
  merchants: MerchantId[]
  cookie: string
  paths: ReturnType<typeof pathsOf>
}

/** A database with payments, and a service on it with a member who is signed in. */
async function prepare(
  server: BenchDatabase,
  name: string,
  payments: number,
  say: (line: string) => void,
): Promise<Prepared> {
  const url = await server.create(name)
  await migrate(url)
  const startedAt = performance.now()
  await seed(server, url, payments)
  const database = connect({ url, statementTimeoutMs: 60_000 })
  try {
    await server.ask(url, 'vacuum analyze')
    while (await foldRollups({ database, clock: systemClock })) {}
    while (await sumUpDays({ database })) {}
    await server.ask(url, 'vacuum analyze rollups, daily_rollups')
    const tookSeconds = Math.round((performance.now() - startedAt) / 1_000)
    say(`${payments} payments of ${MERCHANTS} merchants written in ${tookSeconds} s`)
    const merchants = Array.from({ length: MEASURED_MERCHANTS }, (_, index) =>
      idOf('merchant', merchantUuid(index + 1)),
    )
    const cookie = `manilla_session=${await addMember(database, merchants)}`
    return { service: await startManilla(url), merchants, cookie, paths: pathsOf(payments) }
  } finally {
    await database.close()
  }
}

/** Milliseconds until the answer is here. */
async function ask({ service, merchants, cookie, paths }: Prepared, name: string, merchant: number): Promise<number> {
  const path = `/dashboard/api/merchants/${merchants[merchant]}/live${paths[name]?.(merchant)}`
  const before = performance.now()
  const response = await fetch(`http://localhost:${service.port}${path}`, {
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`)
  return performance.now() - before
}

function p95(times: number[]): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? Number.NaN
}

async function addMember(database: Database, merchants: MerchantId[]): Promise<string> {
  const id = newId('member', new Date())
  const token = newToken()
  await database.transaction(async (tx) => {
    await insertMember(tx, {
      id,
      email: 'bench@example.com',
      name: 'Bench',
      operator: false,
      passwordHash: null,
      emailVerified: false,
    })
    for (const merchant of merchants) await insertMembership(tx, id, merchant, 'owner')
  })
  const session = { id: newId('session', new Date()), memberId: id, digest: digestOf(token), complete: true }
  await insertSession(database, session, { address: '127.0.0.1', userAgent: 'bench' })
  return token
}

/** By merchant: what is searched for belongs to it. */
function pathsOf(payments: number): Record<string, (merchant: number) => string> {
  // Row n belongs to merchant n % 200, counted from 0.
  const row = (merchant: number) => Math.floor(payments / MERCHANTS / 2) * MERCHANTS + merchant
  const day = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)
  const list = (query: string) => () => `/payments${query && `?${query}`}`
  const search = (text: (n: number) => string) => (merchant: number) =>
    `/payments?q=${encodeURIComponent(text(row(merchant)))}`
  const charts = (days: number) => () => `/charts?from=${day(days - 1)}&to=${day(0)}&zone=Africa/Lagos`
  return {
    payments: list(''),
    'payments, paid': list('status=successful'),
    'payments, open': list('status=pending'),
    'payments, expired': list('status=expired'),
    'payments by provider': list('provider=stripe'),
    'payments by a provider without any': list('provider=monnify'),
    'payments by channel': list('channel=virtual-bank-account'),
    'payments by amount': list('amountFrom=500000&amountTo=510000'),
    'payments by currency': list('currency=GHS'),
    'payments by date': list(`from=${day(40)}&to=${day(30)}`),
    'late payments': list('late=true'),
    'payments to review': list('needsReview=true'),
    'search: reference': search((n) => `order-${n}`),
    'search: e-mail': search((n) => `customer${n % Math.ceil(payments / 4)}@example.com`),
    'search: attempt': search((n) => `attempt-${n}`),
    'search: order at the provider': search((n) => `order-ref-${n}`),
    'search: provider reference': search((n) => `provider-ref-${n}`),
    'search: transaction': search((n) => `transaction-${n}`),
    'search: short code': search((n) => `code-${n}`),
    'search: account number': search((n) => String(1_000_000_000 + n)),
    'search: decline code': search(() => 'insufficient_funds'),
    'search: last four digits': search(() => '4081'),
    'search: nothing': search(() => 'nothing-like-this'),
    refunds: () => '/refunds',
    'refunds, failed': () => '/refunds?status=failed',
    disputes: () => '/disputes',
    transfers: () => '/transfers',
    deliveries: () => '/deliveries',
    'deliveries, retrying': () => '/deliveries?state=retrying',
    'deliveries, given up': () => '/deliveries?state=given-up',
    events: () => '/events',
    customer: (merchant) => `/customers/customer${row(merchant) % Math.ceil(payments / 4)}@example.com`,
    'first steps': () => '/first-steps',
    overview: () => '/overview',
    'charts of 1 day': charts(1),
    'charts of 7 days': charts(7),
    'charts of 30 days': charts(30),
    'charts of 90 days': charts(90),
  }
}
