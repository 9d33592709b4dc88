import { AssertionError } from 'node:assert'
import { setTimeout as pause } from 'node:timers/promises'
import { migrate } from '../../../src/database/migrate.ts'
import { sql } from '../../../src/database/sql.ts'
import type { Channel } from '../../../src/kernel/channel.ts'
import { receiveNotice } from '../../../src/payments/settle/receive-notice.ts'
import { listAuditScopes } from '../../../src/payments/store/provider-audit.ts'
import { auditProvider } from '../../../src/reconciliation/audit-provider.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { findFake } from '../../fakes/index.ts'
import { openListener } from '../../support/listener.ts'
import { Killer } from '../killer.ts'
import { randomOf } from '../random.ts'
import { withServer } from '../server.ts'
import { compare } from './check.ts'
import { newTold, type World } from './customers.ts'
import { explain } from './explain.ts'
import type { ProviderOutcome } from './report.ts'
import { countDeliveries, countHeldBack, hurry, settleInRounds } from './rounds.ts'
import { momentsOf, type ProviderChaosOptions, serve } from './serve.ts'
import { type Merchant, type RunningService, startService } from './service.ts'
import { Shop } from './shop.ts'
import { Courier, TroubledWay } from './trouble.ts'
import { twoAccounts } from './two-accounts.ts'

interface FakeOptions extends ProviderChaosOptions {
  provider: string
}

/** One run with the fake of one provider. */
export function fakeChaos(options: FakeOptions): Promise<ProviderOutcome> {
  return withServer('provider-chaos', async ({ databaseUrl }) => {
    await migrate(databaseUrl)
    return openAndRun(options, databaseUrl)
  })
}

async function openAndRun(options: FakeOptions, databaseUrl: string): Promise<ProviderOutcome> {
  const fake = findFake(options.provider)
  if (!fake) throw new Error(`no provider ${options.provider}`)
  const ends: (() => Promise<void>)[] = []
  const open = () => fake.start({ after: (end) => void ends.push(end) })
  const fakes: [FakeProvider, FakeProvider] = [await open(), await open()]
  const listener = await openListener()
  const service = await startService(databaseUrl, fakes[0].provider)
  try {
    return await run(options, service, fakes, listener)
  } finally {
    await service.stop()
    listener.close()
    for (const end of ends) await end()
  }
}

async function run(
  options: FakeOptions,
  service: RunningService,
  fakes: [FakeProvider, FakeProvider],
  listener: Awaited<ReturnType<typeof openListener>>,
): Promise<ProviderOutcome> {
  const { payments, provider, seed, kills } = options
  const { database, parts, copies } = service
  const merchant = await service.addMerchant()
  const shop = new Shop(copies, randomOf(seed, 3), merchant)
  await shop.setUp(fakes[0])
  const features = findFake(provider)?.features
  const { refundsWholeOnly = false, ordersLackOurReference = false } = features ?? {}
  const fake = { ...twoAccounts(database, ...fakes), refundsWholeOnly, ordersLackOurReference }
  const killer = new Killer(randomOf(seed, 4), copies.slots, kills)
  const way = new TroubledWay(randomOf(seed, 1), fakes, killer)
  const noticePath = new URL(parts.links.notices(merchant, provider)).pathname
  const courier = new Courier(randomOf(seed, 2), fake, copies, noticePath)
  const told = newTold()
  const channels = features?.channels ?? []
  const world: World = { shop, merchant, fake, channels, database, secrets: parts.secrets, webhook: listener.url, told }
  try {
    const startedAt = performance.now()
    fakes[1].sendOlderNotices?.()
    await Promise.race([payInTrouble(options, world, way, () => shop.setUp(fakes[1])), killer.failed])
    await killer.allBack()
    const paidAt = performance.now()
    courier.becomeReliable()
    await courier.allDelivered()
    if (fake.provider.capabilities.noticesHaveFacts) {
      await endSteps(service, fake)
      await courier.allDelivered()
    }
    await copies.end() // whatever is left is done in rounds, by this process alone
    await endSteps(service, fake)
    // Else the courier goes on to take them: some fakes end a refund when they tell of it.
    if (fake.provider.capabilities.noticesHaveFacts) courier.stop()
    const { rounds } = await settleInRounds(parts, async () => {
      await untilAsked(service, merchant, provider)
      await hearFacts(service, fake, merchant)
    })
    await untilTold(service)
    const books = await compare(database, fake, told, listener.heard, courier.refused)
    books.differences.push(...(await auditAll(service)))
    books.explanation.push(...(await explain(database, fake, books.differences)))
    const seconds = (from: number, to: number) => Math.round((to - from) / 1_000)
    return {
      ...{ provider, seed, payments, rounds, books, calls: shop.tally, trouble: way.counts, notices: courier.counts },
      kills: killer.made,
      tookSeconds: { paying: seconds(startedAt, paidAt), settling: seconds(paidAt, performance.now()) },
      heldBack: await countHeldBack(database),
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
    const { differences, incomplete } = await auditProvider(parts, scope, range)
    if (incomplete) found.push(`audit: ${incomplete}`)
    for (const { kind, id, reference, finding } of differences)
      found.push(`audit: ${kind} ${id} of ${reference}: ${finding}`)
  }
  return found
}

const AWAY_TIMES = 2
const AWAY_MS = 1_500
const BURST_EVERY = 60
const BURST_MS = 800
const DAY_MS = 86_400_000

/** Twice the provider is down for a moment, and in the middle the merchant changes to another account. */
async function payInTrouble(
  options: ProviderChaosOptions,
  world: World,
  way: TroubledWay,
  changeAccount: () => Promise<unknown>,
): Promise<void> {
  const { payments } = options
  const half = Math.ceil(payments / 2)
  const goesAwayAfter = new Set(momentsOf(AWAY_TIMES, payments))
  const stopHurrying = hurry(world.database)
  way.begin()
  try {
    await serve(world, options, async (done) => {
      if (goesAwayAfter.has(done)) way.goAway(AWAY_MS)
      if (done % BURST_EVERY === 0) way.limitRate(BURST_MS)
      if (done === half) await changeAccount()
    })
  } finally {
    way.end()
    await stopHurrying()
  }
}

/**
 * When the answer to a charge was lost, the page for its code is unknown. The bank ends such a charge after a time.
 * When the answer to the start of another channel was lost, the phone asks all the same, and now its customer
 * approves.
 */
async function endSteps({ database }: RunningService, { customer }: FakeProvider): Promise<void> {
  const unknown = await database.rows<{ order_reference: string; channel: Channel }>(sql`
    select order_reference, channel from attempts where status = 'processing'`)
  for (const { order_reference, channel } of unknown) {
    if (channel === 'card' || channel === 'virtual-bank-account') await customer.letStepRunOut?.(order_reference)
    // Or nothing of it reached the provider.
    else await customer.approve?.(order_reference).catch(assertUnheardOf)
  }
}

function assertUnheardOf(error: unknown): void {
  if (!(error instanceof AssertionError)) throw error
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

/** Notices of a provider that says some things in notices alone, while no copy is left to hear them. */
async function hearFacts({ parts }: RunningService, fake: FakeProvider, merchant: Merchant): Promise<void> {
  const { name, noticesHaveFacts } = fake.provider.capabilities
  for (const { headers, body, url } of noticesHaveFacts ? fake.takeNotices() : [])
    await receiveNotice(parts, merchant, name, { headers, body, token: url?.split('/').at(-1) })
}

async function untilTold({ database }: RunningService): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await pause(200)) {
    if ((await countDeliveries(database)) === 0) return
  }
}
