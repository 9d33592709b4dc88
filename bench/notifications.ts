import pg from 'pg'
import { connect, type Database } from '../src/database/database.ts'
import { sql } from '../src/database/sql.ts'
import type { BenchDatabase } from './bench-database.ts'

export interface NotificationsPlan {
  rounds: number
  warmUpMs: number
  measureMs: number
}

/** Transactions a second. */
export interface NotificationsRound {
  /** Nothing is notified. */
  silent: number
  /** As the service notifies: after the commit. */
  noListeners: number
  listeners: number
  /** NOTIFY in each transaction, as a comparison: it makes commits wait for each other. */
  inTransaction: number
}

const CLIENTS = 32
const LISTENERS = 8
const CHANNEL = 'bench_payments'

/** Transactions like a settlement (lock, update, insert, commit to disk) by 32 clients, with and without notifications. */
export async function runNotifications(
  bench: BenchDatabase,
  plan: NotificationsPlan,
  say: (line: string) => void,
): Promise<NotificationsRound[]> {
  const url = await bench.create('notifications', { isEmpty: true })
  await bench.ask(url, 'create table settled (id integer primary key, version integer not null)')
  await bench.ask(url, 'create table facts (id bigint generated always as identity primary key, of integer, body text)')
  await bench.ask(url, `insert into settled select n, 0 from generate_series(1, ${CLIENTS}) n`)
  const database = connect({ url, connections: CLIENTS, poolWaitMs: 10_000 })
  const measure = (settle: Settle) => rateOf(database, settle, plan)
  const ways: [keyof NotificationsRound, () => Promise<number>][] = [
    ['silent', () => measure(() => {})],
    ['noListeners', () => measure(notifyAfterwards)],
    ['listeners', () => withListeners(url, () => measure(notifyAfterwards))],
    ['inTransaction', () => withListeners(url, () => measure(notifyInside))],
  ]
  try {
    const rounds: NotificationsRound[] = []
    for (let number = 1; number <= plan.rounds; number++) {
      const rates: NotificationsRound = { silent: 0, noListeners: 0, listeners: 0, inTransaction: 0 }
      const order = ways.map((_, index) => ways[(index + number) % ways.length] as (typeof ways)[number])
      // Again in reverse, so that a machine or a table that becomes slower meanwhile does so for all.
      for (const [way, run] of [...order, ...order.toReversed()]) rates[way] += (await run()) / 2
      rounds.push(rates)
      say(`notifications: round ${number} of ${plan.rounds} done`)
    }
    return rounds
  } finally {
    await database.close()
  }
}

type Tx = Parameters<Parameters<Database['transaction']>[0]>[0]
type Settle = (tx: Tx, client: number) => unknown

const notifyAfterwards: Settle = (tx, client) => tx.notify(CHANNEL, String(client))
const notifyInside: Settle = (tx, client) => tx.rows(sql`select pg_notify(${CHANNEL}, ${String(client)}::text)`)

async function rateOf(database: Database, settle: Settle, { warmUpMs, measureMs }: NotificationsPlan): Promise<number> {
  const beginsAt = performance.now() + warmUpMs
  const endsAt = beginsAt + measureMs
  let settled = 0
  const client = async (_: unknown, index: number) => {
    while (performance.now() < endsAt) {
      await database.transaction(async (tx) => {
        await tx.rows(sql`update settled set version = version + 1 where id = ${index + 1}`)
        await tx.rows(sql`insert into facts (of, body) values (${index}, ${'x'.repeat(800)})`)
        await settle(tx, index)
      })
      if (performance.now() >= beginsAt) settled++
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return settled / (measureMs / 1_000)
}

async function withListeners(url: string, run: () => Promise<number>): Promise<number> {
  const listeners = Array.from({ length: LISTENERS }, () => new pg.Client({ connectionString: url }))
  for (const listener of listeners) {
    await listener.connect()
    await listener.query(`listen ${CHANNEL}`)
  }
  try {
    return await run()
  } finally {
    for (const listener of listeners) await listener.end()
  }
}
