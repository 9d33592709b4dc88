import { parseArgs } from 'node:util'
import { type BenchDatabase, startBenchDatabase } from './bench-database.ts'
import { judgeDashboard, reportDashboard, runDashboard } from './dashboard.ts'
import { type DeliveriesPlan, runDeliveries } from './deliveries.ts'
import { type GrowthPlan, runGrowth } from './growth.ts'
import { waitForQuiet } from './machine-load.ts'
import { Gauge } from './measure.ts'
import { type NotificationsPlan, runNotifications } from './notifications.ts'
import { type PagesPlan, runPages } from './pages.ts'
import { reportPayments, reportStatements, reportSteps } from './payments/report.ts'
import { type PaymentsPlan, runPayments } from './payments/run.ts'
import { judgePayments } from './payments/targets.ts'
import {
  reportDeliveries,
  reportGrowth,
  reportMachine,
  reportNotifications,
  reportPages,
  reportRounds,
  reportStreams,
  reportTargets,
} from './report.ts'
import { type RoundsPlan, runRounds } from './rounds.ts'
import { runStreams, type StreamsPlan } from './streams.ts'
import { stopAll } from './subjects.ts'
import { judge, judgeDeliveries, judgeNotifications, judgePages, judgeStreams, type Target } from './targets.ts'

/**
 * `npm run bench`: how fast payments are taken, created, delivered and shown, and what each costs, compared with floors that are measured in the same
 * minutes on the same PostgreSQL, because an absolute number depends mostly on the machine.
 */
interface Plan {
  payments: PaymentsPlan
  rounds: RoundsPlan
  growth: GrowthPlan
  deliveries: DeliveriesPlan
  notifications: NotificationsPlan
  pages: PagesPlan
  streams: StreamsPlan
}

const FULL: Plan = {
  payments: { rounds: 5, compileMs: 12_000, warmUpMs: 700, measureMs: 3_000, preload: 0 },
  rounds: { rounds: 5, compileMs: 12_000, warmUpMs: 1_000, measureMs: 3_000 },
  growth: { rounds: 5, compileMs: 8_000, warmUpMs: 1_000, measureMs: 4_000, rows: 1_000_000 },
  deliveries: { rounds: 3, jobs: 10_000, idle: 100 },
  notifications: { rounds: 5, warmUpMs: 500, measureMs: 2_500 },
  pages: { rounds: 5, compileMs: 8_000, warmUpMs: 1_000, measureMs: 3_000 },
  streams: { rounds: 3, streams: 1_000 },
}
// For a quick look at the order of magnitude. Too short for a verdict.
const QUICK: Plan = {
  payments: { rounds: 1, compileMs: 2_000, warmUpMs: 300, measureMs: 800, preload: 0 },
  rounds: { rounds: 2, compileMs: 5_000, warmUpMs: 300, measureMs: 1_000 },
  growth: { rounds: 2, compileMs: 3_000, warmUpMs: 300, measureMs: 1_000, rows: 100_000 },
  deliveries: { rounds: 1, jobs: 2_000, idle: 20 },
  notifications: { rounds: 2, warmUpMs: 300, measureMs: 1_000 },
  pages: { rounds: 2, compileMs: 3_000, warmUpMs: 300, measureMs: 1_000 },
  streams: { rounds: 1, streams: 300 },
}

const SECTIONS = ['payments', 'creates', 'deliveries', 'notifications', 'pages', 'dashboard']
const DASHBOARD_PAYMENTS = 100_000

const HELP = `Usage: npm run bench [-- --quick] [--only ${SECTIONS.join('|')}] [--rounds N] [--payments N] [--statements]

Measures how fast payments are taken, until the merchant's webhook has arrived, and created, beside floors on the same PostgreSQL; how
fast webhooks are delivered, beside two job libraries; what notifications cost; how fast payment pages are shown, beside a static page, and updated. Takes about
25 minutes; with --quick about three, on a smaller table. Ends with 1 when a target is missed.

  --rounds N    rounds of each measurement; --only payments --rounds 1 takes about four minutes
  --payments N  also measures payments on a database with N earlier payments
  --only dashboard  measures each list, filter, search and chart of the dashboard; with 100000 payments, or --payments N. Only on request.
  --statements  lists the SQL statements of a payment
`

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean' },
      only: { type: 'string' },
      rounds: { type: 'string' },
      payments: { type: 'string', default: '0' },
      statements: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return void process.stdout.write(HELP)
  const { only } = values
  if (only !== undefined && !SECTIONS.includes(only)) throw new Error(`--only is one of ${SECTIONS.join(', ')}`)
  const wants = (section: string) => only === undefined || only === section
  const plan = planOf(values.quick ? QUICK : FULL, values)
  say('waiting until the machine is idle')
  const load = await waitForQuiet()
  const startedAt = performance.now()
  const database = await startBenchDatabase()
  const end = cleanUpOnce(database)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void end().finally(() => process.exit(130)))
  try {
    const targets: Target[] = []
    const gauge = new Gauge(database.pid)
    if (wants('payments')) {
      const rounds = await runPayments(database, gauge, plan.payments, say)
      targets.push(...judgePayments(rounds, plan.payments.preload))
      print('## Whole payments\n', reportPayments(rounds))
      print('## Steps of a payment\n', reportSteps(rounds))
      if (values.statements) {
        for (const way of ['initialize', 'page'] as const) {
          for (const customers of [1, 64]) print('## Statements\n', reportStatements(rounds, way, customers))
        }
      }
    }
    if (wants('creates')) {
      const rounds = await runRounds(database, gauge, plan.rounds, say)
      const growth = await runGrowth(database, gauge, plan.growth, say)
      targets.push(...judge(rounds, growth, plan.growth))
      print('## Creates\n', reportRounds(rounds))
      print('## Growth\n', reportGrowth(growth, plan.growth))
    }
    if (wants('deliveries')) {
      const deliveries = await runDeliveries(database, plan.deliveries, say)
      targets.push(...judgeDeliveries(deliveries))
      print('## Deliveries\n', reportDeliveries(deliveries))
    }
    if (wants('notifications')) {
      const notifications = await runNotifications(database, plan.notifications, say)
      targets.push(...judgeNotifications(notifications))
      print('## Notifications\n', reportNotifications(notifications))
    }
    if (wants('pages')) {
      const pages = await runPages(database, gauge, plan.pages, say)
      print('## Pages\n', reportPages(pages))
      const streams = await runStreams(database, plan.streams, say)
      targets.push(...judgePages(pages), ...judgeStreams(streams))
      print('## Streams\n', reportStreams(streams))
    }
    if (only === 'dashboard') {
      const dashboard = { payments: plan.payments.preload || DASHBOARD_PAYMENTS }
      const results = await runDashboard(database, dashboard, say)
      targets.push(...judgeDashboard(results, dashboard))
      print('## Dashboard\n', reportDashboard(results, dashboard))
    }
    print('## Targets\n', reportTargets(targets))
    print(
      `Medians of ${(only === 'payments' ? plan.payments : plan.rounds).rounds} interleaved rounds; a ratio is the median of the rounds' own ratios.`,
      'CPU: server + PostgreSQL, per payment, create or page, without load generator and provider. Whole payments: load generator and provider beside it.',
      'Commits: transactions that write.',
      reportMachine(database, performance.now() - startedAt, load),
    )
    const missed = targets.filter(({ met }) => met === false)
    for (const { name, wanted, measured } of missed) say(`missed: ${name} is ${measured}, wanted ${wanted}`)
    if (missed.length > 0) process.exitCode = 1
  } finally {
    await end()
  }
}

/** The plan with what the command line changes. */
function planOf(plan: Plan, { rounds, payments }: { rounds?: string; payments: string }): Plan {
  const own = rounds === undefined ? {} : { rounds: wholeNumber('rounds', rounds, 1) }
  return {
    payments: { ...plan.payments, ...own, preload: wholeNumber('payments', payments, 0) },
    rounds: { ...plan.rounds, ...own },
    growth: { ...plan.growth, ...own },
    deliveries: { ...plan.deliveries, ...own },
    notifications: { ...plan.notifications, ...own },
    pages: { ...plan.pages, ...own },
    streams: { ...plan.streams, ...own },
  }
}

function wholeNumber(option: string, text: string, least: number): number {
  if (!/^\d{1,8}$/.test(text) || Number(text) < least) throw new Error(`--${option} is a number from ${least}`)
  return Number(text)
}

function cleanUpOnce(database: BenchDatabase): () => Promise<void> {
  let ending: Promise<void> | undefined
  return () => {
    ending ??= stopAll().then(() => database.stop())
    return ending
  }
}

/** The table goes to stdout, the progress to stderr. */
function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

function print(...paragraphs: string[]): void {
  process.stdout.write(`\n${paragraphs.join('\n')}\n`)
}

await main()
