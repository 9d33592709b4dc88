import { connect, type Database, type Transaction } from '../src/database/database.ts'
import { migrate } from '../src/database/migrate.ts'
import { writeEvent } from '../src/events/outbox-store.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { idOf, type MerchantId, newId, newReference, newShortCode, type PaymentId, uuidOf } from '../src/kernel/ids.ts'
import type { BenchDatabase } from './bench-database.ts'
import type { Bench, Result } from './part.ts'
import { spread, table } from './report.ts'
import { rotate } from './rounds.ts'
import { type Sink, startSink } from './sink.ts'
import { median } from './statistics.ts'
import { type Subject, startDeliverer, stop } from './subjects.ts'

const SYSTEMS = ['manilla', 'graphile-worker', 'pg-boss'] as const
type System = (typeof SYSTEMS)[number]

interface DeliveryRound {
  system: System
  /** Deliveries a second while the queue is full. */
  rate: number
  /** From the call that enqueues to the arrival, on an idle system. */
  p50Ms: number
  p99Ms: number
}

// Eight destinations with at most eight calls each: the same concurrency as the libraries have.
const DESTINATIONS = 8

/** Deliveries by Manilla and by two job libraries, in turn, each on a new database in the same PostgreSQL. */
export async function measureDeliveries({ database, rounds, seconds, say }: Bench): Promise<Result> {
  const sink = await startSink(DESTINATIONS)
  const results: DeliveryRound[] = []
  const plan = { jobs: 2_000 * seconds, idle: 15 * seconds }
  try {
    for (let round = 0; round < rounds; round++) {
      for (const system of rotate(SYSTEMS, round)) results.push(await measure(database, sink, system, round, plan))
      say(`deliveries: round ${round + 1} of ${rounds} done`)
    }
  } finally {
    sink.close()
  }
  const of = (system: System, pick: (round: DeliveryRound) => number) =>
    results.filter((each) => each.system === system).map(pick)
  const rates = (system: System) => of(system, ({ rate }) => rate)
  const [graphile, boss] = [rates('graphile-worker'), rates('pg-boss')]
  const values = rates('manilla').map((rate, round) => rate / Math.max(graphile[round] ?? 0, boss[round] ?? 0))
  const rows = SYSTEMS.map((system) => [
    system,
    spread(rates(system), 0),
    spread(
      of(system, ({ p50Ms }) => p50Ms),
      1,
    ),
    spread(
      of(system, ({ p99Ms }) => p99Ms),
      1,
    ),
  ])
  return {
    table: table(['deliveries', 'a second (min–max)', 'idle p50 ms', 'idle p99 ms'], rows),
    ratios: [{ name: 'deliveries ÷ the faster of graphile-worker and pg-boss', values, least: 0.7 }],
  }
}

async function measure(
  bench: BenchDatabase,
  sink: Sink,
  system: System,
  round: number,
  { jobs, idle }: { jobs: number; idle: number },
): Promise<DeliveryRound> {
  const url = await bench.create(`deliveries_${SYSTEMS.indexOf(system)}_${round}`)
  const queue = await openQueue(system, url, sink.ports)
  let deliverer: Subject | undefined
  try {
    await queue.fill(jobs)
    await bench.checkpoint()
    const arriving = sink.expect(jobs)
    deliverer = await startDeliverer(system, url)
    const times = await arriving
    const rate = (times.length - 1) / (((times.at(-1) as number) - (times[0] as number)) / 1_000)
    const latencies: number[] = []
    for (let index = 0; index < idle; index++) {
      const arrival = sink.expect(1)
      const begun = performance.now()
      await queue.add(index)
      latencies.push(((await arrival)[0] as number) - begun)
      // idle, and not in phase with a poll interval
      await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 30))
    }
    latencies.sort((a, b) => a - b)
    return { system, rate, p50Ms: median(latencies), p99Ms: latencies[Math.floor(latencies.length * 0.99)] as number }
  } finally {
    if (deliverer) await stop(deliverer.child)
    await queue.close()
  }
}

interface Queue {
  /** In bulk, before the delivery starts. Not measured. */
  fill(count: number): Promise<void>
  /** One delivery. */
  add(index: number): Promise<void>
  close(): Promise<void>
}

const PLACE = 9
const BODY = JSON.stringify({ filler: 'x'.repeat(1_800) }) // about the size of a payment with one attempt

function openQueue(system: System, url: string, ports: number[]): Promise<Queue> {
  if (system === 'manilla') return openManilla(url, ports)
  return system === 'graphile-worker' ? openGraphile(url, ports) : openBoss(url, ports)
}

async function openManilla(url: string, ports: number[]): Promise<Queue> {
  await migrate(url)
  const database = connect({ url })
  const merchantId = idOf('merchant', '01900000-0000-7000-8000-000000000009')
  await query(
    database,
    `insert into merchants (id, place, name, country) values ('${uuidOf(merchantId)}', ${PLACE}, 'Bench', 'NG')`,
  )
  const payments = await Promise.all(ports.map((port) => insertPayment(database, merchantId, port)))
  let sequence = 0
  const event = (index: number) => ({
    id: newId('event', systemClock.now(), PLACE),
    place: PLACE,
    merchantId,
    mode: 'sandbox' as const,
    paymentId: payments[index % payments.length] as PaymentId,
    type: 'payment.successful' as const,
    sequence: ++sequence,
    data: JSON.parse(BODY),
    cause: null,
    occurredAt: systemClock.now(),
  })
  const record = (tx: Transaction, index: number) =>
    writeEvent(tx, event(index), webhookOn(ports[index % ports.length] as number))
  return {
    async fill(count) {
      for (let done = 0; done < count; done += 500) {
        await database.transaction(async (tx) => {
          for (let index = done; index < Math.min(done + 500, count); index++) record(tx, index)
        })
      }
    },
    add: (index) => database.transaction((tx) => record(tx, index)),
    close: () => database.close(),
  }
}

async function insertPayment(database: Database, merchantId: MerchantId, port: number): Promise<PaymentId> {
  const now = systemClock.now()
  const id = newId('payment', now, PLACE)
  await query(
    database,
    `insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                           webhook_url, metadata, expires_at)
     values (${PLACE}, '${uuidOf(id)}', '${uuidOf(merchantId)}', 'sandbox', '${newReference(now, PLACE)}', '${newShortCode(now, PLACE)}',
             1000, 'NGN', 'NG', false, 'ada@example.com', '${webhookOn(port)}', '{}', now() + interval '1 day')`,
  )
  return id
}

const webhookOn = (port: number) => `http://127.0.0.1:${port}/hook`

const query = (database: Database, text: string) => database.rows({ name: '', text, values: [] })

async function openGraphile(url: string, ports: number[]): Promise<Queue> {
  const { makeWorkerUtils } = await import('graphile-worker' as string)
  const utils = await makeWorkerUtils({ connectionString: url })
  await utils.migrate()
  const job = (index: number) => ({ port: ports[index % ports.length], body: BODY })
  return {
    async fill(count) {
      for (let done = 0; done < count; done += 500) {
        const length = Math.min(500, count - done)
        await utils.addJobs(Array.from({ length }, (_, index) => ({ identifier: 'post', payload: job(done + index) })))
      }
    },
    add: async (index) => void (await utils.addJob('post', job(index))),
    close: async () => utils.release(),
  }
}

async function openBoss(url: string, ports: number[]): Promise<Queue> {
  const { PgBoss } = await import('pg-boss' as string)
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false })
  await boss.start()
  await boss.createQueue('post', { notify: true })
  const job = (index: number) => ({ port: ports[index % ports.length], body: BODY })
  return {
    async fill(count) {
      for (let done = 0; done < count; done += 500) {
        const length = Math.min(500, count - done)
        await boss.insert(
          'post',
          Array.from({ length }, (_, index) => ({ data: job(done + index) })),
        )
      }
    },
    add: async (index) => void (await boss.send('post', job(index))),
    close: () => boss.stop({ graceful: false }),
  }
}
