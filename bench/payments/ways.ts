import { gunzipSync } from 'node:zlib'
import { nowMs } from './clock.ts'
import { type HttpClient, headerOf, type Request } from './http-client.ts'

/** The ways to pay that are measured. The floor answers the requests of `initialize`. `page` begins with an existing link. */
export type Way = 'initialize' | 'page' | 'create and page' | 'account'

/** What a customer and a merchant need for a payment. */
export interface Shop {
  /** The server under test. */
  server: HttpClient
  provider: HttpClient
  /** The account at the provider: the first part of its paths. */
  account: string
  headers: Record<string, string>
  webhook: string
  /** Called when an answer is 503, before the request is repeated. */
  onRefused(): void
}

/** A payment as its merchant and its customer saw it: the times at which each step was answered. */
export interface Journey {
  /** The provider's name of it. */
  order: string
  marks: Record<string, number>
}

/** A hosted checkout link. */
export interface Link {
  reference: string
  path: string
}

/** Goes as far as the customer does; the webhook comes by itself. Undefined: the customer gave up, and pays nothing. */
export type Pay = (shop: Shop, reference: string, link?: Link) => Promise<Journey | undefined>

const AMOUNT = 1_250_000

export const WAYS: Record<Way, Pay> = {
  async initialize(shop, reference) {
    const begun = nowMs()
    const { data } = await callApi(shop, '/payments/v1/payments/initialize', { ...orderOf(shop, reference), provider })
    const initialized = nowMs()
    const { order } = await payByCard(shop, data.data.link)
    return { order, marks: { begun, initialized, paid: nowMs() } }
  },

  async account(shop, reference) {
    const begun = nowMs()
    const { data } = await callApi(shop, '/payments/v1/payments/initialize', {
      ...orderOf(shop, reference),
      provider: `${provider}-virtual-bank-account`,
    })
    const initialized = nowMs()
    const { accountNumber } = data.data
    const transfer = {
      method: 'POST',
      path: `/${shop.account}/transfers`,
      body: JSON.stringify({ accountNumber }),
    } as const
    const { text } = await call(shop, shop.provider, transfer, 200)
    return { order: JSON.parse(text).data.reference, marks: { begun, initialized, paid: nowMs() } }
  },

  async page(shop, reference, link) {
    return payOnPage(shop, link ?? (await createLink(shop, reference)), nowMs())
  },

  async 'create and page'(shop, reference) {
    const begun = nowMs()
    return payOnPage(shop, await createLink(shop, reference), begun)
  },
}

export async function createLink(shop: Shop, reference: string): Promise<Link> {
  const { data } = await callApi(shop, '/payments/v1/checkouts', { ...orderOf(shop, reference), country: 'NG' }, 201)
  return { reference, path: new URL(data.url).pathname }
}

async function payOnPage(shop: Shop, { path }: Link, begun: number): Promise<Journey | undefined> {
  const created = nowMs()
  const page = await call(shop, shop.server, { method: 'GET', path, headers: { 'accept-encoding': 'gzip' } }, 200)
  const form = cardForm(page.text)
  const opened = nowMs()
  // As the script of the page sends it: the answer is the panel with the provider's link.
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-panel': 'pending' }
  const panel = await call(shop, shop.server, { method: 'POST', path, headers, body: form.toString() }, 200)
  const link = /<a class="button" href="([^"]+)"/.exec(panel.text)?.[1]
  // A submit that was refused half-way shows no link until the worker has found out what became of it.
  if (!link && panel.text.includes('data-state="processing"')) return undefined
  if (!link) throw new Error(`a page without a link to the provider: ${panel.text.slice(0, 600)}`)
  const submitted = nowMs()
  const { order, back } = await payByCard(shop, link)
  const paid = nowMs()
  await call(shop, shop.server, { method: 'GET', path: `${back.pathname}${back.search}` }, 302)
  return { order, marks: { begun, created, opened, submitted, paid, returned: nowMs() } }
}

const provider = 'paystack'

/** Each payment has a customer of its own: the saved card of a known one would be charged at once. */
const orderOf = ({ webhook }: Shop, reference: string) => ({
  ...{ reference, amount: AMOUNT, webhook },
  user: { email: `${reference.toLowerCase()}@example.com`, name: 'Ada' },
})

async function callApi(shop: Shop, path: string, body: object, status = 200) {
  const headers = { ...shop.headers, 'content-type': 'application/json' }
  const { text } = await call(shop, shop.server, { method: 'POST', path, headers, body: JSON.stringify(body) }, status)
  return JSON.parse(text)
}

/** The customer presses the button of the provider's page, which sends them back. */
async function payByCard(shop: Shop, link: string): Promise<{ order: string; back: URL }> {
  const { head } = await call(shop, shop.provider, { method: 'POST', path: new URL(link).pathname }, 302)
  const back = new URL(headerOf(head, 'location') ?? '')
  return { order: back.searchParams.get('reference') ?? '', back }
}

/** The fields of the form for a new card, as they are sent when nothing is touched. */
function cardForm(page: string): URLSearchParams {
  const inside = page.indexOf('name="method" value="card"')
  const form = page.slice(page.lastIndexOf('<form ', inside), page.indexOf('</form>', inside))
  const fields = new URLSearchParams()
  for (const [input] of form.matchAll(/<input [^>]*>/g)) {
    const read = (attribute: string) => new RegExp(`${attribute}="([^"]*)"`).exec(input)?.[1] ?? ''
    const isSent = read('type') === 'hidden' || (read('type') === 'radio' && input.includes(' checked'))
    if (isSent) fields.set(read('name'), read('value'))
  }
  return fields
}

const REPEAT_AFTER_MS = 50
/** A whole page. Several chunks would be joined, and smaller or larger ones take more time. */
const ONE_CHUNK = { chunkSize: 32 * 1_024 }

async function call(
  shop: Shop,
  client: HttpClient,
  request: Request,
  wanted: number,
): Promise<{ head: string; text: string }> {
  const { status, head, body } = await client.request(request)
  // An overloaded service refuses. Every request here is safe to repeat, and customers and merchants do.
  if (status === 503) {
    shop.onRefused()
    await new Promise((resolve) => setTimeout(resolve, REPEAT_AFTER_MS))
    return call(shop, client, request, wanted)
  }
  const plain = headerOf(head, 'content-encoding') === 'gzip' ? gunzipSync(body, ONE_CHUNK) : body
  const text = plain.toString('latin1') // the fastest to decode; customers use ASCII parts only
  if (status !== wanted) {
    throw new Error(`${request.method} ${request.path} was answered with ${status}: ${text.slice(0, 600)}`)
  }
  return { head, text }
}
