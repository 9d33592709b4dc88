import { createHmac } from 'node:crypto'
import { after } from 'node:test'
import type { Mode } from '../../src/kernel/mode.ts'
import type { ProviderAnswer } from '../../src/outbound/provider-http.ts'
import { failureOf } from '../../src/providers/failure.ts'
import type {
  ClientOptions,
  FailureCode,
  Outcome,
  Provider,
  ProviderClient,
  Start,
  Submitted,
} from '../../src/providers/provider.ts'
import { PROVIDERS } from '../../src/providers/registry.ts'
import { type Asked, type Said, startUpstream, type Upstream } from '../fakes/upstream.ts'
import { type PayingService, request, type Shop, startPaying } from './paying.ts'

/** What the server of the provider knows of one order. */
export interface PhoneOrder {
  reference: string
  channel: string
  amount: number
  currency: string
  phoneNumber?: string
  network?: string
  bank?: string
  codes: string[]
  status: 'wants code' | 'waiting' | 'paid' | 'declined'
  failure?: FailureCode
  transactions: { id: string; amount: number; at: string }[]
  refunded: number
}

const KEY = 'sk_test_phone'
/** A number that ends in it has no account at its network. */
export const UNKNOWN = '029'
export const RIGHT_CODE = '123456'
const LIFETIME_SECONDS = 180

/**
 * A provider with a server of its own and every channel that customers pay by phone. Nobody pays until the test says
 * so. Telecel wants a voucher first, M-PESA Paybill is paid from the menu, and a bank has a page.
 */
export class PhoneProvider {
  readonly orders = new Map<string, PhoneOrder>()
  /** All requests so far. */
  readonly asked: Asked[] = []
  upstream!: Upstream
  #count = 0

  async open(): Promise<void> {
    this.upstream = await startUpstream({ after }, (asked) => this.#answer(asked))
  }

  /** The newest first. */
  order(number = 1): PhoneOrder {
    const found = [...this.orders.values()].at(-number)
    if (!found) throw new Error('there is no such order')
    return found
  }

  approve(order: PhoneOrder): void {
    order.status = 'paid'
    const id = `phone-${order.reference}-${++this.#count}`
    order.transactions.push({ id, amount: order.amount, at: new Date().toISOString() })
  }

  decline(order: PhoneOrder, failure: FailureCode): void {
    order.status = 'declined'
    order.failure = failure
  }

  /** Tells the service, as often as the provider likes. */
  async notify(service: PayingService, shop: Shop, { reference }: PhoneOrder): Promise<number> {
    const { body } = await shop.call('GET', '/payments/v1/integrations/phone')
    const path = new URL(body.data.noticeURL).pathname
    const text = JSON.stringify({ reference })
    return (await request(service.baseUrl + path, 'POST', { signature: sign(text) }, text)).status
  }

  #answer(asked: Asked): Said {
    this.asked.push(asked)
    const [, kind, reference = '', what] = asked.path.split('/')
    if (kind === 'me') return { status: 200, text: '{}' }
    const body = asked.body ? JSON.parse(asked.body) : {}
    if (kind === 'refunds') return this.#refund(reference, body)
    const known = this.orders.get(reference)
    if (asked.method === 'GET') return known ? said(known) : { status: 404, text: '{}' }
    if (what === 'code' && known) return this.#takeCode(known, body.code)
    if (known) return said(known)
    const order: PhoneOrder = {
      ...{ ...body, reference, codes: [], transactions: [], refunded: 0 },
      status: body.network === 'telecel' ? 'wants code' : 'waiting',
    }
    if (order.phoneNumber?.endsWith(UNKNOWN)) this.decline(order, 'subscriber_unknown')
    this.orders.set(reference, order)
    return said(order)
  }

  #takeCode(order: PhoneOrder, code: string): Said {
    order.codes.push(code)
    if (code !== RIGHT_CODE) return { status: 422, text: '{"because":"a wrong code"}' }
    order.status = 'waiting'
    return said(order)
  }

  #refund(reference: string, { order: of, amount }: { order: string; amount: number }): Said {
    const order = this.orders.get(of)
    if (!order) return { status: 404, text: '{}' }
    order.refunded += amount
    return { status: 200, text: JSON.stringify({ id: `rf-${reference}` }) }
  }

  provider(): Provider {
    const url = this.upstream.url
    const fee = { basisPoints: 100 }
    const mobile = {
      ...{ fee, lifetimeSeconds: LIFETIME_SECONDS, limits: { min: 100, max: 5_000_000 } },
      networks: { GH: ['mtn', 'telecel', 'at'], KE: ['mpesa', 'mpesa-paybill'], RW: ['mtn'] } as const,
    }
    return {
      capabilities: {
        ...{ name: 'phone', title: 'Phone', sandboxOnly: false, framed: false },
        ...{ pageTakesSavedCards: false, pageAsksToSave: false, limits: {} },
        countries: ['GH', 'KE', 'RW', 'NG', 'CI'],
        currencies: ['GHS', 'KES', 'RWF', 'NGN', 'XOF'],
        offers: {
          card: { GHS: { fee } },
          'mobile-money': { GHS: mobile, KES: mobile, RWF: mobile, XOF: { ...mobile, ...ORANGE } },
          ussd: { NGN: { fee, banks: BANKS, lifetimeSeconds: 1_800 } },
          bank: { NGN: { fee, banks: BANKS }, GHS: { fee } },
          qr: { NGN: { fee, lifetimeSeconds: 900 } },
        },
      },
      settings: [
        {
          ...{ name: 'secretKey', about: 'The secret key', secret: true },
          pattern: { sandbox: /^sk_test_\w+$/, live: /^sk_live_\w+$/ },
          looksLike: { sandbox: 'sk_test_…', live: 'sk_live_…' },
        },
      ],
      baseURL: { sandbox: url, live: url },
      connect,
    }
  }
}

export const BANKS = [
  { code: '058', name: 'GTBank' },
  { code: '044', name: 'Access Bank' },
]

/** A code that the customer makes beforehand. */
const ORANGE = {
  networks: { CI: ['orange', 'wave'] },
  codeBeforehand: { CI: ['orange'] },
  codeHelp: { CI: 'Composez #144*82#' },
} as const

const said = (order: PhoneOrder): Said => ({ status: 200, text: JSON.stringify(order) })
const sign = (text: string) => createHmac('sha256', KEY).update(text).digest('hex')

function connect({ baseURL, http }: ClientOptions): ProviderClient {
  const call = (method: 'GET' | 'POST', path: string, body?: object) =>
    http.request({ method, url: baseURL + path, headers: {}, ...(body && { body: JSON.stringify(body) }) })
  return {
    publicKey: 'pk_test_phone',
    verifyKeys: async () => ({ kind: 'good' }),
    async start({ reference, channel, amount, input, expiresAt }): Promise<Start> {
      const answer = await call('POST', `/orders/${reference}`, { ...amount, channel, ...input })
      return readOrder(answer, (order) => startOf(order, reference, expiresAt))
    },
    async submit({ reference }, code): Promise<Submitted> {
      const answer = await call('POST', `/orders/${reference}/code`, { code })
      if (answer.kind === 'answer' && answer.status === 422)
        return { kind: 'code refused', because: JSON.parse(answer.text).because }
      const expiresAt = new Date(Date.now() + LIFETIME_SECONDS * 1_000)
      return readOrder(answer, (order) => startOf(order, reference, expiresAt))
    },
    chargeSavedCard: async () => ({ kind: 'unknown', because: 'no cards are kept here' }),
    check: async ({ reference }): Promise<Outcome> => {
      const answer = await call('GET', `/orders/${reference}`)
      if (answer.kind === 'answer' && answer.status === 404) return { kind: 'missing' }
      return readOrder(answer, outcomeOf)
    },
    readNotice({ headers, body }) {
      if (headers.signature !== sign(body.toString())) return { kind: 'forged', because: 'a wrong signature' }
      return { kind: 'notice', reference: JSON.parse(body.toString()).reference, says: 'other', receipts: [] }
    },
    async refund({ reference, order, amount }) {
      const answer = await call('POST', `/refunds/${reference}`, { order: order.reference, amount: amount.amount })
      return answer.kind === 'answer' && answer.status === 200
        ? { kind: 'refunded', refundId: JSON.parse(answer.text).id }
        : { kind: 'unknown', because: 'it did not' }
    },
  }
}

function readOrder<Result>(answer: ProviderAnswer, then: (order: PhoneOrder) => Result) {
  if (answer.kind === 'unknown') return answer
  if (answer.status === 200) return then(JSON.parse(answer.text))
  return { kind: 'unknown' as const, because: `it answered ${answer.status}`, errorStatus: answer.status }
}

function startOf(order: PhoneOrder, providerReference: string, expiresAt: Date): Start {
  const started = { providerReference, expiresAt }
  switch (order.channel) {
    case 'ussd':
      return { ...started, kind: 'dial', code: '*737*33*4*18791#', bankName: 'GTBank' }
    case 'qr':
      return { ...started, kind: 'qr', text: '000201010212' }
    case 'mobile-money':
      if (order.network === 'mpesa-paybill') return { ...started, kind: 'pay to', number: '4000', account: 'AB12' }
      if (order.status === 'waiting') return { ...started, kind: 'prompt', shownAs: 'PHONE <LTD>' }
      if (order.status === 'wants code')
        return { ...started, kind: 'code wanted', code: 'voucher', message: 'Dial *110# to make a voucher.' }
      return outcomeOf(order)
    default:
      return { ...started, kind: 'link', link: 'https://phone.example/pay', publicKey: 'pk_test_phone' }
  }
}

function outcomeOf({ status, failure, transactions, currency }: PhoneOrder): Outcome {
  const receipts = transactions.map(({ id, amount, at }) => ({
    ...{ transactionId: id, idIsProviders: true as const, at: new Date(at) },
    amount: { amount, currency } as never,
  }))
  switch (status) {
    case 'paid':
      return { kind: 'paid', receipts }
    case 'declined':
      return { kind: 'declined', failure: failureOf(failure ?? 'other', 'phone'), tryId: null }
    case 'waiting':
    case 'wants code':
      return { kind: 'pending', receipts }
  }
}

/** The service with this provider, and a shop that has set it up. */
export async function startWithPhones(changes: Parameters<typeof startPaying>[0] = {}) {
  const phones = new PhoneProvider()
  await phones.open()
  const service = await startPaying({ providers: [...PROVIDERS, phones.provider()], ...changes })
  async function openShop(mode: Mode = 'sandbox'): Promise<Shop> {
    const shop = await service.addShop('Akosua Prints', { bare: true, mode })
    const secretKey = mode === 'live' ? 'sk_live_phone' : KEY
    const { status, body } = await shop.call('PUT', '/payments/v1/integrations/phone', { settings: { secretKey } })
    if (status >= 300) throw new Error(JSON.stringify(body))
    return shop
  }
  return { phones, service, openShop }
}
