// `npm run chaos`: customers pay while the provider times out, fails, loses, doubles and reorders its notices and takes wrong amounts, and
// while both copies of the service are killed repeatedly. Then our records must equal the provider's ledger, to the unit,
// and `manilla audit --provider` must find no difference.
// --payments 2000, --kills 10, --clients 50; --hours 24 of simulated time, in jumps of the clocks; --seed N to repeat a run.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '../../../src/database/database.ts'
import { type EmbeddedServer, startEmbedded } from '../../../src/database/embedded.ts'
import { sql } from '../../../src/database/sql.ts'
import { numbersFrom } from '../arguments.ts'
import { Slot } from '../crash/slots.ts'
import { recordFigures } from '../figures.ts'
import { type Random, randomOf } from '../random.ts'
import { requireTools } from '../tools.ts'
import { type Comparison, compare } from './check.ts'
import { CLOCK_TOOL, Clocks, JUMPS_PER_HOUR } from './clocks.ts'
import { type Told, visit } from './customers.ts'
import { Door, pause } from './door.ts'
import { auditByCommand } from './provider-audit.ts'
import { type ChaosOutcome, differencesOf, figuresOf, printChaos, readInjected } from './report.ts'

export interface ChaosOptions {
  payments: number
  kills: number
  clients: number
  /** Simulated: the wall clocks of PostgreSQL and of the copies jump. 0: the true time. */
  hours: number
  seed: number
  /** Maximum time until the records agree, after the faults end. */
  settleSeconds: number
  /** The same for refunds: one that went unanswered three times is asked for again after ten minutes. */
  refundSeconds: number
}

export interface ChaosReport {
  clean: boolean
  figures: Record<string, number>
  print(): string
}

/** The worker makes 25 checks a second, so that two thousand payments need more than a minute. */
const HASTEN_EVERY_MS = 120_000
const COPIES = 2
// Fault rates of this gate. The sandbox provider has no fault for a wrong currency.
const FAULTS = {
  timeout: 0.1,
  serverError: 0.1,
  lost: 0.2,
  doubled: 0.3,
  reordered: 0.3,
  late: 0.05,
  wrongAmount: 0.02,
}

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-chaos-'))
  const clocks = options.hours > 0 ? new Clocks(folder, COPIES, randomOf(options.seed, 3)) : undefined
  const server = await startServer(folder, clocks?.envOf('database'))
  const database = connect({ url: server.url, statementTimeoutMs: 30_000 })
  const env = settings(server.url, folder)
  const slots = Array.from({ length: COPIES }, (_, copy) => new Slot({ ...env, ...clocks?.envOf(copy) }))
  const door = new Door(randomOf(options.seed, 1), () => slots.flatMap((slot) => slot.copy ?? []))
  try {
    await allOf(slots.map((slot) => slot.start()))
    const outcome = await run(options, slots, door, database, clocks)
    if (clocks) await requireJumps(database, options.hours)
    const envOfCommand = { ...env, ...clocks?.envOf('database') }
    outcome.records.differences.push(
      ...(await auditByCommand(envOfCommand, `http://127.0.0.1:${slots[0]?.copy?.port}`)),
    )
    return {
      clean: differencesOf(outcome.records).length === 0,
      figures: figuresOf(outcome),
      print: () => printChaos(outcome),
    }
  } finally {
    door.close()
    await Promise.all(slots.map((slot) => slot.end()))
    await database.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The server inherits the environment of this process. */
async function startServer(dataDir: string, env: Record<string, string> = {}): Promise<EmbeddedServer> {
  Object.assign(process.env, env)
  try {
    return await startEmbedded({ dataDir, purpose: 'own' })
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
  }
}

async function run(
  options: ChaosOptions,
  slots: Slot[],
  door: Door,
  database: Database,
  clocks: Clocks | undefined,
): Promise<ChaosOutcome> {
  const { payments, seed, hours } = options
  const startedAt = performance.now()
  await setFaults(door, { ...FAULTS, seed })
  const told: Told = { checkouts: [], attempts: [], cancelled: [], moved: [], refunded: [] }
  const kills = await payAndKill(options, slots, door, told, clocks)
  await setFaults(door, {})
  const paidAt = performance.now()
  const records = await settled(database, door, told, options)
  const injected = await readInjected(database)
  const seconds = (from: number, to: number) => Math.round((to - from) / 1_000)
  const tookSeconds = { paying: seconds(startedAt, paidAt), settling: seconds(paidAt, performance.now()) }
  return { seed, payments, kills, hours, tookSeconds, calls: door.tally, injected, records }
}

/** Without the library in the server, the gate would show nothing. */
async function requireJumps(database: Database, hours: number): Promise<void> {
  const row = await database.row<{ now: Date }>(sql`select clock_timestamp() as now`)
  const aheadMinutes = ((row?.now.getTime() ?? 0) - Date.now()) / 60_000
  if (Math.abs(aheadMinutes - hours * 60) > 1) throw new Error(`PostgreSQL's clock is ${aheadMinutes} minutes ahead`)
}

/** Runs the customers with bounded concurrency. After each share of them a copy is killed, sometimes both, or the clocks jump. */
async function payAndKill(
  { payments, kills, clients, hours, seed }: ChaosOptions,
  slots: Slot[],
  door: Door,
  told: Told,
  clocks: Clocks | undefined,
): Promise<number> {
  const random = randomOf(seed, 2)
  const shares = (count: number) =>
    Array.from({ length: count }, (_, index) => Math.ceil(((index + 1) * payments) / (count + 1)))
  const moments = new Set(shares(kills))
  const jumps = shares(hours * JUMPS_PER_HOUR)
  const restarts: Promise<void>[] = []
  const broken = Promise.withResolvers<never>()
  let next = 0
  let done = 0
  async function client(): Promise<void> {
    while (next < payments) {
      const number = next++
      await visit(door, randomOf(seed, 100 + number), number, told)
      done++
      for (; jumps.length > 0 && done >= (jumps[0] as number); jumps.shift()) clocks?.jump()
      if (!moments.has(done) || restarts.length >= kills) continue
      const restarted = killSome(random, slots, kills - restarts.length)
      for (const each of restarted) each.catch(broken.reject)
      restarts.push(...restarted)
    }
  }
  // A copy that does not restart ends the run at once, with its error.
  const paying = Promise.all(Array.from({ length: clients }, client))
  await Promise.race([paying, broken.promise]).finally(() => allOf(restarts))
  return restarts.length
}

function killSome(random: Random, slots: Slot[], most: number): Promise<void>[] {
  const up = slots.filter(({ copy }) => copy)
  const chosen = up.length <= most && random.chance(0.2) ? up : up.length > 0 ? [random.pick(up)] : []
  return chosen.map((slot) => slot.crash())
}

/** Waits for all of them even when one fails: a copy that is still starting could not be ended yet. */
async function allOf(starts: Promise<void>[]): Promise<void> {
  for (const start of await Promise.allSettled(starts)) if (start.status === 'rejected') throw start.reason
}

async function setFaults(door: Door, faults: Record<string, number>): Promise<void> {
  const answer = await door.askUntilKnown('faults', 'PUT', '/sandbox/gateway/faults', faults)
  if (answer?.status !== 200) throw new Error(`the faults could not be set: ${JSON.stringify(answer?.body)}`)
}

/** Without faults and load: compares until the records agree or the time is over. */
async function settled(
  database: Database,
  door: Door,
  told: Told,
  { settleSeconds, refundSeconds }: ChaosOptions,
): Promise<Comparison> {
  const startedAt = performance.now()
  let hastenedAt = Number.NEGATIVE_INFINITY
  for (;;) {
    if (performance.now() > hastenedAt + HASTEN_EVERY_MS) {
      hastenedAt = performance.now()
      await makeChecksDue(database)
    }
    const records = await compare(database, door, told)
    const patienceSeconds = records.differences.length > 0 ? settleSeconds : refundSeconds
    const isOver = performance.now() > startedAt + patienceSeconds * 1_000
    if (isOver || differencesOf(records).length === 0) return records
    await pause(2_000)
  }
}

/** The check schedule of an open attempt has waits of up to an hour. Those that are paid would only use up the account's rate limit. */
async function makeChecksDue(database: Database): Promise<void> {
  await database.rows(sql`
    update attempts set next_check_at = now()
     where status not in ('successful', 'surplus') and next_check_at > now() and check_leased_until < now()`)
}

function settings(databaseUrl: string, folder: string): Record<string, string> {
  return {
    SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
    SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
    SECRET_KEY: randomBytes(32).toString('base64'),
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'unused'),
    RATE_LIMIT: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    LOG_LEVEL: 'error',
  }
}

if (import.meta.main) {
  const patience = { settleSeconds: 600, refundSeconds: 660 }
  const options = numbersFrom({ payments: 2_000, kills: 10, clients: 50, hours: 0, ...patience })
  if (options.hours > 0) requireTools([CLOCK_TOOL])
  process.stdout.write(`seed ${options.seed}\n`)
  const report = await chaos(options)
  process.stdout.write(report.print())
  recordFigures(report.figures)
  process.exitCode = report.clean ? 0 : 1
}
