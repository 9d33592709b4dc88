import type { Errand } from './load.ts'
import type { Duration, Measurement } from './measure.ts'
import { type Bench, passOf, type Result, warmUpOf } from './part.ts'
import { ratiosOf, reportRounds } from './report.ts'
import { runRound } from './rounds.ts'
import { callManilla, startManilla, stop } from './subjects.ts'

const CLIENTS = 64
const PAYMENTS = 200

/** Payment pages of pending payments, with gzip, which every browser asks for. */
export async function measurePage(bench: Bench): Promise<Result> {
  const { database, gauge, against } = bench
  const open = async (name: string, version?: typeof against) => {
    const server = await startManilla(await database.create(`page_${name}`), version)
    const paths: string[] = []
    for (let made = 0; made < PAYMENTS; made++) {
      const user = { email: `customer-${made}@example.com`, name: 'Ada' }
      const { data } = await callManilla(server, '/payments/v1/checkouts', { amount: 1_250_000, country: 'NG', user })
      paths.push(new URL(data.url).pathname)
    }
    const view: Errand = { method: 'GET', paths, headers: { 'accept-encoding': 'gzip' }, body: '', status: 200 }
    const measure = (duration: Duration) => gauge.measure(server, CLIENTS, duration, view)
    await measure(warmUpOf(bench))
    return { server, measure }
  }
  const all = [await open('manilla'), ...(against ? [await open('against', against)] : [])]

  const rounds: Measurement[][] = []
  for (let round = 0; round < bench.rounds; round++) {
    const cases = all.map(
      ({ measure }) =>
        () =>
          measure(passOf(bench)),
    )
    rounds.push(await runRound(cases, round))
    bench.say(`page: round ${round + 1} of ${bench.rounds} done`)
  }
  for (const { server } of all) await stop(server.child)
  return {
    table: reportRounds(rounds, 'views of the payment page'),
    ratios: against
      ? [
          {
            name: `views of the page ÷ ${against.name}`,
            values: ratiosOf(rounds, CLIENTS, ['manilla', against.name]),
          },
        ]
      : [],
  }
}
