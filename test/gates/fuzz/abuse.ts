import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { SANDBOX_MERCHANT_ID } from '../../../src/integrations/create-merchant.ts'
import type { ServiceProcess } from '../../support/process.ts'
import { cpuMs, loopbackOf, withService } from '../processes.ts'
import { withServer } from '../server.ts'
import { serviceSettings } from '../settings.ts'
import type { Public } from './abuse-requests.ts'
import { attack, type Healthy, healthyTraffic, percentile, Visitor } from './abuse-traffic.ts'

const MIB = 1024 * 1024
const MAX_GROWTH_BYTES = 5 * MIB
/** A smaller difference is noise of the machine's scheduler. */
const NOISE_MS = 25
const STRANGER = '127.0.0.1'
const MERCHANT = '127.0.0.2'
/** Warms up the code of every path. It has an address of its own, so that the attack finds its rate limits unused. */
const EARLIER_STRANGER = '127.0.0.3'
const WARM_UP = 1_000

export interface AbuseOptions {
  requests: number
  perSecond: number
  seed: number
  baselineMs: number
}

export interface AbuseReport {
  failures: string[]
  text: string
}

/** Unauthenticated traffic against the real program with its limits on, while a merchant continues to work. */
export function abuse(options: AbuseOptions): Promise<AbuseReport> {
  return withServer('abuse', async ({ folder, databaseUrl }) => {
    const database = connect({ url: databaseUrl, connections: 2 })
    const env = { ...serviceSettings(databaseUrl, folder), RATE_LIMIT: 'on', LOG_LEVEL: 'info' }
    try {
      return await withService(env, (service) => run(service, database, options))
    } finally {
      await database.close()
    }
  })
}

async function run(service: ServiceProcess, database: Database, options: AbuseOptions): Promise<AbuseReport> {
  const { port } = loopbackOf(service.baseUrl)
  const merchant = new Visitor(port, MERCHANT, 8)
  const stranger = new Visitor(port, STRANGER, 16)
  const earlier = new Visitor(port, EARLIER_STRANGER, 16)
  try {
    const known = await setUp(merchant, service)
    await healthyFor(merchant, service, 3_000)
    await attack(earlier, known, { ...options, requests: WARM_UP })
    const before = await healthyFor(merchant, service, options.baselineMs)
    const sizes = await sizesOf(database, service)
    let isOver = false
    const healthy = healthyTraffic(merchant, service.headers, () => isOver)
    const startedAt = performance.now()
    const cpuBefore = cpuMs(service.pid)
    const outcomes = await attack(stranger, known, options)
    const seconds = (performance.now() - startedAt) / 1_000
    const cpuPerRequest = (cpuMs(service.pid) - cpuBefore) / options.requests
    isOver = true
    const during = await healthy
    const grown = growthSince(sizes, await sizesOf(database, service))
    return judge({ options, before, during, grown, outcomes, seconds, cpuPerRequest })
  } finally {
    merchant.close()
    stranger.close()
    earlier.close()
  }
}

/** A merchant with every kind of notice and one open payment, whose link the unauthenticated client knows. */
async function setUp(merchant: Visitor, { headers, baseUrl }: ServiceProcess): Promise<Public> {
  const post = async (method: 'POST' | 'PUT', path: string, body: object) => {
    const { status, text } = await merchant.ask({
      method,
      path: `/payments/v1${path}`,
      headers,
      body: JSON.stringify(body),
    })
    if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`)
    return JSON.parse(text).data
  }
  // Unsigned notices are accepted in its sandbox mode. The base URL has no listener, so the real provider is not
  // called.
  await post('PUT', '/integrations/monnify', {
    settings: { apiKey: 'MK_TEST_ABUSE1', secretKey: 'A'.repeat(32), contractCode: '1234567890' },
    baseURL: 'http://127.0.0.1:9',
    priority: 1_000,
  })
  const user = { email: 'ada@example.com' }
  const checkout = await post('POST', '/checkouts', { amount: 1_000, country: 'NG', user })
  const started = await post('POST', '/payments/initialize', { provider: 'gateway', amount: 1_000, user })
  return {
    origin: new URL(baseUrl).origin,
    merchantId: SANDBOX_MERCHANT_ID,
    clientId: headers['client-id'],
    pagePath: new URL(checkout.url).pathname,
    shortPath: new URL(checkout.shortURL).pathname,
    order: started.data.reference,
  }
}

async function healthyFor(merchant: Visitor, { headers }: ServiceProcess, ms: number): Promise<Healthy> {
  let isOver = false
  const traffic = healthyTraffic(merchant, headers, () => isOver)
  await sleep(ms)
  isOver = true
  return traffic
}

interface Sizes {
  database: number
  tables: number
  log: number
}

async function sizesOf(database: Database, service: ServiceProcess): Promise<Sizes> {
  const row = await database.row<Omit<Sizes, 'log'>>(sql`
    select pg_database_size(current_database()) as database,
           (select sum(pg_total_relation_size(oid))::bigint from pg_class
             where relkind = 'r' and relnamespace = 'public'::regnamespace) as tables`)
  if (!row) throw new Error('no size')
  return { ...row, log: Buffer.byteLength(service.output()) }
}

function growthSince(before: Sizes, after: Sizes): Sizes {
  return {
    database: after.database - before.database,
    tables: after.tables - before.tables,
    log: after.log - before.log,
  }
}

interface Run {
  options: AbuseOptions
  before: Healthy
  during: Healthy
  grown: Sizes
  outcomes: Map<string, Map<number, number>>
  seconds: number
  /** Of the service, healthy traffic included. Milliseconds. */
  cpuPerRequest: number
}

function judge({ options, before, during, grown, outcomes, seconds, cpuPerRequest }: Run): AbuseReport {
  const failures: string[] = []
  const [p99Before, p99During] = [percentile(before.took, 0.99), percentile(during.took, 0.99)]
  for (const [what, bytes] of Object.entries(grown)) {
    if (bytes > MAX_GROWTH_BYTES) failures.push(`${what} grew by ${mib(bytes)}, more than ${mib(MAX_GROWTH_BYTES)}`)
  }
  if (p99During > Math.max(2 * p99Before, NOISE_MS))
    failures.push(`the p99 of healthy traffic rose from ${p99Before.toFixed(1)} to ${p99During.toFixed(1)} ms`)
  if (during.failed > 0) failures.push(`${during.failed} of ${during.took.length} healthy requests failed`)
  const errors = [...outcomes].flatMap(([kind, statuses]) =>
    [...statuses]
      .filter(([status]) => status === 0 || status >= 500)
      .map(([status, count]) => `${kind}: ${status} ×${count}`),
  )
  if (errors.length > 0) failures.push(`unexpected answers: ${errors.join(', ')}`)
  const rows = [...outcomes].map(([kind, statuses]) => {
    const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status} ×${count}`)
    return `  ${kind.padEnd(28)} ${counts.join('  ')}`
  })
  const ms = (took: number[]) =>
    `p50 ${percentile(took, 0.5).toFixed(1)}, p99 ${percentile(took, 0.99).toFixed(1)} ms of ${took.length} requests`
  const text = [
    `abuse, seed ${options.seed}`,
    '',
    ...rows,
    '',
    `  requests   ${options.requests} in ${seconds.toFixed(0)} s, ${(options.requests / seconds).toFixed(0)} a second, ${cpuPerRequest.toFixed(2)} ms CPU each`,
    `  growth     database ${mib(grown.database)}, tables ${mib(grown.tables)}, log ${mib(grown.log)}; at most ${mib(MAX_GROWTH_BYTES)}`,
    `  healthy    before: ${ms(before.took)}`,
    `             during: ${ms(during.took)}; ${during.failed} failed`,
    `  failures   ${failures.length}`,
    ...failures.map((failure) => `  FAILED  ${failure}`),
    '',
  ].join('\n')
  return { failures, text }
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(2)} MiB`
}
