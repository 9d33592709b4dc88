import type { BenchDatabase } from '../bench-database.ts'
import { originOf, type PaymentsGauge, type Scenario } from '../payments/measure.ts'
import { preload } from '../payments/preload.ts'

export interface KeptUp {
  minutes: number
  /** Payments that customers paid, and that became old enough to be deleted. */
  taken: number
  due: number
  /** Rows, by kind. */
  deleted: Record<string, number>
  batches: number
  slowBatches: number
  overdueSeconds: number
  isMet: boolean
}

const CUSTOMERS = 16
const DUE_PER_SECOND = 200
/** The rows are written before the first becomes old. */
const LEAD_SECONDS = 60
const RETENTION_DAYS = 90
const STEP_SECONDS = 20
/** The job runs once a minute. */
const MAX_OVERDUE_SECONDS = 75
const LIMIT_SECONDS = '0.1'

/** Customers pay as fast as they are answered, while 200 payments a second become 90 days old: sandbox payments are deleted then. */
export async function keepUp(
  database: BenchDatabase,
  gauge: PaymentsGauge,
  scenario: Scenario,
  { payments, minutes }: { payments: number; minutes: number },
): Promise<KeptUp> {
  await gauge.measure(scenario, 1, { warmUpMs: 0, measureMs: 500 }) // the newest payment is copied
  const due = DUE_PER_SECOND * 60 * minutes
  const firstOldAt = Date.now() + LEAD_SECONDS * 1_000
  const first = payments + 1
  await preload(database, scenario.databaseUrl, due, {
    ...{ first, isWhole: true, isClosed: true, keepsIndexes: true },
    ago: (original) => {
      const firstAt = firstOldAt - RETENTION_DAYS * 86_400_000
      const ms = original.getTime() - firstAt
      return `(${ms} - (n - ${first}) * ${1_000 / DUE_PER_SECOND}) * interval '1 millisecond'`
    },
  })
  await untilTime(firstOldAt)
  const before = await readMetrics(scenario)
  let taken = 0
  while (Date.now() < firstOldAt + minutes * 60_000) {
    const { paid } = await gauge.measure(scenario, CUSTOMERS, { warmUpMs: 0, measureMs: STEP_SECONDS * 1_000 })
    taken += paid
  }
  const after = await readMetrics(scenario)
  const [left] = await database.ask<{ overdue: string | null }>(
    scenario.databaseUrl,
    `select extract(epoch from now() - interval '${RETENTION_DAYS} days' - min(created_at)) as overdue from payments where reference like 'P%'`,
  )
  const overdueSeconds = Math.max(0, Number(left?.overdue ?? 0))
  const kinds = [...after.deleted.keys()]
  const batches = after.batches - before.batches
  const slowBatches = batches - (after.quickBatches - before.quickBatches)
  return {
    ...{ minutes, taken, due, batches, slowBatches, overdueSeconds },
    deleted: Object.fromEntries(
      kinds.map((kind) => [kind, (after.deleted.get(kind) ?? 0) - (before.deleted.get(kind) ?? 0)]),
    ),
    isMet: overdueSeconds <= MAX_OVERDUE_SECONDS && slowBatches === 0,
  }
}

async function untilTime(time: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, time - Date.now())))
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
    quickBatches: readValue(`manilla_retention_batch_seconds_bucket{le="${LIMIT_SECONDS}"}`),
  }
}
