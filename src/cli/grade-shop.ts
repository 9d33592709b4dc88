import { setTimeout as sleep } from 'node:timers/promises'
import { newWebhookSecret, type WebhookSecret } from '../events/webhook-secret.ts'
import { newId, type PaymentId, placeOf } from '../kernel/ids.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { WebhookHttp } from '../outbound/webhook-http.ts'
import { webhookHeaders } from '../webhooks/signature.ts'
import { testMessage } from '../webhooks/try-endpoint.ts'
import type { Api } from './api.ts'
import { poll } from './sandbox-provider.ts'

/** What a shop did in one story, and whether that was correct. */
export interface ShopGrade {
  what: string
  wanted: string
  was: string
  /** How to fix the shop; null when it is correct. */
  mend: string | null
}

export interface ShopUnderTest {
  checkout: string
  form: [string, string][]
  /** A GET lists the references of the delivered orders. */
  delivered: string
  webhook: string | undefined
  secret: WebhookSecret
  /** Of the sandbox. */
  provider: string
  api: Api
  post: WebhookHttp['post']
  /** This command sends the webhooks, so that it decides when and how often. */
  mute(id: PaymentId): Promise<boolean>
  /** How long a shop may take to deliver after its response. */
  actsWithinMs?: number
}

interface Event {
  id: string
  type: string
  sequence: number
  data: Record<string, unknown>
}

const GOOD_CARD = '4084 0840 8408 4081'
const EMPTY_CARD = '4000 0000 0000 9995'
const TEN_MINUTES_MS = 600_000
const EVENT_TIMEOUT_MS = 20_000
/** A second delivery may come later than the first. */
const LAST_LOOK_AFTER_MS = 1_000

/** An order that this command has placed in the shop. */
class Order {
  readonly #shop: ShopUnderTest
  readonly #payment: Record<string, unknown> & { id: string; reference: string; amount: number }
  readonly #cookies: string
  readonly #webhook: string
  /** Answers to webhooks that should have been others. */
  readonly wrongAnswers: string[] = []

  constructor(shop: ShopUnderTest, payment: Order['payment'], cookies: string, webhook: string) {
    this.#shop = shop
    this.#payment = payment
    this.#cookies = cookies
    this.#webhook = webhook
  }

  get payment(): Record<string, unknown> & { id: string; reference: string; amount: number } {
    return this.#payment
  }

  get reference(): string {
    return this.#payment.reference
  }

  async start(channel = ''): Promise<Record<string, string>> {
    const { reference, amount, currency, country, user } = this.#payment
    const { email } = user as { email: string }
    const provider = this.#shop.provider + channel
    const wanted = { reference, amount, currency, country, user: { email }, provider }
    return (await this.#shop.api('POST', '/payments/v1/payments/initialize', wanted)).data
  }

  async payByCard(card = GOOD_CARD): Promise<void> {
    const { reference } = await this.start()
    await this.#shop.api('POST', `/sandbox/${this.#shop.provider}/charges/${reference}`, { card })
  }

  async transfer(accountNumber: string | undefined, amount: number): Promise<void> {
    await this.#shop.api('POST', `/sandbox/${this.#shop.provider}/transfers`, { accountNumber, amount })
  }

  async cancel(): Promise<void> {
    await this.#shop.api('POST', `/payments/v1/payments/${encodeURIComponent(this.reference)}/cancel`)
  }

  /** As it is recorded. */
  async event(type: string): Promise<Event> {
    const path = `/payments/v1/events?payment=${encodeURIComponent(this.reference)}&type=${type}&limit=1`
    const [event] = await poll(
      () => this.#shop.api('GET', path) as Promise<Event[]>,
      ({ length }) => length > 0,
      EVENT_TIMEOUT_MS,
    )
    if (!event) throw new OperatorError(`No ${type} was recorded for ${this.reference}.`)
    return event
  }

  /** A payment.successful that did not happen. */
  async invented(changes: Record<string, unknown> = {}): Promise<Event> {
    const { reference } = this
    const payment = await this.#shop.api('GET', `/payments/v1/payments/${encodeURIComponent(reference)}`)
    const { id, type, sequence } = { id: this.newId(), type: 'payment.successful', sequence: 9 }
    const paid = { ...payment, status: 'successful', amountPaid: payment.amount, ...changes }
    return { id, type, sequence, data: { payment: paid, attempt: null } }
  }

  newId(): string {
    return newId('event', new Date(), placeOf(this.#payment.id as PaymentId))
  }

  async send(event: Event, { secret = this.#shop.secret, at = new Date(), wanted = 2 } = {}): Promise<void> {
    const body = JSON.stringify({ ...event, timestamp: new Date().toISOString(), mode: 'sandbox' })
    const headers = webhookHeaders([secret], { id: event.id, body, at })
    const answer = await this.#shop.post({ url: this.#webhook, headers, body, allowPrivate: true })
    const said = answer.kind === 'answer' ? String(answer.status) : answer.because
    if (answer.kind !== 'answer' || Math.floor(answer.status / 100) !== wanted)
      this.wrongAnswers.push(`${said} to ${event.type}`)
  }

  /** The browser of the customer follows the address that the payment page leads to. */
  async comeBack(status: string): Promise<void> {
    const { redirectURL } = this.#payment
    if (typeof redirectURL !== 'string') return
    const address = new URL(redirectURL)
    address.searchParams.set('status', status)
    address.searchParams.set('reference', this.reference)
    await fetch(address, {
      headers: { cookie: this.#cookies },
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    })
  }
}

interface Story {
  what: string
  deliveries: 0 | 1
  mend: string
  play(order: Order): Promise<void>
}

const STORIES: Story[] = [
  {
    what: 'paid, webhook, return',
    deliveries: 1,
    mend: 'Deliver once: whichever of webhook and return comes first changes the order, and the other finds it paid.',
    async play(order) {
      await order.payByCard()
      await order.send(await order.event('payment.successful'))
      await order.comeBack('successful')
    },
  },
  {
    what: 'paid, the browser is lost',
    deliveries: 1,
    mend: 'Deliver in the webhook: many customers never come back.',
    async play(order) {
      await order.payByCard()
      await order.send(await order.event('payment.successful'))
    },
  },
  {
    what: 'paid, return, no webhook',
    deliveries: 1,
    mend: 'Ask for the payment when the customer comes back, and deliver when its status is successful.',
    async play(order) {
      await order.payByCard()
      await order.event('payment.successful')
      await order.comeBack('successful')
    },
  },
  {
    what: 'paid, return, the webhook twice, return again',
    deliveries: 1,
    mend: 'Handle each event id once, and change an order from unpaid to paid in one statement.',
    async play(order) {
      await order.payByCard()
      const event = await order.event('payment.successful')
      await order.comeBack('successful')
      await Promise.all([order.send(event), order.send(event)])
      await order.send(event)
      await order.comeBack('successful')
    },
  },
  {
    what: 'not paid, a forged return',
    deliveries: 0,
    mend: 'Do not trust the address of the return: ask for the payment.',
    play: (order) => order.comeBack('successful'),
  },
  {
    what: 'not paid, a forged webhook',
    deliveries: 0,
    mend: 'Verify the signature of a webhook over its raw body. Respond with 401.',
    async play(order) {
      await order.send(await order.invented(), { secret: newWebhookSecret(), wanted: 4 })
    },
  },
  {
    what: 'a webhook of ten minutes ago',
    deliveries: 0,
    mend: 'Refuse (4xx) a webhook-timestamp that differs by more than five minutes from now.',
    async play(order) {
      await order.send(await order.invented(), { at: new Date(Date.now() - TEN_MINUTES_MS), wanted: 4 })
    },
  },
  {
    what: 'another amount was paid under the reference',
    deliveries: 0,
    mend: 'Compare amount and currency of the payment with those of your order before you deliver.',
    async play(order) {
      await order.send(await order.invented({ amount: 1, amountPaid: 1 }))
    },
  },
  {
    what: 'declined, return',
    deliveries: 0,
    mend: 'Deliver for payment.successful only. attempt.failed leaves the payment pending: the customer can try again.',
    async play(order) {
      await order.payByCard(EMPTY_CARD)
      await order.send(await order.event('attempt.failed'))
      await order.comeBack('pending')
    },
  },
  {
    what: 'half of it was transferred',
    deliveries: 0,
    mend: 'payment.underpaid is not paid: deliver for payment.successful only.',
    async play(order) {
      const { accountNumber } = await order.start('-virtual-bank-account')
      await order.transfer(accountNumber, Math.floor(order.payment.amount / 2))
      await order.send(await order.event('payment.underpaid'))
    },
  },
  {
    what: 'cancelled, paid late',
    deliveries: 1,
    mend: 'payment.cancelled is not final: deliver, or refund, when payment.successful follows with late: true.',
    async play(order) {
      const { accountNumber } = await order.start('-virtual-bank-account')
      await order.cancel()
      await order.send(await order.event('payment.cancelled'))
      await order.transfer(accountNumber, order.payment.amount)
      await order.send(await order.event('payment.successful'))
    },
  },
  {
    what: 'paid, then the webhook of the decline before it',
    deliveries: 1,
    mend: 'Events can come in any order: one with a lower sequence never takes back that an order is paid.',
    async play(order) {
      await order.payByCard(EMPTY_CARD)
      const before = await order.event('attempt.failed')
      await order.payByCard()
      await order.send(await order.event('payment.successful'))
      await order.send(before)
      await order.send({ ...before, id: order.newId(), type: 'payment.cancelled' })
    },
  },
  {
    what: 'events that you do not know, and a test event',
    deliveries: 0,
    mend: 'Respond with 2xx to types that you do not handle; endpoint.test has no payment. Do not deliver for them.',
    async play(order) {
      await order.send({ ...(await order.invented()), type: 'payment.not_invented_yet' })
      const { body } = testMessage(new Date(), placeOf(order.payment.id as PaymentId), 'sandbox')
      await order.send(JSON.parse(body))
    },
  },
]

/** Plays each story with an order of its own, and compares what the shop delivered with what was paid. */
export async function gradeShop(shop: ShopUnderTest): Promise<ShopGrade[]> {
  const first = await buy(shop, shop.checkout)
  const played = await Promise.all(
    STORIES.map(async (story) => {
      const order = await buy(shop, shop.checkout)
      await story.play(order)
      if (story.deliveries > 0) await waitForDelivery(shop, order.reference)
      return { story, order }
    }),
  )
  await sleep(LAST_LOOK_AFTER_MS)
  const list = await readDelivered(shop)
  const grades = played.map(({ story: { what, deliveries, mend }, order }): ShopGrade => {
    const count = countOf(list, order.reference)
    const was = [named(count), ...order.wrongAnswers].join(', ')
    const isGood = count === deliveries && order.wrongAnswers.length === 0
    return { what, wanted: named(deliveries), was, mend: isGood ? null : mend }
  })
  return [...grades, await gradePrice(shop, first)]
}

/** A customer who changes the address of the checkout must not change the price. */
async function gradePrice(shop: ShopUnderTest, { payment }: Order): Promise<ShopGrade> {
  const address = new URL(shop.checkout)
  const names = ['amount', 'price', 'total']
  for (const name of names) address.searchParams.set(name, '100')
  const cheap = await buy(shop, address.href, [...shop.form, ...names.map((name): [string, string] => [name, '100'])])
  const isSame = cheap.payment.amount === payment.amount
  return {
    what: 'a checkout whose address names another amount',
    wanted: String(payment.amount),
    was: String(cheap.payment.amount),
    mend: isSame ? null : 'Take the amount from your own records, never from the browser.',
  }
}

const named = (deliveries: number) =>
  deliveries === 0 ? 'not delivered' : deliveries === 1 ? 'delivered' : `delivered ${deliveries} times`

/** Follows the redirects of the checkout to the payment page, as a browser does. */
async function buy(shop: ShopUnderTest, checkout: string, form = shop.form): Promise<Order> {
  const cookies = new Map<string, string>()
  let address = checkout
  for (let redirects = 0; redirects < 10; redirects++) {
    const isPost = redirects === 0
    const response = await fetch(address, {
      method: isPost ? 'POST' : 'GET',
      headers: { cookie: asHeader(cookies) },
      ...(isPost && { body: new URLSearchParams(form) }),
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
    }).catch(() => undefined)
    for (const line of response?.headers.getSetCookie() ?? []) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/s)
      cookies.set(name, value)
    }
    const location = response?.headers.get('location')
    if (!location)
      throw new OperatorError(`${address} did not lead to the payment page (${response?.status ?? 'no answer'}).`)
    address = new URL(location, address).href
    const id = /\/pay\/(chk_\w+)/.exec(address)?.[1]
    if (id) return open(shop, id as PaymentId, asHeader(cookies))
  }
  throw new OperatorError(`${checkout} leads from redirect to redirect, and not to the payment page.`)
}

async function open(shop: ShopUnderTest, id: PaymentId, cookies: string): Promise<Order> {
  const payment = await shop.api('GET', `/payments/v1/payments/${id}`)
  const webhook = shop.webhook ?? payment.webhook
  if (!webhook) throw new OperatorError('The payments of the shop have no `webhook`. Give its address with --webhook.')
  if (!(await shop.mute(id)))
    throw new OperatorError('The payment is not in this database. Check DATABASE_URL, DATA_DIR and --url.')
  return new Order(shop, payment, cookies, webhook)
}

const asHeader = (cookies: Map<string, string>) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

async function readDelivered({ delivered }: ShopUnderTest): Promise<string> {
  const response = await fetch(delivered, { signal: AbortSignal.timeout(10_000) }).catch(() => undefined)
  if (!response?.ok) throw new OperatorError(`${delivered} did not answer with a list of orders. Check --delivered.`)
  return response.text()
}

async function waitForDelivery(shop: ShopUnderTest, reference: string): Promise<void> {
  await poll(
    () => readDelivered(shop),
    (list) => countOf(list, reference) > 0,
    shop.actsWithinMs ?? 5_000,
  )
}

/** One reference may be the beginning of another. */
function countOf(list: string, reference: string): number {
  const exact = reference.replaceAll(/[^\w]/g, '\\$&')
  return list.match(new RegExp(`(?<![\\w-])${exact}(?![\\w-])`, 'g'))?.length ?? 0
}
