import type { Asked, Said } from '../upstream.ts'
import type { Payouts } from './payouts.ts'
import type { Books, Intent } from './state.ts'

/** The fake Stripe's API: as strict as the documents say the real one is, and where they are silent, stricter. */
export interface ApiSwitches {
  secretKey: string
  version: string
  /** Answers of 500 that are kept under their key, as theirs are. */
  breakNext: number
  /** Says that a card needs their script, whatever address it was given to come back to. */
  needsTheirScript: boolean
  /** The most entries that a page of a list has, whatever is asked for. */
  pageLimit: number
  /** How old an entry has to be, to be in a list. */
  lagMs: number
}

class Refusal extends Error {
  readonly said: Said
  constructor(status: number, error: object) {
    super('refused')
    this.said = { status, text: JSON.stringify({ error }) }
  }
}

const invalid = (code: string, param: string, status = 400) =>
  new Refusal(status, {
    type: 'invalid_request_error',
    code,
    param,
    message: `Invalid: ${param}`,
    doc_url: 'https://docs',
  })

const SESSION_FIELDS = [
  ...['mode', 'line_items[0][quantity]', 'line_items[0][price_data][currency]', 'success_url', 'cancel_url'],
  ...['line_items[0][price_data][unit_amount]', 'line_items[0][price_data][product_data][name]', 'client_reference_id'],
  ...['metadata[reference]', 'payment_intent_data[metadata][reference]', 'customer_email', 'expires_at'],
  ...['allowed_payment_method_types[]', 'adaptive_pricing[enabled]'],
]
const SAVING_FIELDS = ['customer_creation', 'payment_intent_data[setup_future_usage]']
const INTENT_FIELDS = [
  'amount',
  'currency',
  'customer',
  'payment_method',
  'confirm',
  'return_url',
  'metadata[reference]',
]
const INTENT_EXTRAS = [
  'description',
  'expand[]',
  'allowed_payment_method_types[]',
  'off_session',
  'error_on_requires_action',
]
const REFUND_FIELDS = ['payment_intent', 'amount', 'metadata[refund]', 'metadata[reference]']

const BY_TIME = ['limit', 'starting_after', 'created[gte]', 'created[lte]']
const OF_PAYOUTS: Record<string, string[]> = {
  payouts: BY_TIME,
  balance_transactions: ['limit', 'starting_after', 'payout', 'expand[]'],
}

export function createApi(books: Books, payouts: Payouts, switches: ApiSwitches, url: () => string) {
  const asked: Asked[] = []
  /** What was first said under a key. */
  const kept = new Map<string, { print: string; said: Said }>()

  function speak(request: Asked): Said {
    asked.push(request)
    try {
      return answer(request)
    } catch (error) {
      if (error instanceof Refusal) return error.said
      throw error
    }
  }

  function answer({ method, path, headers, body }: Asked): Said {
    if (headers.authorization !== `Bearer ${switches.secretKey}`) {
      throw new Refusal(401, { type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_****' })
    }
    if (headers['stripe-version'] !== switches.version) throw invalid('api_version_invalid', 'Stripe-Version')
    const { pathname, searchParams } = new URL(path, url())
    if (method === 'GET') return ok(read(pathname, searchParams))
    if (headers['content-type'] !== 'application/x-www-form-urlencoded') throw invalid('content_type', 'Content-Type')
    const key = headers['idempotency-key']
    if (typeof key !== 'string' || !/^[\w-]{8,255}$/.test(key)) throw invalid('idempotency_key', 'Idempotency-Key')
    const print = `${pathname} ${body}`
    const first = kept.get(key)
    if (first && first.print !== print) {
      throw new Refusal(400, { type: 'idempotency_error', message: 'Keys can only be used with the same parameters.' })
    }
    if (first) return first.said
    const work = prepare(pathname, readForm(body))
    const said = switches.breakNext > 0 ? broken() : work()
    kept.set(key, { print, said })
    return said
  }

  function broken(): Said {
    switches.breakNext--
    return { status: 500, text: '{"error":{"type":"api_error","message":"An unknown error occurred"}}' }
  }

  /** Looked over whole before anything is done: what is turned down here is not kept under its key. */
  function prepare(path: string, form: Form): () => Said {
    if (path === '/v1/checkout/sessions') {
      checkSession(form)
      return () => ok(books.sessionObject(books.openSession(form.all())))
    }
    if (path === '/v1/payment_intents') {
      checkIntent(form)
      return () => charge(form)
    }
    if (path === '/v1/refunds') {
      form.has(REFUND_FIELDS, ['metadata[reason]'])
      const intent = intentBy(form.get('payment_intent'), 'payment_intent')
      const amount = form.whole('amount')
      if (intent.status !== 'succeeded') throw invalid('charge_not_refundable', 'payment_intent')
      if (books.isDisputed(intent)) {
        throw invalid('charge_disputed', 'payment_intent')
      }
      const left = books.leftOf(intent)
      if (left === 0) throw invalid('charge_already_refunded', 'payment_intent')
      if (amount < 1 || amount > left) throw invalid('amount_too_large', 'amount')
      return () => ok(books.refundObject(books.giveBack(intent, amount, form.metadata())))
    }
    throw invalid('url_invalid', 'path', 404)
  }

  function charge(form: Form): Said {
    const { does } = books.cards.get(form.get('payment_method')) ?? { does: 'decline' }
    const intent = books.openIntent({
      reference: form.get('metadata[reference]'),
      amount: form.whole('amount'),
      currency: form.get('currency'),
      customer: form.get('customer'),
      paymentMethod: form.get('payment_method'),
      returnURL: form.get('return_url'),
    })
    const wants = (what: string) => form.expands().includes(what)
    if (does === 'pay') books.succeed(intent)
    if (does === 'ask') {
      const redirect = {
        type: 'redirect_to_url',
        redirect_to_url: { url: `${url()}/3ds/${intent.id}`, return_url: intent.returnURL },
      }
      intent.nextAction = switches.needsTheirScript ? { type: 'use_stripe_sdk', use_stripe_sdk: {} } : redirect
      intent.status = 'requires_action'
      books.tell('payment_intent.requires_action', books.intentObject(intent))
    }
    if (does !== 'decline') return ok(books.intentObject(intent, wants))
    books.decline(intent)
    const error = {
      ...intent.lastError,
      payment_intent: books.intentObject(intent),
      payment_method: { id: intent.paymentMethod },
    }
    return { status: 402, text: JSON.stringify({ error }) }
  }

  function checkIntent(form: Form): void {
    form.has(INTENT_FIELDS, INTENT_EXTRAS)
    form.sum('amount', 'currency')
    form.is('confirm', /^true$/)
    form.is('return_url', /^https?:\/\//)
    const card = books.cards.get(form.get('payment_method'))
    if (![...books.cards.values()].some(({ customer }) => customer === form.get('customer'))) {
      throw invalid('resource_missing', 'customer', 404)
    }
    if (card?.customer !== form.get('customer')) throw invalid('resource_missing', 'payment_method', 404)
  }

  function read(path: string, query: URLSearchParams): object {
    const expands = query.getAll('expand[]')
    const wants = (what: string) => expands.includes(what)
    const [, collection, id] = /^\/v1\/(checkout\/sessions|[a-z]+(?:_[a-z]+)?)(?:\/([^/]+))?$/.exec(path) ?? []
    const known = id ? ['expand[]'] : (OF_PAYOUTS[collection ?? ''] ?? [...BY_TIME, 'payment_intent'])
    for (const name of query.keys()) if (!known.includes(name)) throw invalid('parameter_unknown', name)
    const page = pager(switches, query, path)
    if (collection === 'checkout/sessions') {
      if (!id) return page(books.sessions, (session) => books.sessionObject(session))
      const session = books.sessions.find((one) => one.id === id)
      if (!session) throw invalid('resource_missing', 'session', 404)
      return books.sessionObject(session, wants)
    }
    if (collection === 'payment_intents') {
      if (id) return books.intentObject(intentBy(id, 'intent'), wants)
      return page(books.intents, (intent) => books.intentObject(intent))
    }
    const ofOnePayment = ({ intent }: { intent: Intent }) =>
      !query.has('payment_intent') || intent.id === query.get('payment_intent')
    if (collection === 'refunds' && !id) return page(books.refunds.filter(ofOnePayment), books.refundObject)
    if (collection === 'disputes' && !id) return page(books.disputes.filter(ofOnePayment), books.disputeObject)
    if (collection === 'charges' && !id) {
      const charges = books.intents.flatMap((intent) => intent.charges.map((charge) => ({ ...charge, intent, charge })))
      return page(charges, ({ intent, charge }) => books.chargeObject(intent, charge))
    }
    if (collection === 'payouts' && !id) return page(payouts.made, payouts.payoutObject)
    if (collection === 'balance_transactions' && !id) {
      const payout = payouts.made.find((one) => one.id === query.get('payout'))
      if (!payout) throw invalid('resource_missing', 'payout', 404)
      return page(payout.rows, (row) => payouts.rowObject(row, wants('data.source')))
    }
    throw invalid('url_invalid', 'path', 404)
  }

  function intentBy(id: string, param: string): Intent {
    const intent = books.intents.find((one) => one.id === id)
    if (!intent) throw invalid('resource_missing', param, 404)
    return intent
  }

  return { speak, asked, forgetKeys: () => kept.clear() }
}

/** Newest first, from after the cursor on. */
function pager({ pageLimit, lagMs }: ApiSwitches, query: URLSearchParams, url: string) {
  return <T extends { id: string; created: number }>(all: T[], show: (one: T) => object): object => {
    const asked = Number(query.get('limit') ?? 10)
    if (!(asked >= 1 && asked <= 100)) throw invalid('parameter_invalid_integer', 'limit')
    const limit = Math.min(asked, pageLimit)
    const from = Number(query.get('created[gte]') ?? 0)
    const latest = lagMs > 0 ? Math.floor((Date.now() - lagMs) / 1000) : Number.MAX_SAFE_INTEGER
    const to = Math.min(Number(query.get('created[lte]') ?? latest), latest)
    const inside = all.filter(({ created }) => created >= from && created <= to).reverse()
    const cursor = query.get('starting_after')
    const start = cursor === null ? 0 : inside.findIndex(({ id }) => id === cursor) + 1
    if (cursor !== null && start === 0) throw invalid('resource_missing', 'starting_after')
    const data = inside.slice(start, start + limit).map(show)
    return { object: 'list', url, has_more: start + limit < inside.length, data }
  }
}

const ok = (object: object): Said => ({ status: 200, text: JSON.stringify(object) })

type Form = ReturnType<typeof readForm>

function readForm(body: string) {
  const pairs = [...new URLSearchParams(body)]
  const values = new Map(pairs)
  if (values.size !== pairs.length) throw invalid('parameter_duplicate', 'body')
  if ([...values.keys()].some((name) => name.startsWith('payment_method_types'))) {
    throw invalid('payment_method_types_no_longer_supported', 'payment_method_types')
  }
  const get = (name: string) => values.get(name) ?? ''
  function is(name: string, pattern: RegExp): void {
    if (!pattern.test(get(name))) throw invalid('parameter_invalid', name)
  }
  function whole(name: string): number {
    if (!/^\d{1,8}$/.test(get(name))) throw invalid('parameter_invalid_integer', name)
    return Number(get(name))
  }
  return {
    get,
    is,
    whole,
    all: () => Object.fromEntries(values),
    expands: () => new URLSearchParams(body).getAll('expand[]'),
    metadata: () =>
      Object.fromEntries(
        [...values].flatMap(([name, value]) => {
          const key = /^metadata\[(\w{1,40})\]$/.exec(name)?.[1]
          return key ? [[key, value] as const] : []
        }),
      ),
    /** All of the first, and nothing beyond the second. */
    has(needed: string[], extra: string[]): void {
      for (const name of needed) if (!values.get(name)) throw invalid('parameter_missing', name)
      for (const name of values.keys()) {
        if (!needed.includes(name) && !extra.includes(name)) throw invalid('parameter_unknown', name)
      }
    },
    /** An amount of minor units of a currency in small letters, neither too small nor too large. */
    sum(amount: string, currency: string): void {
      is(currency, /^(usd|eur|gbp|ngn|kes|zar)$/)
      if (whole(amount) < (get(currency) === 'gbp' ? 30 : 50)) throw invalid('amount_too_small', amount)
    },
  }
}

function checkSession(form: Form): void {
  form.has(SESSION_FIELDS, SAVING_FIELDS)
  form.is('mode', /^payment$/)
  form.is('line_items[0][quantity]', /^1$/)
  form.sum('line_items[0][price_data][unit_amount]', 'line_items[0][price_data][currency]')
  form.is('success_url', /^https?:\/\/.*\{CHECKOUT_SESSION_ID\}/)
  form.is('cancel_url', /^https?:\/\//)
  form.is('client_reference_id', /^[\w-]{1,200}$/)
  form.is('customer_email', /^[^\s@]+@[^\s@]+\.[^\s@]+$/)
  form.is('allowed_payment_method_types[]', /^card$/)
  form.is('adaptive_pricing[enabled]', /^false$/)
  if (form.get('payment_intent_data[setup_future_usage]')) form.is('customer_creation', /^always$/)
  const seconds = Number(form.get('expires_at')) - Date.now() / 1000
  if (!(seconds >= 30 * 60 && seconds <= 24 * 60 * 60)) throw invalid('timestamp_invalid', 'expires_at')
}
