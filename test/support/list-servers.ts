import type { ProviderHttp } from '../../src/outbound/provider-http.ts'
import { flutterwave } from '../../src/providers/flutterwave/adapter.ts'
import { monnify } from '../../src/providers/monnify/adapter.ts'
import { paystack } from '../../src/providers/paystack/adapter.ts'
import type { Provider, ProviderClient } from '../../src/providers/provider.ts'
import { stripe } from '../../src/providers/stripe/adapter.ts'

// The lists of accounts with very many transactions, which are made up from their numbers when they are asked for.

export const PROVIDERS: Provider[] = [paystack, flutterwave, monnify, stripe]
/** Accounts that sell. The others are idle. */
export const BUSY = 30
const PAID_A_DAY = 10_000 / BUSY
const DAY_MS = 86_400_000
const DAYS = 101

/** The transactions of an account, evenly over time. Entry 0 is the newest. */
export interface Sales {
  firstAtMs: number
  stepMs: number
  entries: number
}

/** Of a hundred days before the start and the day after it. Ten of thirteen entries are paid. */
export function salesFrom(startsAt: number): { of(account: number): Sales } {
  const stepMs = DAY_MS / (PAID_A_DAY * 1.3)
  return {
    of: (account) => ({
      ...{ stepMs, entries: Math.floor(DAYS * PAID_A_DAY * 1.3) },
      firstAtMs: startsAt + DAY_MS - (account / BUSY) * stepMs,
    }),
  }
}

export interface ListServer {
  client: ProviderClient
  calls: number
}

interface Entry {
  id: string
  order: string
  at: string
  atSeconds: number
  isPaid: boolean
}

/** An account of a provider. `sales`: absent, if it has none. */
export function listServer(name: string, sales: Sales | undefined, now: { at: number }): ListServer {
  const wire = WIRES[name]
  const provider = PROVIDERS.find(({ capabilities }) => capabilities.name === name)
  if (!wire || !provider) throw new Error(`no lists of ${name}`)
  const http: ProviderHttp = {
    async request({ url }) {
      server.calls++
      const { pathname, searchParams } = new URL(url)
      const between = (from: number, to: number) => new Range(sales, from, Math.min(to, now.at))
      return { kind: 'answer', status: 200, text: JSON.stringify(wire.answer(pathname, searchParams, between)) }
    },
  }
  const client = provider.connect({ mode: 'live', settings: wire.settings, baseURL: 'https://api.example', http })
  const server: ListServer = { client, calls: 0 }
  return server
}

/** The entries of a range, the newest first. */
class Range {
  readonly #sales: Sales | undefined
  readonly #first: number
  readonly length: number

  constructor(sales: Sales | undefined, from: number, to: number) {
    this.#sales = sales
    const { firstAtMs, stepMs, entries } = sales ?? { firstAtMs: 0, stepMs: 1, entries: 0 }
    this.#first = Math.max(0, Math.ceil((firstAtMs - to) / stepMs))
    const last = Math.min(entries - 1, Math.floor((firstAtMs - from) / stepMs))
    this.length = Math.max(0, last - this.#first + 1)
  }

  slice(start: number, count: number): Entry[] {
    const size = Math.max(0, Math.min(count, this.length - start))
    return Array.from({ length: size }, (_, offset) => entryOf(this.#sales as Sales, this.#first + start + offset))
  }

  /** Behind the entry with this id. */
  after(id: string, count: number): Entry[] {
    return this.slice(Number(id) - 100_000_000 - this.#first + 1, count)
  }
}

function entryOf({ firstAtMs, stepMs }: Sales, number: number): Entry {
  const atMs = firstAtMs - number * stepMs
  const id = String(100_000_000 + number)
  return {
    ...{ id, order: `order${id}`, at: new Date(atMs).toISOString(), atSeconds: Math.floor(atMs / 1000) },
    isPaid: number % 13 < 10,
  }
}

interface Wire {
  settings: Record<string, string>
  answer(path: string, query: URLSearchParams, between: (from: number, to: number) => Range): object
}

const ANY_KEYS = { secretKey: 'sk_live_x', publicKey: 'pk_live_x' }
/** Of Flutterwave, whose documents do not say it. */
const FLUTTERWAVE_PAGE = 20

const WIRES: Record<string, Wire> = {
  paystack: {
    settings: ANY_KEYS,
    answer(path, query, between) {
      if (/^\/transaction\/\d+$/.test(path)) return { status: true, data: paystackEntry(numbered(path)) }
      const all = path === '/transaction' ? between(...isoRange(query)) : NOTHING
      const [page, perPage] = [Number(query.get('page')), Number(query.get('perPage'))]
      const meta = { total: all.length, perPage, page, pageCount: Math.ceil(all.length / perPage) }
      return {
        status: true,
        message: 'Retrieved',
        data: all.slice((page - 1) * perPage, perPage).map(paystackEntry),
        meta,
      }
    },
  },
  flutterwave: {
    settings: { ...ANY_KEYS, secretHash: 'x' },
    answer(path, query, between) {
      if (path.endsWith('/verify')) return { status: 'success', message: '', data: flutterwaveEntry(numbered(path)) }
      // From the first moment of one day to the last of another.
      const all = path.endsWith('/transactions') ? between(...dayRange(query)) : NOTHING
      const page = Number(query.get('page') ?? 1)
      const data = all.slice((page - 1) * FLUTTERWAVE_PAGE, FLUTTERWAVE_PAGE).map(flutterwaveEntry)
      const total_pages = Math.max(1, Math.ceil(all.length / FLUTTERWAVE_PAGE))
      return { status: 'success', message: 'fetched', data, meta: { page_info: { total_pages } } }
    },
  },
  monnify: {
    settings: { apiKey: 'x', secretKey: 'x', contractCode: '1' },
    answer(path, query, between) {
      if (path.endsWith('/login')) return inEnvelope({ accessToken: 'x', expiresIn: 3_600 })
      const all = path.endsWith('/search') ? between(...msRange(query)) : NOTHING
      const [page, size] = [Number(query.get('page')), Number(query.get('size'))]
      const content = all.slice(page * size, size).map(({ id, order, at, isPaid }) => ({
        ...{ transactionReference: `theirs${id}`, paymentReference: order, createdOn: at, currencyCode: 'NGN' },
        ...{ paymentStatus: isPaid ? 'PAID' : 'EXPIRED', amount: 5000 },
      }))
      return inEnvelope({ content, totalPages: Math.ceil(all.length / size) })
    },
  },
  stripe: {
    settings: { ...ANY_KEYS, webhookSecret: 'x' },
    answer(path, query, between) {
      const [gte, lte] = [Number(query.get('created[gte]')) * 1000, Number(query.get('created[lte]')) * 1000]
      const all = path === '/v1/charges' ? between(gte, lte) : NOTHING
      const [limit, last] = [Number(query.get('limit')), query.get('starting_after')]
      const some = last ? all.after(last.slice(3), limit + 1) : all.slice(0, limit + 1)
      return { object: 'list', data: some.slice(0, limit).map(stripeEntry), has_more: some.length > limit }
    },
  },
}

const NOTHING = new Range(undefined, 0, 0)
const isoRange = (query: URLSearchParams) =>
  [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')] as const
const dayRange = (query: URLSearchParams) =>
  [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '') + DAY_MS - 1] as const
const msRange = (query: URLSearchParams) => [Number(query.get('from')), Number(query.get('to'))] as const
const inEnvelope = (responseBody: object) => ({ requestSuccessful: true, responseCode: '0', responseBody })

function numbered(path: string): Entry {
  const id = /\d{9}/.exec(path)?.[0] ?? ''
  return { id, order: `order${id}`, at: new Date().toISOString(), atSeconds: 0, isPaid: true }
}

const paystackEntry = ({ id, order, at, isPaid }: Entry) => ({
  ...{ id: Number(id), domain: 'live', reference: order, amount: 500_000, requested_amount: 500_000, currency: 'NGN' },
  ...{ status: isPaid ? 'success' : 'abandoned', created_at: at, paid_at: isPaid ? at : null, channel: 'card' },
  ...{ message: null, gateway_response: 'Approved', fees: 7_500, customer: { email: 'ada@example.com' }, metadata: '' },
})

const flutterwaveEntry = ({ id, order, at, isPaid }: Entry) => ({
  ...{ id: Number(id), tx_ref: order, flw_ref: `FLW-${id}`, amount: 5000, charged_amount: 5000, currency: 'NGN' },
  ...{ status: isPaid ? 'successful' : 'failed', payment_type: 'card', created_at: at, auth_model: 'PIN' },
  ...{ processor_response: 'Approved', app_fee: 75, customer: { email: 'ada@example.com' } },
})

const stripeEntry = ({ id, order, atSeconds, isPaid }: Entry) => ({
  ...{ id: `ch_${id}`, object: 'charge', status: isPaid ? 'succeeded' : 'failed', amount: 500_000, currency: 'ngn' },
  ...{ amount_captured: isPaid ? 500_000 : 0, amount_refunded: 0, disputed: false, livemode: true, refunded: false },
  ...{ created: atSeconds, payment_intent: id, metadata: { reference: order } },
})
