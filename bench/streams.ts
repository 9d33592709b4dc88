import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { idOf } from '../src/kernel/ids.ts'
import type { BenchDatabase } from './bench-database.ts'
import { openInspector } from './inspector.ts'
import { callManilla, type Subject, startManilla, stop } from './subjects.ts'

export interface StreamsPlan {
  rounds: number
  streams: number
}

export interface Latency {
  p50Ms: number
  p99Ms: number
}

export interface Streams {
  streams: number
  /** Growth of the process while they were opened. */
  rssBytes: number
  heapBytes: number
  rounds: { settledToTold: Latency; chargedToTold: Latency }[]
}

interface Payment {
  path: string
  uuid: string
  order: string
}

const AT_ONCE = 4
const CARD = '4084084084084081'

/** Many open pages, each of another payment; then the customers pay, and each page is updated. */
export async function runStreams(
  database: BenchDatabase,
  { rounds, streams }: StreamsPlan,
  say: (line: string) => void,
): Promise<Streams> {
  const url = await database.create('streams')
  const inspectorPort = await freePort()
  const manilla = await startManilla(url, [`--inspect=127.0.0.1:${inspectorPort}`, '--inspect-publish-uid=http'])
  const inspector = await openInspector(inspectorPort)
  const payments = await initialize(database, url, manilla, streams)
  say(`streams: ${streams} payments initialized`)

  for (const { socket } of await openPages(manilla, payments.slice(0, 100))) socket.destroy() // warm-up
  const before = await inspector.memory()
  const pages = await openPages(manilla, payments)
  const after = await inspector.memory()
  inspector.close()

  const result: Streams = {
    streams,
    rssBytes: after.rss - before.rss,
    heapBytes: after.heapUsed - before.heapUsed,
    rounds: [],
  }
  for (let number = 0; number < rounds; number++) {
    const group = pages.filter((_, index) => index % rounds === number)
    const chargedAt = new Map<string, number>()
    await inTurn(group, async ({ payment, told }) => {
      chargedAt.set(payment.uuid, now())
      await callManilla(manilla, `/sandbox/gateway/charges/${payment.order}`, { card: CARD })
      await told
    })
    const settledAt = await settledTimes(database, url)
    result.rounds.push({
      settledToTold: await latency(group, ({ uuid }) => settledAt.get(uuid)),
      chargedToTold: await latency(group, ({ uuid }) => chargedAt.get(uuid)),
    })
    say(`streams: round ${number + 1} of ${rounds} done`)
  }
  for (const { socket } of pages) socket.destroy()
  await stop(manilla.child)
  return result
}

async function initialize(database: BenchDatabase, url: string, manilla: Subject, count: number): Promise<Payment[]> {
  const orders = new Map<string, string>()
  await inTurn(
    Array.from({ length: count }, (_, index) => index),
    async (index) => {
      // A new customer each: the saved card of a known one would be charged at once.
      const user = { email: `customer-${index}@example.com` }
      const reference = `ORD-${index}`
      const wanted = { provider: 'gateway', reference, amount: 1_250_000, user }
      const { data } = await callManilla(manilla, '/payments/v1/payments/initialize', wanted)
      orders.set(reference, data.data.reference)
    },
  )
  const rows = await database.ask<{ place: number; id: string; reference: string }>(
    url,
    'select place, id, reference from payments',
  )
  return rows.map(({ place, id, reference }) => ({
    path: `/pay/${idOf('payment', id, place)}/live`,
    uuid: id,
    order: orders.get(reference) ?? '',
  }))
}

interface Page {
  payment: Payment
  socket: Socket
  /** When the page got the event that it is paid. */
  told: Promise<number>
}

async function openPages(manilla: Subject, payments: Payment[]): Promise<Page[]> {
  const pages: Page[] = []
  await inTurn(payments, async (payment) => {
    const socket = connect({ host: '127.0.0.1', port: manilla.port })
    socket.write(`GET ${payment.path} HTTP/1.1\r\nhost: 127.0.0.1:${manilla.port}\r\n\r\n`)
    const open = Promise.withResolvers<void>()
    const told = Promise.withResolvers<number>()
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
      if (text.includes('"status":"pending"}')) open.resolve()
      if (text.includes('"status":"successful"}')) told.resolve(now())
    })
    socket.once('close', () => open.reject(new Error(`a page could not be followed: ${text.slice(0, 300)}`)))
    await open.promise
    pages.push({ payment, socket, told: told.promise })
  })
  return pages
}

/** The wall clock, which all processes share, so that it can be compared with the time of an event. */
function now(): number {
  return performance.timeOrigin + performance.now()
}

async function settledTimes(database: BenchDatabase, url: string): Promise<Map<string, number>> {
  const rows = await database.ask<{ payment_id: string; occurred_at: Date }>(
    url,
    "select payment_id, occurred_at from events where type = 'payment.successful'",
  )
  return new Map(rows.map(({ payment_id, occurred_at }) => [payment_id, occurred_at.getTime()]))
}

async function latency(pages: Page[], since: (payment: Payment) => number | undefined): Promise<Latency> {
  const each = await Promise.all(pages.map(async ({ payment, told }) => (await told) - (since(payment) ?? Number.NaN)))
  if (each.some(Number.isNaN)) throw new Error('a page was updated for a payment that was not settled')
  const sorted = each.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Ms: at(0.5), p99Ms: at(0.99) }
}

async function inTurn<Item>(items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = items.values() // one for all of them
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
