import type { Errand } from './load.ts'
import type { Duration, Measurement } from './measure.ts'
import { type Bench, passOf, type Result, warmUpOf } from './part.ts'
import { ratiosOf, reportRounds } from './report.ts'
import { runRound } from './rounds.ts'
import { CREDENTIAL, headersOf, type Subject, startFloor, startManilla, stop } from './subjects.ts'

const CLIENTS = [1, 64]
/** With this number of clients it is judged. */
const MANY = 64

/** The example of the API's description. */
export const CREATE: Errand = {
  method: 'POST',
  paths: ['/payments/v1/checkouts'],
  headers: { ...headersOf(CREDENTIAL), 'content-type': 'application/json' },
  body: JSON.stringify({
    amount: 1_250_000,
    country: 'NG',
    user: { email: 'customer-CUSTOMER@example.com', name: 'Ada' },
    redirectURL: 'https://shop.example/thanks',
  }),
  status: 201,
}

/** Hosted checkouts that are created, by each server on a database of its own. */
export async function measureCreates(bench: Bench): Promise<Result> {
  const { database, gauge, against } = bench
  const open = async (name: string, start: (url: string) => Promise<Subject>) => {
    const url = await database.create(`creates_${name}`)
    return { url, server: await start(url), answered: 0 }
  }
  type Opened = Awaited<ReturnType<typeof open>>
  const floor = await open('floor', (url) => startFloor(url))
  const manilla = await open('manilla', (url) => startManilla(url))
  const older = against && (await open('against', (url) => startManilla(url, against)))
  const all = [floor, manilla, ...(older ? [older] : [])]
  const measure = async (opened: Opened, clients: number, duration: Duration): Promise<Measurement> => {
    const { answered, ...measurement } = await gauge.measure(opened.server, clients, duration, CREATE)
    opened.answered += answered
    return measurement
  }
  for (const opened of all) await measure(opened, MANY, warmUpOf(bench))

  const rounds: Measurement[][] = []
  for (let round = 0; round < bench.rounds; round++) {
    await database.checkpoint() // now, so that it does not happen during a measurement
    const measured: Measurement[] = []
    for (const clients of CLIENTS) {
      const cases = all.map((opened) => () => measure(opened, clients, passOf(bench)))
      measured.push(...(await runRound(cases, round)))
    }
    rounds.push(measured)
    bench.say(`creates: round ${round + 1} of ${bench.rounds} done`)
  }
  for (const { server, url, answered } of all) {
    await stop(server.child)
    const [found] = await database.ask<{ count: string }>(url, 'select count(*) from payments')
    if (Number(found?.count) !== answered)
      throw new Error(
        `${server.name}: ${answered} creates were answered with 201, and ${found?.count} are in the table`,
      )
  }
  const toBase = (base: string) => ratiosOf(rounds, MANY, ['manilla', base])
  return {
    table: reportRounds(rounds, 'creates'),
    ratios: [
      { name: 'creates ÷ floor', values: toBase('floor') },
      ...(against ? [{ name: `creates ÷ ${against.name}`, values: toBase(against.name), least: 0.95 }] : []),
    ],
  }
}
