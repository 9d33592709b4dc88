import type { Duration, Measurement } from '../measure.ts'
import { type Bench, passOf, type Result, warmUpOf } from '../part.ts'
import { ratiosOf, reportRounds } from '../report.ts'
import { runRound } from '../rounds.ts'
import { startCustomers, startProvider, stop } from '../subjects.ts'
import { PaymentsGauge, type Scenario } from './measure.ts'
import { openFloor, openManilla } from './scenarios.ts'

const CUSTOMERS = 64
/** More would overload a new process. */
const WARM_UP_CUSTOMERS = 16
const MERCHANTS = 64

/** The cases. One server has both the first merchant and all of them. */
const FLOOR = 'floor'
const ONE = 'one merchant'
const MANY = `${MERCHANTS} merchants`
const FRESH = 'one merchant, fresh database'

/** Whole payments by the service and by the floor, with the same provider and the same customers. */
export async function measurePayments(bench: Bench): Promise<Result> {
  const { database, against, say } = bench
  // Otherwise its ANALYZE makes all connections plan their statements again, within a round.
  await database.askServer('alter system set autovacuum = off')
  await database.askServer('select pg_reload_conf()')
  const provider = await startProvider()
  const customers = await startCustomers()
  const gauge = new PaymentsGauge(database.pid, provider, customers)
  const own = { database, provider }
  const floor = await openFloor(database, provider)
  const manilla = await openManilla(own, 'payments', { merchants: MERCHANTS })
  const one = { ...manilla, name: ONE, merchants: manilla.merchants.slice(0, 1) }
  const many = { ...manilla, name: MANY }
  const older = against && {
    ...(await openManilla(own, 'payments_against', { merchants: MERCHANTS, version: against })),
    name: `${MANY}, ${against.name}`,
  }

  const paid = new Map<string, number>()
  const measure = async (scenario: Scenario, customers: number, duration: Duration): Promise<Measurement> => {
    const { paid: count, ...measurement } = await gauge.measure(scenario, customers, duration)
    paid.set(scenario.databaseUrl, (paid.get(scenario.databaseUrl) ?? 0) + count)
    return measurement
  }
  const all = [floor, many, ...(older ? [older] : [])]
  for (const scenario of all) await measure(scenario, WARM_UP_CUSTOMERS, warmUpOf(bench))

  const rounds: Measurement[][] = []
  for (let round = 0; round < bench.rounds; round++) {
    // New in each round, with connections that have prepared their statements while all tables were empty. It is never
    // analyzed by us.
    const fresh = { ...(await openManilla(own, `payments_fresh_${round}`)), name: FRESH }
    await measure(fresh, WARM_UP_CUSTOMERS, warmUpOf(bench))
    for (const { databaseUrl } of all) await database.ask(databaseUrl, 'vacuum (analyze)') // at a moment of our choice
    await database.checkpoint()
    const casesOf = (scenarios: Scenario[], customers: number) =>
      scenarios.map((scenario) => () => measure(scenario, customers, passOf(bench)))
    const alone = await runRound(casesOf([floor, one], 1), round)
    const crowd = await runRound(casesOf([floor, one, many, fresh, ...(older ? [older] : [])], CUSTOMERS), round)
    rounds.push([...alone, ...crowd])
    await stop(fresh.server.child)
    say(`payments: round ${round + 1} of ${bench.rounds} done`)
  }
  for (const [url, count] of paid) {
    // Each webhook that arrived has its successful payment.
    const [found] = await database.ask<{ count: string }>(
      url,
      `select count(*) from payments where status = 'successful'`,
    )
    if (Number(found?.count) !== count)
      throw new Error(`${count} webhooks arrived, and ${found?.count} payments are successful`)
  }
  for (const { child } of [...all.map(({ server }) => server), provider, customers]) await stop(child)
  await database.askServer('alter system reset autovacuum')
  await database.askServer('select pg_reload_conf()')

  const ratio = (subject: string, base: string) => ratiosOf(rounds, CUSTOMERS, [subject, base])
  const p50 = ratiosOf(rounds, 1, [ONE, FLOOR], ({ p50Ms }) => p50Ms)
  return {
    table: reportRounds(rounds, 'whole payments') + refusedLine(gauge.refused),
    ratios: [
      ...(older && against
        ? [{ name: `whole payments, ${MANY} ÷ ${against.name}`, values: ratio(MANY, older.name), least: 1 }]
        : []),
      { name: `whole payments, ${MANY} ÷ one merchant`, values: ratio(MANY, ONE), least: 0.85 },
      { name: 'whole payments, fresh database ÷ analyzed', values: ratio(FRESH, ONE), least: 0.75 },
      { name: 'whole payments, one merchant ÷ floor', values: ratio(ONE, FLOOR), least: 0.6 },
      { name: 'whole payment alone, p50 ÷ floor', values: p50, most: 2.2 },
    ],
  }
}

function refusedLine(refused: number): string {
  return refused > 0 ? `\n\n${refused} payments were refused and given up: the machine was overloaded.` : ''
}
