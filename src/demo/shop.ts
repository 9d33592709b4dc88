import { createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from '../../clients/typescript/src/index.ts'
import { encodeBase58 } from '../kernel/base58.ts'
import { networkOf } from '../kernel/network.ts'
import { Problem } from '../kernel/problem.ts'
import { randomInteger48 } from '../kernel/random.ts'
import { CITIES, cityOf } from './cities.ts'
import { isShown, type Line, LiveLog, type Shown } from './live-log.ts'
import { type Account, type Attempt, type Order, type Payment, paymentsApi, Refused } from './payments-api.ts'
import { phonePage } from './phone-page.ts'
import { priceIn, productOf } from './products.ts'
import { customerOf } from './session.ts'
import {
  emptyForm,
  type Form,
  type Frame,
  lineItem,
  type Panel,
  shopPage,
  thanksPage,
  transferPage,
  troublePage,
} from './views.ts'

export interface DemoDeps {
  /** Public URL of the service, without a trailing slash. */
  baseUrl: () => string
  /** URL at which the shop's backend calls the service. */
  serverUrl: () => string
  credential: { clientId: string; clientSecret: string }
  webhookSecret: string
  script: string
  style: string
}

export interface DemoShop {
  prefix: string
  routes(app: FastifyInstance): Promise<void>
  /** Rate limit of a request: each order creates a payment. Webhooks are not limited. */
  limitOf(method: string, path: string): 'sandboxPages' | 'demoOrders' | undefined
}

const PREFIX = '/demo'
export const DEMO_WEBHOOK_PATH = `${PREFIX}/webhook`
const HIDDEN = { schema: { hide: true } }
const REFERENCE = /^DEMO-[1-9A-HJ-NP-Za-km-z]{9}$/
const MOST_WATCHERS = 100
const MOST_WATCHERS_OF_ADDRESS = 20
// Keeps proxies from closing an idle stream.
const BREATH_MS = 25_000
// Backpressure: a slow reader is disconnected; its browser reconnects and resumes.
const MOST_UNREAD_BYTES = 512 * 1024

type Query = FastifyRequest<{ Querystring: Record<string, string | string[] | undefined> }>

/**
 * An example merchant. It runs in this process but uses the service over HTTP only, and learns about payments from
 * webhooks. It stores no orders: it reads payments from the API.
 */
export function demoShop(deps: DemoDeps): DemoShop {
  const log = new LiveLog()
  const api = paymentsApi({ address: deps.serverUrl, credential: deps.credential, log })
  const headers = pageHeaders(deps)
  const seen = new Set<string>()
  /** With the address of each. */
  const watchers = new Map<PassThrough, string>()

  const frame = (): Frame => {
    const servicePath = new URL(deps.baseUrl()).pathname.replace(/\/$/, '')
    const { script, style, credential } = deps
    return { path: servicePath + PREFIX, servicePath, clientId: credential.clientId, script, style }
  }
  const panel = (after: number, shown: Shown): Panel => ({
    lines: log.after(0, shown),
    after,
    reference: shown.reference,
  })
  const visitorOf = (request: FastifyRequest, reply: FastifyReply) => customerOf(request, reply, frame().path)
  const send = (reply: FastifyReply, status: number, page: string) => reply.code(status).headers(headers()).send(page)

  /** Without the lines of the log: an answer to too many requests must be cheap. */
  function sendWait(reply: FastifyReply, seconds: number): FastifyReply {
    const note = `Your address sent too many requests, and this one was not carried out. Wait ${seconds} s, then try again.`
    const page = troublePage(frame(), { lines: [], after: log.last }, 'Please wait a moment', note)
    return send(reply.header('retry-after', String(seconds)), 429, page)
  }

  function orderFrom(form: Form, customer: string): Order {
    const product = productOf(form.product)
    if (!product) throw new Refused(400, 'We do not sell that.')
    return {
      reference: `DEMO-${encodeBase58(BigInt(randomInteger48()), 9)}`,
      ...priceIn(form.city, product),
      country: CITIES[form.city].country,
      user: { id: customer, email: form.email, phoneNumber: form.phoneNumber || null },
      customerBearsCharge: form.customerBearsCharge,
      redirectURL: `${deps.baseUrl()}${PREFIX}/thanks`,
      webhook: `${deps.baseUrl()}${DEMO_WEBHOOK_PATH}`,
      metadata: { product: product.id },
    }
  }

  /** Creates the payment and returns the customer's next URL. */
  async function buy(order: Order, { phoneNumber }: Form, way: string | null, staysHere: boolean): Promise<string> {
    const { reference } = order
    const line = { ok: true, reference, visitor: order.user.id }
    if (way === 'transfer') {
      await api.openAccount(order)
      return `${frame().path}/transfer?reference=${reference}`
    }
    if (way === 'phone') {
      await api.askPhone(order, phoneNumber)
      return `${frame().path}/phone?reference=${reference}`
    }
    const { url } = await api.createCheckout(order)
    if (staysHere) log.add({ ...line, kind: 'widget', title: `Pay.open({ reference: "${reference}" })` })
    else log.add({ ...line, kind: 'redirect', title: `Customer sent to ${url}` })
    return url
  }

  /** Of this visitor only: the shop's credential reads the orders of all. */
  async function orderOf(reference: unknown, visitor: string): Promise<Payment> {
    const isReference = typeof reference === 'string' && REFERENCE.test(reference)
    const payment = isReference ? await api.payment({ reference, visitor }) : undefined
    if (payment?.user.id !== visitor) throw new Refused(404, 'This browser has made no such order at this address.')
    return payment
  }

  async function transferOf(
    reference: unknown,
    visitor: string,
  ): Promise<{ payment: Payment; account: Account; received: number; missing: number }> {
    const payment = await orderOf(reference, visitor)
    const attempt = payment.attempts.find(({ instructions }) => instructions && 'accountNumber' in instructions)
    if (!attempt?.instructions) throw new Refused(404, 'This order is not paid by transfer.')
    const account = attempt.instructions as Account
    return {
      payment,
      account,
      received: attempt.amountReceived,
      missing: account.amountToTransfer - attempt.amountReceived,
    }
  }

  async function phoneOf(reference: unknown, visitor: string): Promise<{ payment: Payment; attempt: Attempt }> {
    const payment = await orderOf(reference, visitor)
    const attempt = payment.attempts.find(({ paidFrom }) => paidFrom?.phoneNumber)
    if (!attempt) throw new Refused(404, 'This order is not paid by phone.')
    return { payment, attempt }
  }

  async function routes(app: FastifyInstance): Promise<void> {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_, body, done) =>
      done(null, new URLSearchParams(body as string)),
    )
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    app.addHook('preClose', async () => {
      for (const watcher of watchers.keys()) watcher.end()
    })
    app.setErrorHandler((error, request, reply) => {
      if (isRateLimited(error) && acceptsHtml(request)) return sendWait(reply, error.retryAfterSeconds ?? 1)
      if (!(error instanceof Refused)) throw error
      const heading = error.status === 404 ? 'We can’t find this order' : 'That did not work'
      const shown = { visitor: visitorOf(request, reply) }
      return send(reply, error.status, troublePage(frame(), panel(log.last, shown), heading, error.message))
    })

    for (const path of ['', '/'])
      app.get(path, { ...HIDDEN, prefixTrailingSlash: 'slash' }, (request: Query, reply) => {
        const behind = panel(log.last, { visitor: visitorOf(request, reply) })
        return send(reply, 200, shopPage(frame(), behind, emptyForm(cityOf(request.query.city))))
      })

    app.post('/buy', HIDDEN, async (request, reply) => {
      const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const form: Form = {
        product: fields.get('product') ?? '',
        email: fields.get('email') ?? '',
        customerBearsCharge: fields.get('bears') === 'yes',
        city: cityOf(fields.get('city')),
        phoneNumber: fields.get('phoneNumber') ?? '',
      }
      const way = fields.get('way')
      // The page's script opens the widget. Without scripts the customer is redirected to the link.
      const staysHere = way === 'widget' && request.headers.accept === 'application/json'
      const visitor = visitorOf(request, reply)
      try {
        const order = orderFrom(form, visitor)
        const url = await buy(order, form, way, staysHere)
        if (staysHere) return reply.header('cache-control', 'no-store').send({ reference: order.reference, url })
        return reply.header('referrer-policy', 'no-referrer').redirect(url, 303)
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return send(reply, error.status, shopPage(frame(), panel(log.last, { visitor }), form, error.message))
      }
    })

    app.get('/thanks', HIDDEN, async (request: Query, reply) => {
      const { last } = log
      const { reference } = request.query
      const visitor = visitorOf(request, reply)
      const status = shortened(request.query.status)
      const from = ['onSuccess', 'onCancel', 'onClose'].find((name) => name === request.query.from)
      // The page's script reloads the order after a webhook; that is not a returning customer.
      const isRefresh = request.headers['x-panel'] !== undefined
      if (!isRefresh && typeof reference === 'string' && REFERENCE.test(reference)) {
        const line = { ok: true, reference, visitor }
        log.add(
          from
            ? { ...line, kind: 'widget', title: `${from}({ reference, status: "${status ?? ''}" })` }
            : { ...line, kind: 'redirect', title: `Customer back: ?${queryOf({ status, reference })}` },
        )
      }
      const payment = await orderOf(reference, visitor)
      const behind = panel(last, { visitor, reference: payment.reference })
      return send(reply, 200, thanksPage(frame(), behind, payment, { status, from }))
    })

    app.get('/transfer', HIDDEN, async (request: Query, reply) => {
      const { last } = log
      const visitor = visitorOf(request, reply)
      const { payment, account, received } = await transferOf(request.query.reference, visitor)
      const behind = panel(last, { visitor, reference: payment.reference })
      return send(reply, 200, transferPage(frame(), behind, payment, account, received))
    })

    app.post('/transfer', HIDDEN, async (request, reply) => {
      const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const visitor = visitorOf(request, reply)
      const { payment, account, missing } = await transferOf(fields.get('reference'), visitor)
      const { reference } = payment
      const amount = fields.get('part') === 'half' ? Math.ceil(missing / 2) : missing
      if (payment.status === 'pending') await api.sendTransfer({ reference, visitor }, account.accountNumber, amount)
      return reply.redirect(`${frame().path}/transfer?reference=${reference}`, 303)
    })

    app.get('/phone', HIDDEN, async (request: Query, reply) => {
      const { last } = log
      const visitor = visitorOf(request, reply)
      const { payment, attempt } = await phoneOf(request.query.reference, visitor)
      return send(
        reply,
        200,
        phonePage(frame(), panel(last, { visitor, reference: payment.reference }), payment, attempt),
      )
    })

    app.post('/phone', HIDDEN, async (request, reply) => {
      const fields = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
      const visitor = visitorOf(request, reply)
      const { payment, attempt } = await phoneOf(fields.get('reference'), visitor)
      const { reference, status } = payment
      const answer = fields.get('answer') === 'approve' ? 'approve' : 'refuse'
      if (status === 'pending') await api.answerPhone({ reference, visitor }, attempt.providerReference, answer)
      return reply.redirect(`${frame().path}/phone?reference=${reference}`, 303)
    })

    app.post('/webhook', HIDDEN, async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      let event: WebhookEvent
      try {
        // The shop has no endpoint of its own, so it never gets `endpoint.test`.
        event = (await verifyWebhook(body, request.headers, deps.webhookSecret)) as WebhookEvent
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error
        // The log shows nothing of the body: an attacker would choose the text.
        log.add({
          kind: 'webhook',
          title: 'POST /demo/webhook',
          outcome: `refused with 401: ${error.message}`,
          ok: false,
        })
        return reply.code(401).send({ error: error.message })
      }
      log.add({
        kind: 'webhook',
        title: event.type,
        outcome: `sequence ${event.sequence}, signature verified${seen.has(event.id) ? ', seen before' : ''}`,
        ok: true,
        reference: event.data.payment?.reference,
        visitor: event.data.payment?.user.id ?? '',
        bodies: [{ label: 'body', body: event }],
      })
      remember(seen, event.id)
      return reply.code(200).send({ received: true })
    })

    app.get('/live', HIDDEN, (request: Query, reply) => {
      const ofAddress = [...watchers.values()].filter((address) => address === networkOf(request.ip)).length
      if (watchers.size >= MOST_WATCHERS || ofAddress >= MOST_WATCHERS_OF_ADDRESS)
        throw new Refused(503, 'Too many pages are open.')
      const { reference, after } = request.query
      const wanted: Shown = {
        visitor: visitorOf(request, reply),
        reference: typeof reference === 'string' ? reference : undefined,
      }
      const stream = new PassThrough()
      const write = (line: Line) => {
        if (!isShown(wanted, line)) return
        if (stream.writableLength > MOST_UNREAD_BYTES) return void stream.destroy()
        const { number, kind, reference: webhookOf } = line
        const data = { number, item: lineItem(line).text, ...(kind === 'webhook' && { webhookOf }) }
        stream.write(`id: ${number}\ndata: ${JSON.stringify(data)}\n\n`)
      }
      stream.write('retry: 1000\n\n')
      for (const line of log.after(Number(request.headers['last-event-id'] ?? after) || 0, wanted)) write(line)
      const leave = log.listen(write)
      const breath = setInterval(() => stream.write(':\n\n'), BREATH_MS)
      watchers.set(stream, networkOf(request.ip))
      stream.once('close', () => {
        leave()
        clearInterval(breath)
        watchers.delete(stream)
      })
      // An open keep-alive connection would delay the shutdown.
      const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', connection: 'close' }
      return reply.headers(headers).send(stream)
    })
  }

  return { prefix: PREFIX, routes, limitOf }
}

function limitOf(method: string, path: string): 'sandboxPages' | 'demoOrders' | undefined {
  if (path === '/webhook') return undefined
  return method === 'POST' ? 'demoOrders' : 'sandboxPages'
}

const isRateLimited = (error: unknown): error is Problem => error instanceof Problem && error.code === 'rate_limited'

/** A browser, not the page's script. */
const acceptsHtml = ({ headers }: FastifyRequest) => /\btext\/html\b/.test(headers.accept ?? '')

/** A real shop stores event ids with its orders, for idempotency. */
function remember(seen: Set<string>, id: string): void {
  seen.add(id)
  for (const oldest of seen) {
    if (seen.size <= 1_000) return
    seen.delete(oldest)
  }
}

/** A query parameter, shortened for display. */
function shortened(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, 40) : undefined
}

function queryOf(values: Record<string, string | undefined>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/** CSP of the payment page, plus the widget's script and frame. */
function pageHeaders({ script, style, baseUrl }: DemoDeps): () => Record<string, string> {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const [scriptHash, styleHash] = [hash(script), hash(style)]
  return () => {
    // Browsers apply form-action to redirects after a form, so the public origin is allowed for visitors who used
    // another host name.
    const { origin } = new URL(baseUrl())
    return {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src ${scriptHash} 'self'; style-src ${styleHash}; img-src 'self' data:; connect-src 'self'; frame-src 'self'; form-action 'self' ${origin}; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'x-frame-options': 'DENY',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-robots-tag': 'noindex',
      'cache-control': 'no-store',
    }
  }
}
