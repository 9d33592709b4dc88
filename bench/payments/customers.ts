import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HttpClient } from './http-client.ts'
import type { Merchant } from './merchant.ts'
import { readBody } from './read-body.ts'

/**
 * The merchants and the customers: a process of its own that pays as fast as it is answered, or at a steady rate. Each
 * customer pays one payment after the other, and begins the next one when the webhook of the last has arrived here.
 */
export interface CustomersOrder {
  /** The origins of the server under test and of the provider. */
  server: string
  provider: string
  /** The customers are spread over them. */
  merchants: Merchant[]
  customers: number
  /** Payments that begin in a second, at most. Absent: as many as are answered. */
  perSecond?: number | undefined
  /** At least. Both phases take longer where payments are slow. */
  warmUpMs: number
  measureMs: number
}

export interface CustomersResult {
  /** Payments whose webhook arrived while it was measured. */
  measured: number
  seconds: number
  p50Ms: number
  p99Ms: number
  /** All of them, with those of the warm-up. */
  paid: number
  /** Payments that an overloaded service refused to start. */
  refused: number
}

export type CustomersReport =
  | { kind: 'warm' }
  | { kind: 'measured' }
  | { kind: 'done'; result: CustomersResult }
  | { kind: 'failed'; reason: string }

/** A payment, from the first request until its webhook arrived. */
interface Journey {
  begunAt: number
  toldAt: number
}

const AMOUNT = 1_250_000
const LEAST_PAYMENTS = 10
const PHASE_WITHIN_MS = 60_000
const PAUSE_MS = 50

/** Resolves with the time when the webhook of a payment arrived, by its reference. */
const waiting = new Map<string, (at: number) => void>()
let payments = 0

const webhooks = createServer((message, response) => {
  const at = performance.now()
  readBody(message).then((text) => {
    response.end()
    const { type, data } = JSON.parse(text)
    if (type === 'payment.successful') waiting.get(data.payment.reference)?.(at)
  }, console.error)
})
webhooks.keepAliveTimeout = 60_000

async function run(order: CustomersOrder): Promise<CustomersResult> {
  const { merchants, customers, warmUpMs, measureMs } = order
  const shop = new Shop(order)
  const journeys: Journey[] = []
  let isOver = false
  let onPaid = () => {}
  let nextAt = 0
  /** One payment begins after the other. A customer who was late does not hurry. */
  const turn = async () => {
    if (!order.perSecond) return
    nextAt = Math.max(performance.now(), nextAt + 1_000 / order.perSecond)
    await sleep(Math.max(0, nextAt - performance.now()))
  }
  const customer = async (_: unknown, index: number) => {
    while (!isOver) {
      await turn()
      const journey = await shop.payOnce(merchants[index % merchants.length] as Merchant)
      if (journey) journeys.push(journey)
      else await sleep(PAUSE_MS)
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
  const from = performance.now()
  report({ kind: 'warm' })
  await phase(measureMs, Math.max(LEAST_PAYMENTS, 2 * customers))
  const to = performance.now()
  report({ kind: 'measured' })
  isOver = true
  await inTime(all)
  shop.close()
  const times = journeys
    .filter(({ toldAt }) => toldAt >= from && toldAt < to)
    .map(({ begunAt, toldAt }) => toldAt - begunAt)
    .sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return {
    ...{ measured: times.length, seconds: (to - from) / 1_000, p50Ms: at(0.5), p99Ms: at(0.99) },
    ...{ paid: journeys.length, refused: shop.refused },
  }
}

class Shop {
  refused = 0
  readonly #server: HttpClient
  readonly #provider: HttpClient

  constructor({ server, provider }: CustomersOrder) {
    this.#server = new HttpClient(server)
    this.#provider = new HttpClient(provider)
  }

  close(): void {
    this.#server.close()
    this.#provider.close()
  }

  /** The floor answers the same requests. Undefined: an overloaded service refused, and the customer gave up. */
  async payOnce({ headers }: Merchant): Promise<Journey | undefined> {
    const reference = `B${process.pid}-${++payments}`
    const told = new Promise<number>((resolve) => waiting.set(reference, resolve))
    const begunAt = performance.now()
    const order = {
      ...{ reference, amount: AMOUNT, provider: 'paystack', webhook: `http://127.0.0.1:${port}/webhooks` },
      // Each payment has a customer of its own: the saved card of a known one would be charged at once.
      user: { email: `${reference.toLowerCase()}@example.com`, name: 'Ada' },
    }
    const { status, body } = await this.#server.request({
      ...{ method: 'POST', path: '/payments/v1/payments/initialize', body: JSON.stringify(order) },
      headers: { ...headers, 'content-type': 'application/json' },
    })
    const text = body.toString('latin1') // the fastest to decode; these answers are ASCII
    if (status !== 200) {
      waiting.delete(reference)
      if (!text.includes('"retryable":true')) throw new Error(`initialize was answered with ${status}: ${text}`)
      this.refused++
      return undefined
    }
    // The customer presses the button of the provider's page.
    const link = new URL(JSON.parse(text).data.data.link)
    const paid = await this.#provider.request({ method: 'POST', path: link.pathname })
    if (paid.status !== 302) throw new Error(`the provider answered with ${paid.status}: ${paid.body}`)
    const toldAt = await told
    waiting.delete(reference)
    return { begunAt, toldAt }
  }
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
webhooks.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 }, () => {
  port = (webhooks.address() as AddressInfo).port
  process.send?.({ port })
})
process.on('message', (order: CustomersOrder) => {
  run(order).then(
    (result) => report({ kind: 'done', result }),
    (error: Error) => report({ kind: 'failed', reason: error.message }),
  )
})
process.on('disconnect', () => process.exit())
