import { sql } from '../../../src/database/sql.ts'
import { listAuditScopes } from '../../../src/payments/store/provider-audit.ts'
import { auditProvider } from '../../../src/reconciliation/audit-provider.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { findFake } from '../../fakes/index.ts'
import { openListener } from '../../support/listener.ts'
import { pause } from '../chaos/door.ts'
import { Killer } from '../killer.ts'
import { randomOf } from '../random.ts'
import { compare } from './check.ts'
import type { Told, World } from './customers.ts'
import { explain } from './explain.ts'
import type { ProviderOutcome } from './report.ts'
import { countDeliveries, hurry, settleInRounds } from './rounds.ts'
import { type Merchant, type RunningService, startService } from './service.ts'
import { Shop } from './shop.ts'
import { visit } from './stories.ts'
import { Courier, TroubledWay } from './trouble.ts'
import { twoAccounts } from './two-accounts.ts'

export interface ProviderChaosOptions {
  provider: string
  databaseUrl: string
  payments: number
  clients: number
  kills: number
  seed: number
}

/** One run with one provider, on an empty database. */
export async function providerChaos(options: ProviderChaosOptions): Promise<ProviderOutcome> {
  const fake = findFake(options.provider)
  if (!fake) throw new Error(`no provider ${options.provider}`)
  const ends: (() => Promise<void>)[] = []
  const open = () => fake.start({ after: (end) => void ends.push(end) })
  const fakes: [FakeProvider, FakeProvider] = [await open(), await open()]
  const listener = await openListener()
  const service = await startService(options.databaseUrl, fakes[0].provider)
  try {
    return await run(options, service, fakes, listener)
  } finally {
    await service.stop()
    listener.close()
    for (const end of ends) await end()
  }
}

async function run(
  options: ProviderChaosOptions,
  service: RunningService,
  fakes: [FakeProvider, FakeProvider],
  listener: Awaited<ReturnType<typeof openListener>>,
): Promise<ProviderOutcome> {
  const { payments, provider, seed, kills } = options
  const { database, parts, copies } = service
  const merchant = await service.addMerchant()
  const shop = new Shop(copies, randomOf(seed, 3), merchant)
  await setUp(shop, fakes[0])
  const fake = twoAccounts(database, ...fakes)
  const killer = new Killer(randomOf(seed, 4), copies.slots, kills)
  const way = new TroubledWay(randomOf(seed, 1), fakes, killer)
  const noticePath = new URL(parts.links.notices(merchant, provider)).pathname
  const courier = new Courier(randomOf(seed, 2), fake, copies, noticePath)
  const told: Told = { payments: [], refunds: [], atProvider: { refunds: [], disputes: [] } }
  const world: World = { shop, merchant, fake, database, secrets: parts.secrets, webhook: listener.url, told }
  try {
    const startedAt = performance.now()
    fakes[1].sendOlderNotices?.()
    // Another base URL is another account, though the fakes of one provider share their keys.
    await payInTrouble(options, service, world, way, () => setUp(shop, fakes[1]))
    await killer.allBack()
    const paidAt = performance.now()
    courier.becomeReliable()
    await courier.allDelivered()
    await copies.end() // whatever is left is done in rounds, by this process alone
    await endSteps(service, fake)
    const { rounds } = await settleInRounds(parts, () => untilAsked(service, merchant, provider))
    await untilTold(service)
    const books = await compare(database, fake, told, listener.heard, courier.refused)
    books.differences.push(...(await auditAll(service)))
    books.explanation.push(...(await explain(database, fake, books.differences)))
    const seconds = (from: number, to: number) => Math.round((to - from) / 1_000)
    return {
      ...{ provider, seed, payments, rounds, books, calls: shop.tally, trouble: way.counts, notices: courier.counts },
      kills: killer.made,
      tookSeconds: { paying: seconds(startedAt, paidAt), settling: seconds(paidAt, performance.now()) },
      heldBack: await countHeldBack(service),
      webhooks: listener.heard.length,
    }
  } finally {
    courier.stop()
  }
}

/** What `manilla audit --provider` says. */
async function auditAll({ database, parts }: RunningService): Promise<string[]> {
  const range = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + DAY_MS) }
  const found: string[] = []
  for (const scope of await listAuditScopes(database)) {
    const { differences, incomplete } = await auditProvider({ database, providers: parts.providers }, scope, range)
    if (incomplete) found.push(`audit: ${incomplete}`)
    for (const { transactionId, reference, finding } of differences)
      found.push(`audit: transaction ${transactionId} of ${reference}: ${finding}`)
  }
  return found
}

async function setUp(shop: Shop, { provider, settings, upstream }: FakeProvider): Promise<void> {
  const wanted = { settings, baseURL: upstream.url }
  const path = `/payments/v1/integrations/${provider.capabilities.name}`
  for (let tries = 0; tries < 50; tries++) {
    const { status, body } = await shop.ask('set up', 'PUT', path, wanted)
    if (status === 200) return
    if (status < 500) throw new Error(`${provider.capabilities.name} could not be set up: ${JSON.stringify(body)}`)
    await pause(200)
  }
}

const AWAY_TIMES = 2
const AWAY_MS = 1_500
const BURST_EVERY = 60
const BURST_MS = 800
const DAY_MS = 86_400_000

/** Runs the customers with bounded concurrency, then the refunds. Twice the provider is down for a moment. */
async function payInTrouble(
  { payments, clients, seed }: ProviderChaosOptions,
  { parts }: RunningService,
  world: World,
  way: TroubledWay,
  changeAccount: () => Promise<void>,
): Promise<void> {
  const half = Math.ceil(payments / 2)
  const goesAwayAfter = new Set(
    Array.from({ length: AWAY_TIMES }, (_, index) => Math.ceil(((index + 1) * payments) / (AWAY_TIMES + 1))),
  )
  const later: (() => Promise<void>)[] = []
  const stopHurrying = hurry(parts)
  way.begin()
  try {
    let done = 0
    await inTurn(
      clients,
      Array.from({ length: payments }, (_, number) => async () => {
        const next = await visit(world, randomOf(seed, 100 + number), number)
        if (next) later.push(next)
        if (goesAwayAfter.has(++done)) way.goAway(AWAY_MS)
        if (done % BURST_EVERY === 0) way.limitRate(BURST_MS)
        if (done === half) await changeAccount()
      }),
    )
    await inTurn(clients, later)
  } finally {
    way.end()
    await stopHurrying()
  }
}

async function inTurn(clients: number, all: (() => Promise<void>)[]): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < all.length) await all[next++]?.()
    }),
  )
}

/** When the answer to a charge was lost, the page for its code is unknown. The bank ends such a charge after a time. */
async function endSteps({ database }: RunningService, { customer }: FakeProvider): Promise<void> {
  const unknown = await database.rows<{ order_reference: string }>(sql`
    select order_reference from attempts where status = 'processing'`)
  for (const { order_reference } of unknown) await customer.letStepRunOut?.(order_reference)
}

const PATIENCE_MS = 90_000

/** Until the breaker lets calls through again. */
async function untilAsked({ parts }: RunningService, merchant: Merchant, provider: string): Promise<void> {
  const connection = await parts.providers.connect(merchant, provider)
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await pause(200)) {
    if ((await connection.verifyKeys()).kind === 'good') return
  }
  throw new Error(`${provider} was not asked again for ${PATIENCE_MS} ms`)
}

async function untilTold({ database }: RunningService): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await pause(200)) {
    if ((await countDeliveries(database)) === 0) return
  }
}

async function countHeldBack({ database }: RunningService): Promise<number> {
  const row = await database.row<{ count: number }>(sql`
    select coalesce(sum(times), 0)::integer as count from provider_calls where detail like '%not being asked%'`)
  return row?.count ?? 0
}
