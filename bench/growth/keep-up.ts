import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchDatabase } from '../bench-database.ts'
import type { PaymentsGauge, Scenario } from '../payments/measure.ts'
import { originOf } from '../subjects.ts'
import { preload } from './preload.ts'

export interface KeptUp {
  minutes: number
  /** Whole payments a second while nothing was old, and while old rows were deleted. */
  rateWithout: number
  rateWith: number
  loss: number
  /** Payments that became old enough to be deleted. */
  due: number
  /** Rows, by kind. */
  deleted: Record<string, number>
  batches: number
  batchMs: number
  /**
   * The longest statement that deleted rows, as PostgreSQL measured it. Its locks are held for as long: the commit is
   * sent with it.
   */
  longestMs: number
  /** Ended by `statement_timeout`. PostgreSQL does not measure those. */
  endedBatches: number
  /** As the busy process saw them: until it had read the result. */
  slowBatches: number
  overdueSeconds: number
  isMet: boolean
}

const CUSTOMERS = 64
/** Payments that are made, and that become old. */
const PER_SECOND = 200
const RETENTION_DAYS = 90
const STEP_SECONDS = 20
/** The job runs every 30 s, and takes a while. */
const MAX_OVERDUE_SECONDS = 75
const MAX_LOSS = 0.1
const MAX_BATCH_MS = 100

/** The rows are written before the first becomes old, with a minute to spare for payments while none is. */
const leadSeconds = (minutes: number) => 90 + 30 * minutes

/**
 * 200 payments a second are made, and 200 a second become 90 days old: sandbox payments are deleted then, with all that
 *     belongs to them.
 */
export async function keepUp(
  database: BenchDatabase,
  gauge: PaymentsGauge,
  scenario: Scenario,
  { payments, minutes }: { payments: number; minutes: number },
): Promise<KeptUp> {
  await gauge.measure(scenario, 1, { warmUpMs: 0, measureMs: 500 }) // the newest payment is copied
  const due = PER_SECOND * 60 * minutes
  const firstOldAt = Date.now() + leadSeconds(minutes) * 1_000
  const first = payments + 1
  await preload(database, scenario.databaseUrl, due, {
    ...{ first, isClosed: true, keepsIndexes: true },
    ago: (original) => {
      const firstAt = firstOldAt - RETENTION_DAYS * 86_400_000
      const ms = original.getTime() - firstAt
      return `(${ms} - (n - ${first}) * ${1_000 / PER_SECOND}) * interval '1 millisecond'`
    },
  })
  await database.checkpoint()
  const spareMs = firstOldAt - Date.now()
  if (spareMs < STEP_SECONDS * 1_000)
    throw new Error('the machine is too slow: rows became old while they were written')
  const payUntil = async (time: number) => {
    const rates: number[] = []
    do {
      const measureMs = Math.max(5_000, Math.min(STEP_SECONDS * 1_000, time - Date.now()))
      rates.push((await gauge.measure(scenario, CUSTOMERS, { warmUpMs: 0, measureMs, perSecond: PER_SECOND })).rate)
    } while (Date.now() < time)
    return rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  }
  const rateBefore = await payUntil(firstOldAt - 5_000)
  const before = await readMetrics(scenario)
  await database.askServer('select pg_stat_statements_reset()')
  const rateWith = await payUntil(firstOldAt + minutes * 60_000)
  const after = await readMetrics(scenario)
  const { longestMs, statements } = await readDeletes(database, scenario)
  const overdueSeconds = await readOverdue(database, scenario)
  await untilDeleted(database, scenario)
  const rateAfter = await payUntil(Date.now() + STEP_SECONDS * 2_000)
  const rateWithout = (rateBefore + rateAfter) / 2
  const loss = 1 - rateWith / rateWithout
  const kinds = [...after.deleted.keys()]
  const batches = after.batches - before.batches
  const slowBatches = batches - (after.quickBatches - before.quickBatches)
  return {
    ...{ minutes, rateWithout, rateWith, loss, due, batches, longestMs, slowBatches, overdueSeconds },
    endedBatches: batches - statements,
    batchMs: ((after.seconds - before.seconds) / batches) * 1_000,
    deleted: Object.fromEntries(
      kinds.map((kind) => [kind, (after.deleted.get(kind) ?? 0) - (before.deleted.get(kind) ?? 0)]),
    ),
    isMet:
      overdueSeconds <= MAX_OVERDUE_SECONDS && longestMs <= MAX_BATCH_MS && rateWith >= (1 - MAX_LOSS) * PER_SECOND,
  }
}

/** The statements of retention, which find old rows first. */
async function readDeletes(
  database: BenchDatabase,
  { databaseUrl }: Scenario,
): Promise<{ longestMs: number; statements: number }> {
  const [found] = await database.askServer<{ longest: number | null; statements: number }>(
    `select max(max_exec_time) as longest, sum(calls)::integer as statements from pg_stat_statements s join pg_database d on d.oid = s.dbid
      where d.datname = '${new URL(databaseUrl).pathname.slice(1)}' and s.query ~ '^\\s*with (found|old) as materialized'`,
  )
  if (found?.longest == null) throw new Error('PostgreSQL measured no statement that deletes')
  return { longestMs: found.longest, statements: found.statements }
}

/** By how much the oldest payment is too old. */
async function readOverdue(database: BenchDatabase, { databaseUrl }: Scenario): Promise<number> {
  const [left] = await database.ask<{ overdue: string | null }>(
    databaseUrl,
    `select extract(epoch from now() - interval '${RETENTION_DAYS} days' - created_at) as overdue from payments
      where place = (select place from merchants limit 1) and reference like 'P%' order by id limit 1`,
  )
  return Math.max(0, Number(left?.overdue ?? 0))
}

/** So that payments are measured without retention again; two minutes at most, when it did not keep up. */
async function untilDeleted(database: BenchDatabase, scenario: Scenario): Promise<void> {
  const end = Date.now() + 120_000
  while (Date.now() < end && (await readOverdue(database, scenario)) > 0) await sleep(1_000)
}

async function readMetrics({ server }: Scenario) {
  const text = await (await fetch(`${originOf(server)}/metrics`)).text()
  const readValue = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1] ?? 0,
    )
  const deleted = new Map(
    [...text.matchAll(/^manilla_retention_deleted_total\{kind="(\w+)"\} (\d+)$/gm)].map(([, kind, count]) => [
      kind as string,
      Number(count),
    ]),
  )
  return {
    deleted,
    batches: readValue('manilla_retention_batch_seconds_count'),
    seconds: readValue('manilla_retention_batch_seconds_sum'),
    quickBatches: readValue(`manilla_retention_batch_seconds_bucket{le="${MAX_BATCH_MS / 1_000}"}`),
  }
}
