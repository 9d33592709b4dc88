import { parseArgs } from 'node:util'
import { startBenchDatabase } from '../bench-database.ts'
import { print, say, wholeNumber } from '../command-line.ts'
import { watchMachine } from '../machine-load.ts'
import { Gauge } from '../measure.ts'
import { PaymentsGauge } from '../payments/measure.ts'
import { openManilla } from '../payments/scenarios.ts'
import { startCustomers, startProvider, stopAll } from '../subjects.ts'
import { type Comparison, compare } from './compare.ts'
import { fill, type TableSize } from './fill.ts'
import { type KeptUp, keepUp } from './keep-up.ts'

/**
 * `npm run gate -- growth`: creates, whole payments, lists and deliveries on a database with many payments, beside an
 * empty one; the disk that a payment needs; and whether retention keeps up with payments.
 */
const HELP = `Usage: npm run gate -- growth [--payments N] [--minutes N] [--rounds N]

  --payments N  payments in the filled database (1000000)
  --minutes N   how long retention runs beside payments (2)
  --rounds N    rounds of the comparison (3)

Ends with 1 when something is more than 10 % slower on the filled database, when fewer than 180 payments a second were made beside the
deletion, when old rows are left, or when a statement that deletes took over 100 ms.
`
const MAX_LOSS = 0.1

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      payments: { type: 'string', default: '1000000' },
      minutes: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    process.stdout.write(HELP)
    return true
  }
  const payments = wholeNumber('payments', values.payments)
  const reportMachine = await watchMachine()
  const startedAt = performance.now()
  const database = await startBenchDatabase({ countsStatements: true })
  try {
    const [provider, customers] = [await startProvider(), await startCustomers()]
    const empty = await openManilla({ database, provider }, 'growth_empty')
    const filled = await openManilla({ database, provider }, 'growth_filled')
    const gauges = { creates: new Gauge(database.pid), payments: new PaymentsGauge(database.pid, provider, customers) }
    for (const scenario of [empty, filled])
      await gauges.payments.measure(scenario, 4, { warmUpMs: 500, measureMs: 500 })
    // Its jobs would read whole tables while the indexes are gone.
    process.kill(filled.server.pid, 'SIGSTOP')
    const sizes = await fill(database, filled.databaseUrl, payments)
    process.kill(filled.server.pid, 'SIGCONT')
    say(`${payments} payments written in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
    const comparisons = await compare(database, gauges, { empty, filled }, wholeNumber('rounds', values.rounds), say)
    print('## Speed\n', reportComparisons(comparisons, payments))
    print('## Disk\n', reportSizes(sizes))
    const minutes = wholeNumber('minutes', values.minutes)
    const kept = await keepUp(database, gauges.payments, filled, { payments, minutes })
    print('## Retention\n', reportKept(kept))
    print(reportMachine(database))
    return comparisons.every(({ loss }) => loss <= MAX_LOSS) && kept.isMet
  } finally {
    await stopAll()
    await database.stop()
  }
}

function reportComparisons(comparisons: Comparison[], payments: number): string {
  const lines = comparisons.map(
    ({ name, emptyRate, filledRate, loss }) =>
      `${name.padEnd(16)} ${emptyRate.toFixed(0).padStart(9)} ${filledRate.toFixed(0).padStart(9)} ${(loss * 100).toFixed(1).padStart(7)} % ${loss <= MAX_LOSS ? 'PASS' : 'FAIL'}`,
  )
  return [`${'a second'.padEnd(16)} ${'empty'.padStart(9)} ${String(payments).padStart(9)}      loss`, ...lines].join(
    '\n',
  )
}

function reportSizes(sizes: TableSize[]): string {
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  return [...sizes, { table: 'all', bytes: total }]
    .map(
      ({ table, bytes }) =>
        `${table.padEnd(16)} ${bytes.toFixed(0).padStart(7)} bytes a payment, ${(bytes / 1_000).toFixed(2)} GB a million`,
    )
    .join('\n')
}

function reportKept(kept: KeptUp): string {
  const { minutes, rateWithout, rateWith, loss, due, deleted, batches, batchMs, overdueSeconds } = kept
  return [
    `${minutes} min: ${(due / minutes / 60).toFixed(0)} payments a second became old`,
    `whole payments a second: ${rateWithout.toFixed(0)} without old rows, ${rateWith.toFixed(0)} beside the deletion: loss ${(loss * 100).toFixed(1)} %`,
    ...Object.entries(deleted).map(([kind, count]) => `  ${kind}: ${count} deleted`),
    `${batches} batches of ${batchMs.toFixed(0)} ms on average, ${kept.slowBatches} of them over 100 ms until the process had the result`,
    `the longest statement took PostgreSQL ${kept.longestMs.toFixed(0)} ms; ${kept.endedBatches} were ended by their timeout`,
    `the oldest payment that was left had been due for ${overdueSeconds.toFixed(0)} s: ${kept.isMet ? 'PASS' : 'FAIL'}`,
  ].join('\n')
}

process.exitCode = (await main()) ? 0 : 1
