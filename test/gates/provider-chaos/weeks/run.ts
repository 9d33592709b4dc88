import { randomBytes } from 'node:crypto'
import { connect, type Database } from '../../../../src/database/database.ts'
import { migrate } from '../../../../src/database/migrate.ts'
import { audit } from '../../../../src/payments/state/audit.ts'
import type { Payment } from '../../../../src/payments/state/payment.ts'
import { recordsAfter } from '../../../../src/payments/store/audit-records.ts'
import { gateway } from '../../../../src/providers/gateway/adapter.ts'
import type { Provider } from '../../../../src/providers/provider.ts'
import { findFake } from '../../../fakes/index.ts'
import { type Shop as Merchant, openPaying, type PayingService } from '../../../support/paying.ts'
import { randomOf } from '../../random.ts'
import { withServer } from '../../server.ts'
import { Shop } from '../shop.ts'
import { type AuditFinding, compareWeeks, type WeeksBooks } from './books.ts'
import { DAY, HOUR, SimulatedClock } from './clock.ts'
import { startGateway } from './gateway.ts'
import { runDueJobs } from './jobs.ts'
import { planOtherShop } from './other-shop.ts'
import { Post } from './post.ts'
import { Agenda, type Stage, type WeeksProvider } from './sale.ts'
import { compareSettlements, type SettlementBooks, setSettlementFaults } from './settlements.ts'
import { plan } from './stories.ts'
import { REFUSED, Weather } from './weather.ts'

export interface WeeksOptions {
  provider: string
  payments: number
  days: number
  seed: number
}

export interface WeeksOutcome extends WeeksOptions {
  steps: number
  calls: number
  tookSeconds: number
  faults: Map<string, number>
  notices: Record<string, number>
  books: WeeksBooks
  settlements: SettlementBooks
}

interface Ground {
  clock: SimulatedClock
  database: Database
}

/** Without faults at the end: lists that lag for three days, and what is asked for each week. */
const CLEAR_DAYS = 9

/** The history of so many payments over simulated weeks, through the fake of one provider. */
export function weeksOf(options: WeeksOptions): Promise<WeeksOutcome> {
  return withServer('provider-chaos', async ({ databaseUrl: url }) => {
    const clock = await SimulatedClock.begin(url)
    try {
      await migrate(url)
      const database = connect({ url, connections: 16, poolWaitMs: 10_000, statementTimeoutMs: 30_000 })
      try {
        return await open(options, { clock, database })
      } finally {
        await database.close()
      }
    } finally {
      await clock.end()
    }
  })
}

async function open(options: WeeksOptions, { clock, database }: Ground): Promise<WeeksOutcome> {
  const ends: (() => Promise<void>)[] = []
  const masterKey = randomBytes(32)
  const played = await play(options.provider, { after: (end) => void ends.push(end) }, database, masterKey)
  const service = await openPaying({ database, url: undefined }, { providers: [played.provider], masterKey })
  try {
    const stage = await stageOf(options, { clock, service, played })
    const startedAt = process.hrtime.bigint()
    const steps = await liveThrough(options.days * DAY, stage, clock, () => runDueJobs(service.parts))
    const findings = await auditAll(database)
    return {
      ...{ ...options, steps, faults: stage.weather.counts, notices: stage.post.counts },
      calls: stage.weather.calls,
      tookSeconds: Number((process.hrtime.bigint() - startedAt) / 1_000_000_000n),
      books: await compareWeeks(database, stage, findings),
      settlements: await compareSettlements(database),
    }
  } finally {
    service.app.server.closeAllConnections()
    await service.stop()
    for (const end of ends) await end()
  }
}

async function stageOf(
  { provider, payments, seed }: WeeksOptions,
  { clock, service, played }: { clock: SimulatedClock; service: PayingService; played: Played },
): Promise<Stage> {
  const merchant = await service.addShop('Adaeze Kitchen', { bare: played.mustBeSetUp })
  const reach = { pick: () => service.baseUrl, isOurs: (link: string) => link.startsWith(service.baseUrl) }
  const shop = new Shop(reach, randomOf(seed, 1), merchant)
  const fake = played.of(merchant)
  const setUp = (settings: Record<string, string>) => shop.setUp({ ...fake, settings })
  if (played.mustBeSetUp) await setUp(fake.settings)
  if (!played.mustBeSetUp) await setSettlementFaults(service.database, merchant.merchantUuid, seed)
  const now = () => clock.elapsedMs
  const url = service.parts.links.notices({ ...merchant, mode: 'sandbox' }, provider)
  const stage: Stage = {
    ...{ shop, fake, now, agenda: new Agenda(), deeds: new Map(), channels: played.features.channels ?? [] },
    refundsWholeOnly: played.features.refundsWholeOnly ?? false,
    weather: new Weather(seed, fake, now),
    post: new Post(randomOf(seed, 2), fake, url, now),
  }
  plan(stage, played.features, { payments, random: (number) => randomOf(seed, 100 + number) })
  planOtherShop(stage, payments, randomOf(seed, 3))
  if (fake.renewsKeys) stage.agenda.at(REFUSED[1], () => setUp(stage.weather.renewedKeys()))
  return stage
}

/** What `manilla audit` says of each payment, by the simulated time. */
async function auditAll(database: Database): Promise<AuditFinding[]> {
  const findings: AuditFinding[] = []
  for (let last: Payment | undefined; ; ) {
    const page = await database.transaction((tx) => recordsAfter(tx, last, 500))
    for (const records of page) {
      last = records.state.payment
      const { reference } = last
      findings.push(...audit(records, new Date()).map((finding) => ({ reference, finding })))
    }
    if (page.length < 500) return findings
  }
}

/** The fake of a real provider, or the sandbox provider. */
async function play(
  name: string,
  t: { after(end: () => Promise<void>): void },
  database: Database,
  masterKey: Buffer,
): Promise<Played> {
  if (name === gateway.capabilities.name) {
    const started = await startGateway(t, database, masterKey)
    return { ...started, mustBeSetUp: false, features: { wrongTransferAmounts: 'kept' } }
  }
  const kind = findFake(name)
  if (!kind) throw new Error(`no provider ${name}`)
  const fake = await kind.start(t)
  const of = (): WeeksProvider => ({
    ...fake,
    ...{ renewsKeys: true, takesTwice: 'addTry' in fake },
    sign: (body) => fake.notices.sign(body, new Date()).headers,
    takeNotices: async () => fake.takeNotices(),
  })
  return { provider: fake.provider, of, mustBeSetUp: true, features: kind.features }
}

interface Played {
  provider: Provider
  of(merchant: Merchant): WeeksProvider
  /** By the merchant, with keys. */
  mustBeSetUp: boolean
  features: Parameters<typeof plan>[1]
}

/** An hour at a time while payments are made; later the service has nothing to do in most hours. */
const stepAfter = (elapsedMs: number) => (elapsedMs < 14 * DAY ? HOUR : elapsedMs < 30 * DAY ? 6 * HOUR : DAY)

async function liveThrough(
  forMs: number,
  { agenda, fake, post, weather, now }: Stage,
  clock: SimulatedClock,
  work: () => Promise<void>,
): Promise<number> {
  let steps = 0
  for (let at = 0; at <= forMs; at += stepAfter(at)) {
    await clock.moveTo(at)
    if (at > forMs - CLEAR_DAYS * DAY) weather.clearUp()
    for (let due = agenda.take(now()); due.length > 0; due = agenda.take(now())) for (const act of due) await act()
    await fake.refresh?.()
    weather.look()
    await post.deliver()
    await work()
    steps++
  }
  return steps
}
