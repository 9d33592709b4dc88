import type { BenchDatabase } from '../bench-database.ts'
import type { Duration, Gauge, Measurement } from '../measure.ts'
import {
  callManilla,
  type Subject,
  startCustomers,
  startFloor,
  startManilla,
  startPaymentsFloor,
  startProvider,
  stop,
} from '../subjects.ts'
import { meanOf, originOf, PaymentsGauge, type PaymentsMeasurement, type Scenario } from './measure.ts'
import { preload } from './preload.ts'
import { PROVIDER_SETTINGS } from './provider-account.ts'

export const CUSTOMERS = [1, 16, 64]
const CREATE_CONNECTIONS = 64

export interface PaymentsPlan extends Duration {
  rounds: number
  /** See RoundsPlan. */
  compileMs: number
  /** So many payments are in the database of one more service before the first round. 0: none such. */
  preload: number
}

export interface PaymentsRound {
  payments: PaymentsMeasurement[]
  creates: { manilla: Measurement; floor: Measurement }
}

/** Whole payments by each way and by the floor, with the same provider and the same customers, in turn; and creates beside them. */
export async function runPayments(
  database: BenchDatabase,
  gauge: Gauge,
  plan: PaymentsPlan,
  say: (line: string) => void,
): Promise<PaymentsRound[]> {
  // Otherwise its ANALYZE makes all connections plan their statements again, within a round.
  await database.askServer('alter system set autovacuum = off')
  await database.askServer('select pg_reload_conf()')
  const provider = await startProvider()
  const customers = await startCustomers()
  const payments = new PaymentsGauge(database, provider, customers)
  const manilla = await openManilla(database, provider, 'payments')
  const scenarios: Scenario[] = [
    await openFloor(database, provider),
    ...(['initialize', 'page', 'create and page', 'account'] as const).map((way) => ({ ...manilla, name: way, way })),
  ]
  const createsFloor = await startFloor(manilla.databaseUrl)
  if (plan.preload > 0) {
    const large = await openManilla(database, provider, 'payments_large')
    await payments.measure(large, 1, { warmUpMs: 0, measureMs: 500 }) // the preload copies its rows
    const startedAt = performance.now()
    await preload(database, large.databaseUrl, plan.preload)
    say(`payments: ${plan.preload} written in ${Math.round((performance.now() - startedAt) / 1_000)} s`)
    scenarios.push({ ...large, name: PRELOADED })
  }

  const paid = new Map<string, number>()
  const measure = async (scenario: Scenario, count: number, duration: Duration) => {
    const measurement = await payments.measure(scenario, count, duration)
    if (scenario.name !== 'floor') await cancelLaterChecks(database, scenario.databaseUrl)
    paid.set(scenario.databaseUrl, (paid.get(scenario.databaseUrl) ?? 0) + measurement.paid)
    return measurement
  }
  for (const scenario of scenarios) await measure(scenario, 16, { warmUpMs: plan.compileMs, measureMs: 100 })
  const measureCreates = async (duration: Duration) => ({
    manilla: await gauge.measure(manilla.server, CREATE_CONNECTIONS, duration),
    floor: await gauge.measure(createsFloor, CREATE_CONNECTIONS, duration),
  })
  await measureCreates({ warmUpMs: plan.compileMs / 2, measureMs: 100 })

  const rounds: PaymentsRound[] = []
  for (let number = 0; number < plan.rounds; number++) {
    // At a moment of our choice. Without statistics the planner scans all payments of a merchant for one reference.
    for (const url of new Set(scenarios.map(({ databaseUrl }) => databaseUrl)))
      await database.ask(url, 'vacuum (analyze)')
    await database.checkpoint()
    const order = scenarios.map((_, index) => scenarios[(index + number) % scenarios.length] as Scenario)
    const measurements: PaymentsMeasurement[] = []
    for (const count of CUSTOMERS) {
      const first: PaymentsMeasurement[] = []
      for (const scenario of order) first.push(await measure(scenario, count, plan))
      // Again in reverse, so that a machine that becomes slower meanwhile does so for all.
      for (const scenario of order.toReversed())
        measurements.unshift(meanOf(first.pop() as PaymentsMeasurement, await measure(scenario, count, plan)))
    }
    const creates = await measureCreates(plan)
    rounds.push({ payments: measurements, creates })
    say(`payments: round ${number + 1} of ${plan.rounds} done`)
  }
  for (const [url, count] of paid) await checkSuccessful(database, url, count)
  say('payments: each webhook that arrived has its successful payment')
  const servers = new Set([...scenarios.map(({ server }) => server), createsFloor, provider, customers])
  for (const { child } of servers) await stop(child)
  await database.askServer('alter system reset autovacuum')
  await database.askServer('select pg_reload_conf()')
  return rounds
}

export const PRELOADED = 'initialize, preloaded'

/** The service with the provider set up as merchants do it. */
export async function openManilla(database: BenchDatabase, provider: Subject, name: string): Promise<Scenario> {
  const databaseUrl = await database.create(name)
  await database.countStatements(name)
  const server = await startManilla(databaseUrl)
  const { data } = await callManilla(
    server,
    '/payments/v1/integrations/paystack',
    { settings: PROVIDER_SETTINGS, baseURL: `${originOf(provider)}/${name}`, priority: 0 },
    'PUT',
  )
  await setNoticeURL(provider, name, originOf(server) + new URL(data.noticeURL).pathname)
  return { name: 'initialize', way: 'initialize', server, databaseUrl, account: name }
}

async function openFloor(database: BenchDatabase, provider: Subject): Promise<Scenario> {
  const account = 'payments_floor'
  const databaseUrl = await database.create(account, { isEmpty: true })
  await database.countStatements(account)
  const server = await startPaymentsFloor(databaseUrl, `${originOf(provider)}/${account}`)
  await setNoticeURL(provider, account, `${originOf(server)}/notices`)
  return { name: 'floor', way: 'initialize', server, databaseUrl, account }
}

async function setNoticeURL(provider: Subject, account: string, url: string): Promise<void> {
  await fetch(`${originOf(provider)}/${account}/notices`, { method: 'PUT', body: JSON.stringify({ url }) })
}

/**
 * The service asks again about orders that were paid: an account number after 10 s, 30 s and each minute. Those checks would be measured
 * with the payments that come next.
 */
export async function cancelLaterChecks(database: BenchDatabase, url: string): Promise<void> {
  await database.ask(
    url,
    // The service may write some of them in another order: a deadlock otherwise.
    `update attempts a set next_check_at = null
       from (select place, id from attempts where status = 'successful' and next_check_at < now() + interval '2 hours' for update skip locked) f
      where a.place = f.place and a.id = f.id`,
  )
}

/** What the merchant was told is in the table. More may be there: the preload, and the payment that it copies. */
async function checkSuccessful(database: BenchDatabase, url: string, count: number): Promise<void> {
  const [found] = await database.ask<{ count: string }>(
    url,
    `select count(*) from payments where status = 'successful'`,
  )
  if (Number(found?.count) < count) {
    throw new Error(`${count} webhooks arrived, and ${found?.count} payments are successful`)
  }
}
