import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { nowMs } from './clock.ts'
import { HttpClient } from './http-client.ts'
import { readBody } from './read-body.ts'
import { createLink, type Journey, type Link, type Shop, WAYS, type Way } from './ways.ts'

/**
 * The merchant and the customers: a process of its own that pays as fast as it is answered, or at a steady rate. Each customer pays one
 * payment after the other, and begins the next one when the webhook of the last has arrived here.
 */
export interface CustomersOrder {
  way: Way
  /** The origins of the server under test and of the provider. */
  server: string
  provider: string
  account: string
  headers: Record<string, string>
  customers: number
  /** Payments that begin in a second, at most. Absent: as many as are answered. */
  perSecond?: number | undefined
  /** At least. Both phases take longer where payments are slow. */
  warmUpMs: number
  measureMs: number
}

/** Before an order to pay by page: so many links are created, which its customers then open. */
export type LinksOrder = CustomersOrder & { createLinks: number }

export interface CustomersResult {
  /** Those whose webhook arrived while it was measured. */
  journeys: Journey[]
  seconds: number
  /** All of them, with those of the warm-up. */
  paid: number
  /** Requests that were answered with 503 and repeated. */
  refused: number
}

export type CustomersReport =
  | { kind: 'warm' }
  | { kind: 'measured' }
  | { kind: 'done'; result: CustomersResult }
  | { kind: 'failed'; reason: string }

const LEAST_PAYMENTS = 10
const MERCHANTS = 64
const PHASE_WITHIN_MS = 60_000

/** Resolves with the time when the webhook of a payment arrived, by its reference. */
const waiting = new Map<string, (at: number) => void>()
let payments = 0
/** Created, and not opened yet. */
const links: Link[] = []

const merchant = createServer((message, response) => {
  const at = nowMs()
  readBody(message).then((text) => {
    response.end()
    const { type, data } = JSON.parse(text)
    if (type === 'payment.successful') waiting.get(data.payment.reference)?.(at)
  }, console.error)
})
merchant.keepAliveTimeout = 60_000

async function run(order: CustomersOrder): Promise<CustomersResult> {
  const { way, customers, warmUpMs, measureMs } = order
  let refused = 0
  const shop = openShop(order, () => refused++)
  const journeys: Journey[] = []
  let isOver = false
  let onPaid = () => {}
  let nextAt = 0
  /** One payment begins after the other. A customer who was late does not hurry. */
  const turn = async () => {
    if (!order.perSecond) return
    nextAt = Math.max(nowMs(), nextAt + 1_000 / order.perSecond)
    await sleep(Math.max(0, nextAt - nowMs()))
  }
  const customer = async () => {
    while (!isOver) {
      await turn()
      const journey = await payOnce(shop, way)
      if (journey) journeys.push(journey)
      onPaid()
    }
  }
  const all = Promise.all(Array.from({ length: customers }, customer))
  const phase = (ms: number, payments: number) => {
    const wanted = journeys.length + payments
    const enough = new Promise<void>((resolve) => {
      onPaid = () => journeys.length >= wanted && resolve()
    })
    return inTime(Promise.race([all, Promise.all([sleep(ms), enough])]))
  }
  // Until each customer has paid about once: they begin together, and drift apart from then on.
  await phase(warmUpMs, customers)
  const from = nowMs()
  report({ kind: 'warm' })
  await phase(measureMs, Math.max(LEAST_PAYMENTS, 2 * customers))
  const to = nowMs()
  report({ kind: 'measured' })
  isOver = true
  await inTime(all)
  closeShop(shop)
  links.length = 0 // of this server; the next order may be for another
  const isMeasured = ({ marks: { told = 0 } }: Journey) => told >= from && told < to
  return { journeys: journeys.filter(isMeasured), seconds: (to - from) / 1_000, paid: journeys.length, refused }
}

async function createLinks(order: LinksOrder): Promise<CustomersResult> {
  let refused = 0
  const shop = openShop(order, () => refused++)
  const merchant = async () => {
    while (links.length < order.createLinks) links.push(await createLink(shop, newReference()))
  }
  await inTime(Promise.all(Array.from({ length: MERCHANTS }, merchant)))
  closeShop(shop)
  return { journeys: [], seconds: 0, paid: 0, refused }
}

function openShop({ account, headers, server, provider }: CustomersOrder, onRefused: () => void): Shop {
  const clients = { server: new HttpClient(server), provider: new HttpClient(provider) }
  return { account, headers, ...clients, webhook: `http://127.0.0.1:${port}/webhooks`, onRefused }
}

function closeShop({ server, provider }: Shop): void {
  server.close()
  provider.close()
}

const newReference = () => `B${process.pid}-${++payments}`

async function payOnce(shop: Shop, way: Way): Promise<Journey | undefined> {
  const link = way === 'page' ? links.pop() : undefined
  const reference = link?.reference ?? newReference()
  const told = new Promise<number>((resolve) => waiting.set(reference, resolve))
  const journey = await WAYS[way](shop, reference, link)
  if (journey) journey.marks.told = await told
  waiting.delete(reference)
  return journey
}

/** A lost webhook must end the run. */
function inTime(phase: Promise<unknown>): Promise<unknown> {
  const timeout = sleep(PHASE_WITHIN_MS).then(() => {
    throw new Error(`${waiting.size} payments were not finished within ${PHASE_WITHIN_MS} ms`)
  })
  timeout.catch(() => {})
  return Promise.race([phase, timeout])
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

function report(message: CustomersReport): void {
  process.send?.(message)
}

let port = 0
merchant.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  port = (merchant.address() as AddressInfo).port
  process.send?.({ port })
})
process.on('message', (order: CustomersOrder | LinksOrder) => {
  const done = 'createLinks' in order ? createLinks(order) : run(order)
  done.then(
    (result) => report({ kind: 'done', result }),
    (error: Error) => report({ kind: 'failed', reason: error.message }),
  )
})
process.on('disconnect', () => process.exit())
