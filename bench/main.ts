import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { type DeliveriesPlan, runDeliveries } from './deliveries.ts'
import { type GrowthPlan, runGrowth } from './growth.ts'
import { Gauge } from './measure.ts'
import { reportDeliveries, reportGrowth, reportMachine, reportRounds, reportTargets } from './report.ts'
import { type RoundsPlan, runRounds } from './rounds.ts'
import { stopAll } from './subjects.ts'
import { judge, judgeDeliveries, type Target } from './targets.ts'

/**
 * How fast are payments created, and what does each cost? `npm run bench` answers beside floors that are measured in the same
 * minutes on the same PostgreSQL, since a number alone says more about the machine than about us.
 */
const FULL: { rounds: RoundsPlan; growth: GrowthPlan; deliveries: DeliveriesPlan } = {
  rounds: { rounds: 5, compileMs: 12_000, warmUpMs: 1_000, measureMs: 3_000 },
  growth: { rounds: 5, compileMs: 8_000, warmUpMs: 1_000, measureMs: 4_000, rows: 1_000_000 },
  deliveries: { rounds: 3, jobs: 10_000, idle: 100 },
}
// To see that it works, and the order of magnitude. Too short to judge by.
const QUICK: typeof FULL = {
  rounds: { rounds: 2, compileMs: 5_000, warmUpMs: 300, measureMs: 1_000 },
  growth: { rounds: 2, compileMs: 3_000, warmUpMs: 300, measureMs: 1_000, rows: 100_000 },
  deliveries: { rounds: 1, jobs: 2_000, idle: 20 },
}

const HELP = `Usage: npm run bench [-- --quick] [--only creates|deliveries]

Measures how fast payments are created, beside floors on the same PostgreSQL, and how fast webhooks are delivered, beside two
job libraries. Takes about 9 minutes; with --quick about one, on a smaller table. Ends with 1 when a target is missed.
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { quick: { type: 'boolean' }, only: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) return void process.stdout.write(HELP)
  const plan = values.quick ? QUICK : FULL
  const loadBefore = loadavg()[0] ?? Number.NaN
  const startedAt = performance.now()
  const database = await startBenchDatabase()
  const end = cleanUpOnce(database)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)))
  try {
    const targets: Target[] = []
    if (values.only !== 'deliveries') {
      const gauge = new Gauge(database.pid)
      const rounds = await runRounds(database, gauge, plan.rounds, say)
      const growth = await runGrowth(database, gauge, plan.growth, say)
      targets.push(...judge(rounds, growth, plan.growth))
      print('## Creates\n', reportRounds(rounds))
      print('## Growth\n', reportGrowth(growth, plan.growth))
    }
    if (values.only !== 'creates') {
      const deliveries = await runDeliveries(database, plan.deliveries, say)
      targets.push(...judgeDeliveries(deliveries))
      print('## Deliveries\n', reportDeliveries(deliveries))
    }
    print('## Targets\n', reportTargets(targets))
    print(
      `Medians of ${plan.rounds.rounds} interleaved rounds; a ratio is the median of the rounds' own ratios.`,
      'CPU µs: server + PostgreSQL, per create, without the load generator.',
      reportMachine(database, performance.now() - startedAt, loadBefore),
    )
    const missed = targets.filter(({ met }) => met === false)
    for (const { name, wanted, measured } of missed) say(`missed: ${name} is ${measured}, wanted ${wanted}`)
    if (missed.length > 0) process.exitCode = 1
  } finally {
    await end()
  }
}

function cleanUpOnce(database: BenchDatabase): () => Promise<void> {
  let ending: Promise<void> | undefined
  return () => {
    ending ??= stopAll().then(() => database.stop())
    return ending
  }
}

/** The table is for stdout; how far we are is for whoever waits. */
function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function print(...paragraphs: string[]): void {
  process.stdout.write(`\n${paragraphs.join('\n')}\n`)
}

await main()
