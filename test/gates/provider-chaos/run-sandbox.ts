import { setTimeout as pause } from 'node:timers/promises'
import { connect, type Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import type { ProviderAudit } from '../../../src/reconciliation/audit-provider.ts'
import { type Listener, openListener } from '../../support/listener.ts'
import { Copies } from '../copies.ts'
import { Killer } from '../killer.ts'
import { manilla } from '../manilla.ts'
import { randomOf } from '../random.ts'
import { withServer } from '../server.ts'
import { headersOf, serviceSettings } from '../settings.ts'
import { Slot } from '../slot.ts'
import { type Comparison, compare } from './check.ts'
import { Clocks, JUMPS_PER_HOUR } from './clocks.ts'
import { newTold, type World } from './customers.ts'
import { explain } from './explain.ts'
import type { ProviderOutcome } from './report.ts'
import { countHeldBack, hasten, hurry } from './rounds.ts'
import { SANDBOX_CHANNELS, Sandbox } from './sandbox.ts'
import { momentsOf, type ProviderChaosOptions, serve } from './serve.ts'
import { COPIES, sandboxMerchant } from './service.ts'
import { Shop } from './shop.ts'

/** Rates of its own faults. It has none for a wrong currency. */
const FAULTS = {
  timeout: 0.1,
  serverError: 0.1,
  lost: 0.2,
  doubled: 0.3,
  reordered: 0.3,
  late: 0.05,
  wrongAmount: 0.02,
}
const BOTH_COPIES = 0.2
/** From the end of the faults until the records agree. */
const SETTLED_WITHIN_MS = 600_000
/** The worker makes 25 checks a second, so that two thousand payments need more than a minute. */
const CHECKS_DUE_EVERY_MS = 120_000
/** Longer than the service waits for this provider. */
const BEGUN_BEFORE_SECONDS = 8

export interface SandboxOptions extends ProviderChaosOptions {
  /** Simulated: the wall clocks of PostgreSQL and of the copies jump. 0: the true time. */
  hours: number
}

interface Parts {
  env: ReturnType<typeof serviceSettings>
  copies: Copies<Slot>
  database: Database
  listener: Listener
  clocks: Clocks | undefined
}

/**
 * The same as with the fake of a provider, with two processes of the real program, and the sandbox provider in them. It
 * makes faults of its own, and no other process ends what is left: the schedule of the service does, without faults and
 * load.
 */
export function sandboxChaos(options: SandboxOptions): Promise<ProviderOutcome> {
  const { seed, hours } = options
  let clocks: Clocks | undefined
  return withServer(
    'provider-chaos',
    async ({ folder, databaseUrl }) => {
      const env = serviceSettings(databaseUrl, folder)
      const slots = Array.from({ length: COPIES }, (_, copy) => new Slot({ ...env, ...clocks?.envOf(copy) }))
      const copies = new Copies(slots)
      const database = connect({ url: databaseUrl, connections: 16, poolWaitMs: 30_000, statementTimeoutMs: 30_000 })
      const listener = await openListener()
      try {
        await copies.start()
        return await run(options, { env, copies, database, listener, clocks })
      } finally {
        await copies.end()
        listener.close()
        await database.close()
      }
    },
    (folder) => {
      if (hours > 0) clocks = new Clocks(folder, COPIES, randomOf(seed, 3))
      return clocks?.envOf('database') ?? {}
    },
  )
}

async function run(
  options: SandboxOptions,
  { env, copies, database, listener, clocks }: Parts,
): Promise<ProviderOutcome> {
  const { payments, kills, seed, hours } = options
  const merchant = await sandboxMerchant(database, headersOf(env))
  const shop = new Shop(copies, randomOf(seed, 1), merchant)
  const sandbox = new Sandbox(shop, database)
  const secrets = secretBox(Buffer.from(env.SECRET_KEY, 'base64'))
  const parts = { merchant, fake: sandbox, channels: SANDBOX_CHANNELS, database, secrets }
  const world: World = { ...parts, shop, webhook: listener.url, told: newTold() }
  const killer = new Killer(randomOf(seed, 2), copies.slots, kills)
  const startedAt = performance.now()
  await sandbox.setFaults({ ...FAULTS, seed })
  await payInTrouble(options, world, killer, clocks)
  await sandbox.setFaults({})
  const paidAt = performance.now()
  const { books, rounds } = await settled(world, sandbox, listener)
  const settledAt = performance.now()
  if (clocks) await requireJumps(database, hours)
  const url = copies.pick(randomOf(seed)) as string
  books.differences.push(...(await auditByCommand({ ...env, ...clocks?.envOf('database') }, url)))
  books.explanation.push(...(await explain(database, sandbox, books.differences)))
  const {
    'notices lost': lost = 0,
    'notices doubled': doubled = 0,
    'notices sent late': late = 0,
    ...trouble
  } = await sandbox.injected()
  const seconds = (from: number, to: number) => Math.round((to - from) / 1_000)
  return {
    ...{ provider: sandbox.provider.capabilities.name, seed, payments, rounds, books, calls: shop.tally },
    trouble: new Map(Object.entries({ ...trouble, ...(hours > 0 && { 'simulated hours': hours }) })),
    notices: { lost, doubled, late },
    kills: killer.made,
    tookSeconds: { paying: seconds(startedAt, paidAt), settling: seconds(paidAt, settledAt) },
    heldBack: await countHeldBack(database),
    webhooks: listener.heard.length,
  }
}

/** After each share of the customers a copy is killed, sometimes both, or the clocks jump. */
async function payInTrouble(
  options: SandboxOptions,
  world: World,
  killer: Killer,
  clocks: Clocks | undefined,
): Promise<void> {
  const { payments, kills, hours } = options
  const deaths = new Set(momentsOf(kills, payments))
  const jumps = momentsOf(hours * JUMPS_PER_HOUR, payments)
  const stopHurrying = hurry(world.database, BEGUN_BEFORE_SECONDS)
  const served = serve(world, options, (done) => {
    for (; jumps.length > 0 && done >= (jumps[0] as number); jumps.shift()) clocks?.jump()
    if (deaths.has(done)) killer.kill(BOTH_COPIES)
  })
  try {
    await Promise.race([served, killer.failed])
    await killer.allBack()
  } finally {
    await stopHurrying()
  }
}

/** Compares until the records agree or the time is over. */
async function settled(
  { database, fake, told }: World,
  sandbox: Sandbox,
  listener: Listener,
): Promise<{ books: Comparison; rounds: number }> {
  const startedAt = performance.now()
  let dueAt = Number.NEGATIVE_INFINITY
  for (let rounds = 1; ; rounds++) {
    if (performance.now() > dueAt + CHECKS_DUE_EVERY_MS) {
      dueAt = performance.now()
      await makeChecksDue(database)
    }
    await hasten(database, BEGUN_BEFORE_SECONDS)
    const books = await compare(database, fake, told, listener.heard, [])
    books.differences.push(...(await sandbox.compareOrders()))
    const isOver = performance.now() > startedAt + SETTLED_WITHIN_MS
    if (isOver || books.differences.length === 0) return { books, rounds }
    await pause(2_000)
  }
}

/**
 * The check schedule of an open attempt has waits of up to an hour. Those that are paid would only use up the account's
 * rate limit. Refunds and disputes whose notice was lost are found as on the next day.
 */
async function makeChecksDue(database: Database): Promise<void> {
  await database.rows(sql`
    update attempts set next_check_at = now()
     where status not in ('successful', 'surplus') and next_check_at > now() and check_leased_until < now()`)
  await database.rows(sql`update reconciliation_runs set due_at = now() where due_at > now()`)
}

/** Without the library in the server, the gate would show nothing. */
async function requireJumps(database: Database, hours: number): Promise<void> {
  const row = await database.row<{ now: Date }>(sql`select clock_timestamp() as now`)
  const aheadMinutes = ((row?.now.getTime() ?? 0) - Date.now()) / 60_000
  if (Math.abs(aheadMinutes - hours * 60) > 1) throw new Error(`PostgreSQL's clock is ${aheadMinutes} minutes ahead`)
}

/**
 * What `manilla audit --provider` finds, run as an operator runs it. `url`: a running copy, which has the provider in
 * it.
 */
async function auditByCommand(env: Record<string, string>, url: string): Promise<string[]> {
  const { out } = await manilla({ env }, ['audit', '--provider', '--json', '--url', url])
  const { audits } = JSON.parse(out) as { audits: ProviderAudit[] }
  if (!audits.some(({ agreed }) => agreed > 0)) return ['audit --provider: no transaction was compared']
  return audits.flatMap(({ provider, differences, incomplete }) => [
    ...differences.map(({ kind, id, finding }) => `audit --provider: ${provider} ${kind} ${id}: ${finding}`),
    ...(incomplete === null ? [] : [`audit --provider: ${provider} was not compared to the end: ${incomplete}`]),
  ])
}
