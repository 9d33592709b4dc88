import { parseArgs } from 'node:util'
import { checkOut } from './against.ts'
import { startBenchDatabase } from './bench-database.ts'
import { print, say, wholeNumber } from './command-line.ts'
import { measureCreates } from './creates.ts'
import { measureDashboard } from './dashboard.ts'
import { measureDeliveries } from './deliveries.ts'
import { watchMachine } from './machine-load.ts'
import { Gauge } from './measure.ts'
import { measurePage } from './page.ts'
import type { Bench, Result } from './part.ts'
import { measurePayments } from './payments/payments.ts'
import { type Ratio, reportRatios, verdictOf } from './report.ts'
import { stopAll } from './subjects.ts'

/**
 * `npm run bench`: how fast payments are taken, created, delivered and shown, and what each costs, as ratios to what is
 * measured in the same minutes on the same PostgreSQL, because an absolute number depends mostly on the machine.
 */
const PARTS: Record<string, (bench: Bench) => Promise<Result>> = {
  payments: measurePayments,
  creates: measureCreates,
  deliveries: measureDeliveries,
  page: measurePage,
  dashboard: measureDashboard,
}
const ON_REQUEST = ['dashboard']

const HELP = `Usage: npm run bench [-- --only ${Object.keys(PARTS).join('|')}] [--against COMMIT] [--rounds N] [--seconds N]

Measures whole payments, from the first request until the merchant's webhook has arrived, creates, deliveries and the payment page. Takes
about 10 minutes, 12 with --against. Ends with 1 when a target is missed by more than 15 %.

  --only PART       measures one part; the dashboard only so
  --against COMMIT  measures the service of an older commit in the same rounds
  --rounds N        rounds of each measurement (5)
  --seconds N       seconds for each case of a round (4); --rounds 1 --seconds 1 is for a quick look
  --payments N      payments in the larger database of the dashboard (100000)
`

/** The floor is in payments/floor.ts. */
const NOTES = `
Medians of the rounds; ratios are medians of the rounds' own ratios. "reached (within 15 %)": missed by less than the noise.
Floor: a bare \`node:http\` server with the same PostgreSQL, provider and customers. A create is one committed insert; a whole payment is 16
statements, begin and commit included, in 5 commits, two provider calls and one webhook. It checks no credential, signature or input, and
repeats nothing.
CPU: per payment, create or view, without load generator and provider, which share the machine.`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      against: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '4' },
      payments: { type: 'string', default: '100000' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return void process.stdout.write(HELP)
  const { only } = values
  if (only !== undefined && !PARTS[only]) throw new Error(`--only is one of ${Object.keys(PARTS).join(', ')}`)
  const parts = Object.entries(PARTS).filter(([name]) => (only ? name === only : !ON_REQUEST.includes(name)))
  const numbers = {
    rounds: wholeNumber('rounds', values.rounds),
    seconds: wholeNumber('seconds', values.seconds),
    payments: wholeNumber('payments', values.payments),
  }

  const cleanUp: (() => Promise<void>)[] = []
  let ending: Promise<void> | undefined
  const end = () => {
    ending ??= (async () => {
      for (const clean of cleanUp.toReversed()) await clean()
    })()
    return ending
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)))
  try {
    const against = values.against === undefined ? undefined : await checkOut(values.against)
    if (against) cleanUp.push(against.remove)
    const reportMachine = await watchMachine()
    const database = await startBenchDatabase()
    cleanUp.push(() => database.stop(), stopAll)
    const bench: Bench = { ...numbers, database, gauge: new Gauge(database.pid), against, say }
    const ratios: Ratio[] = []
    for (const [name, measure] of parts) {
      const result = await measure(bench)
      ratios.push(...result.ratios)
      print(`## ${name}\n`, result.table)
    }
    print('## Ratios\n', reportRatios(ratios))
    if (!against)
      print('The ratios to an older commit are left out. They need --against; the targets are for --against 494666a.')
    print(NOTES.trim(), reportMachine(database))
    if (ratios.some((ratio) => verdictOf(ratio) === 'missed')) process.exitCode = 1
  } finally {
    await end()
  }
}

await main()
