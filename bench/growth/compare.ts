import type { BenchDatabase } from '../bench-database.ts'
import { CREATE } from '../creates.ts'
import type { Errand } from '../load.ts'
import type { Duration, Gauge } from '../measure.ts'
import type { PaymentsGauge, Scenario } from '../payments/measure.ts'
import { type Sink, startSink } from '../sink.ts'
import { median } from '../statistics.ts'
import { CREDENTIAL, headersOf } from '../subjects.ts'

export interface Comparison {
  name: string
  /** A second; medians. */
  emptyRate: number
  filledRate: number
  /** The median of the rounds' own ratios. */
  loss: number
}

interface Gauges {
  creates: Gauge
  payments: PaymentsGauge
}

const CONNECTIONS = 64
const CUSTOMERS = 16
const DURATION: Duration = { warmUpMs: 1_000, measureMs: 3_000 }
const COMPILE: Duration = { warmUpMs: 4_000, measureMs: 100 }
const DELIVERIES = 4_000
const DESTINATIONS = 8

const LIST: Errand = {
  method: 'GET',
  paths: ['/payments/v1/payments?limit=20'],
  headers: headersOf(CREDENTIAL),
  body: '',
  status: 200,
}

/** In turns, so that both databases see the same moments of the machine. */
export async function compare(
  database: BenchDatabase,
  { creates, payments }: Gauges,
  { empty, filled }: { empty: Scenario; filled: Scenario },
  rounds: number,
  say: (line: string) => void,
): Promise<Comparison[]> {
  const sink = await startSink(DESTINATIONS)
  // Payments before lists: the newest ones are then alike in both databases.
  const measures: Record<string, (scenario: Scenario, duration: Duration) => Promise<number>> = {
    creates: async ({ server }, duration) => (await creates.measure(server, CONNECTIONS, duration, CREATE)).rate,
    'whole payments': async (scenario, duration) => (await payments.measure(scenario, CUSTOMERS, duration)).rate,
    // Fewer clients than for creates: a list is asked for now and then.
    lists: async ({ server }, duration) => (await creates.measure(server, CUSTOMERS, duration, LIST)).rate,
    deliveries: ({ databaseUrl }) => deliver(database, databaseUrl, sink),
  }
  const results = Object.keys(measures).map((name) => ({ name, pairs: [] as { empty: number; filled: number }[] }))
  try {
    for (const scenario of [empty, filled])
      for (const measure of Object.values(measures)) await measure(scenario, COMPILE)
    // Without it, PostgreSQL uses plans for empty tables until its next automatic ANALYZE.
    await database.ask(empty.databaseUrl, 'analyze')
    for (let round = 0; round < rounds; round++) {
      await database.checkpoint()
      for (const { name, pairs } of results) {
        const measure = measures[name] as (typeof measures)[string]
        const order = round % 2 === 0 ? [empty, filled] : [filled, empty]
        const rates = new Map<Scenario, number>()
        for (const scenario of order) rates.set(scenario, await measure(scenario, DURATION))
        pairs.push({ empty: rates.get(empty) as number, filled: rates.get(filled) as number })
      }
      say(`comparison: round ${round + 1} of ${rounds} done`)
    }
  } finally {
    sink.close()
  }
  return results.map(({ name, pairs }) => ({
    name,
    emptyRate: median(pairs.map((pair) => pair.empty)),
    filledRate: median(pairs.map((pair) => pair.filled)),
    loss: 1 - median(pairs.map((pair) => pair.filled / pair.empty)),
  }))
}

/** Webhooks a second, of deliveries that are due at the same moment. */
async function deliver(database: BenchDatabase, url: string, sink: Sink): Promise<number> {
  const arriving = sink.expect(DELIVERIES)
  await database.ask(
    url,
    `insert into deliveries (place, id, event_id, merchant_id, mode, url, destination)
     select e.place, (left(e.id::text, 13) || right(gen_random_uuid()::text, 23))::uuid, e.id, e.merchant_id, e.mode,
            'http://127.0.0.1:' || port || '/hook', 'growth ' || port
       from (select * from events where place = (select place from merchants limit 1) and body is not null order by id desc limit 1) e,
            unnest('{${sink.ports.join()}}'::text[]) port, generate_series(1, ${DELIVERIES / DESTINATIONS});
     select pg_notify('manilla_deliveries', '')`,
  )
  const times = await arriving
  return (times.length - 1) / (((times.at(-1) as number) - (times[0] as number)) / 1_000)
}
