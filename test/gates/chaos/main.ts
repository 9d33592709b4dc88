// `npm run chaos`: customers pay while the provider times out, fails, loses, doubles and reorders its notices and takes wrong amounts, and
// while both copies of the service are killed repeatedly. Then our records must equal the provider's ledger, to the unit,
// and `manilla audit --provider` must find no difference.
// --payments 2000, --kills 10, --clients 50; --seed N to repeat a run.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '../../../src/database/database.ts'
import { startEmbedded } from '../../../src/database/embedded.ts'
import { sql } from '../../../src/database/sql.ts'
import { numbersFrom } from '../arguments.ts'
import { Slot } from '../crash/copies.ts'
import { type Random, randomOf } from '../random.ts'
import { type Comparison, compare } from './check.ts'
import { type Told, visit } from './customers.ts'
import { Door, pause } from './door.ts'
import { auditByCommand } from './provider-audit.ts'
import { type ChaosOutcome, differencesOf, printChaos, readInjected } from './report.ts'

export interface ChaosOptions {
  payments: number
  kills: number
  clients: number
  seed: number
  /** Maximum time until the records agree, after the faults end. */
  settleSeconds: number
  /** The same for refunds: one that went unanswered three times is asked for again after ten minutes. */
  refundSeconds: number
}

export interface ChaosReport {
  clean: boolean
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
  const server = await startEmbedded({ dataDir: folder, purpose: 'own' })
  const database = connect({ url: server.url, statementTimeoutMs: 30_000 })
  const env = settings(server.url, folder)
  const slots = Array.from({ length: COPIES }, () => new Slot(env))
  const door = new Door(randomOf(options.seed, 1), () => slots.flatMap((slot) => slot.copy ?? []))
  try {
    await allOf(slots.map((slot) => slot.start()))
    const outcome = await run(options, slots, door, database)
    outcome.records.differences.push(...(await auditByCommand(env, `http://127.0.0.1:${slots[0]?.copy?.port}`)))
    return { clean: differencesOf(outcome.records).length === 0, print: () => printChaos(outcome) }
  } finally {
    door.close()
    await Promise.all(slots.map((slot) => slot.end()))
    await database.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function run(options: ChaosOptions, slots: Slot[], door: Door, database: Database): Promise<ChaosOutcome> {
  const { payments, seed } = options
  const startedAt = performance.now()
  await setFaults(door, { ...FAULTS, seed })
  const told: Told = { checkouts: [], attempts: [], cancelled: [], moved: [], refunded: [] }
  const kills = await payAndKill(options, slots, door, told)
  await setFaults(door, {})
  const paidAt = performance.now()
  const records = await settled(database, door, told, options)
  const injected = await readInjected(database)
  const seconds = (from: number, to: number) => Math.round((to - from) / 1_000)
  const tookSeconds = { paying: seconds(startedAt, paidAt), settling: seconds(paidAt, performance.now()) }
  return { seed, payments, kills, tookSeconds, calls: door.tally, injected, records }
}

/** Runs the customers with bounded concurrency. After each share of them a copy is killed, sometimes both. */
async function payAndKill(
  { payments, kills, clients, seed }: ChaosOptions,
  slots: Slot[],
  door: Door,
  told: Told,
): Promise<number> {
  const random = randomOf(seed, 2)
  const moments = new Set(
    Array.from({ length: kills }, (_, index) => Math.ceil(((index + 1) * payments) / (kills + 1))),
  )
  const restarts: Promise<void>[] = []
  const broken = Promise.withResolvers<never>()
  let next = 0
  let done = 0
  async function client(): Promise<void> {
    while (next < payments) {
      const number = next++
      await visit(door, randomOf(seed, 100 + number), number, told)
      if (!moments.has(++done) || restarts.length >= kills) continue
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
  const options = numbersFrom({ payments: 2_000, kills: 10, clients: 50, settleSeconds: 600, refundSeconds: 660 })
  process.stdout.write(`seed ${options.seed}\n`)
  const report = await chaos(options)
  process.stdout.write(report.print())
  process.exitCode = report.clean ? 0 : 1
}
