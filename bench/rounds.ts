import type { BenchDatabase } from './bench-database.ts'
import type { Duration, Gauge, Measurement } from './measure.ts'
import { HAS_PGBENCH, PGBENCH_EMAIL, runPgbench } from './pgbench.ts'
import { type Subject, startFloor, startManilla, startNoDatabase, stop } from './subjects.ts'

export const CONCURRENCIES = [1, 16, 64, 256]
export const PGBENCH_CONNECTIONS = 64

export interface Round {
  measurements: Measurement[]
  pgbenchRate: number | undefined
}

export interface RoundsPlan extends Duration {
  rounds: number
  /** Load for each server before the first round: a new process needs 50 % more CPU per create until its code is compiled. */
  compileMs: number
}

/**
 * Every server at every concurrency, in rounds, so that noise of the machine affects all of them alike. One is loaded at a
 * time, and each round starts with another one.
 */
export async function runRounds(
  database: BenchDatabase,
  gauge: Gauge,
  plan: RoundsPlan,
  say: (line: string) => void,
): Promise<Round[]> {
  const url = await database.create('rounds')
  const manilla = await startManilla(url) // first: it creates the merchant whose credential all of them use
  const subjects = [manilla, await startFloor(url), await startNoDatabase(url)]

  let mustBeThere = 0
  const measure = async (subject: Subject, connections: number, duration: Duration) => {
    const measurement = await gauge.measure(subject, connections, duration)
    if (subject.name !== 'no database') mustBeThere += measurement.answered
    return measurement
  }
  for (const subject of subjects) {
    for (const connections of [64, 1])
      await measure(subject, connections, { warmUpMs: plan.compileMs / 2, measureMs: 100 })
  }

  const rounds: Round[] = []
  for (let number = 0; number < plan.rounds; number++) {
    await database.checkpoint() // now, so that it does not happen during a measurement
    const order = subjects.map((_, index) => subjects[(index + number) % subjects.length] as Subject)
    const measurements: Measurement[] = []
    for (const connections of CONCURRENCIES) {
      for (const subject of order) measurements.push(await measure(subject, connections, plan))
    }
    const pgbenchRate = HAS_PGBENCH ? await runPgbench(url, PGBENCH_CONNECTIONS, plan.measureMs) : undefined
    rounds.push({ measurements, pgbenchRate })
    say(`round ${number + 1} of ${plan.rounds} done`)
  }
  for (const { child } of subjects) await stop(child)

  const [found] = await database.ask<{ count: string }>(
    url,
    `select count(*) from payments where user_email <> '${PGBENCH_EMAIL}'`,
  )
  if (Number(found?.count) !== mustBeThere)
    throw new Error(`${mustBeThere} payments were answered with 201, and ${found?.count} are in the table`)
  say(`every one of the ${mustBeThere} answers with 201 has its row`)
  return rounds
}
