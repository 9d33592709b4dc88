import assert from 'node:assert/strict'
import { failureOf } from '../failure.ts'
import {
  type ClientOptions,
  notOffered,
  type Order,
  type OrderHandle,
  type Outcome,
  type Provider,
  type ProviderAnswer,
  type ProviderClient,
  type RefundOrder,
  type SavedCardCharge,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { capabilities, settings } from './capabilities.ts'
import {
  chargeFor,
  chargeOf,
  encode,
  mismatch,
  otherMode,
  outcomeOfIntent,
  outcomeOfSession,
  refundFor,
  refundOutcomeOf,
  refusalOf,
  sessionFor,
} from './mapping.ts'
import { findForgery, readingOf } from './notices.ts'
import { listReversalsOf, listsOf, withLostDisputes } from './reversals.ts'
import {
  readError,
  readIntentText,
  readList,
  readListed,
  readRefund,
  readRefundText,
  readSessionText,
  readToken,
  type StripeError,
  type StripeRefund,
} from './wire.ts'

/**
 * Their shapes change by version, and an account has one of its own that we do not know: so ours goes with every call.
 */
export const VERSION = '2026-10-28.endive'

/** Stripe, for cards: README.md says what is what. */
export const stripe: Provider = {
  capabilities,
  settings,
  // The key picks the mode.
  baseURL: { sandbox: 'https://api.stripe.com', live: 'https://api.stripe.com' },
  connect,
}

function connect({ mode, settings, baseURL, http }: ClientOptions): ProviderClient {
  const { secretKey, publicKey, webhookSecret } = readSettings(settings)
  const headers = { authorization: `Bearer ${secretKey}`, 'stripe-version': VERSION }
  const get = (path: string) => http.request({ method: 'GET', url: baseURL + path, headers })
  /** With the same key they repeat their first answer for a day, an error no less than a success. */
  const post = (path: string, idempotencyKey: string, form: Parameters<typeof encode>[0]) =>
    http.request({
      method: 'POST',
      url: baseURL + path,
      headers: {
        ...headers,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': idempotencyKey,
      },
      body: encode(form),
    })

  async function checkSession(id: string, { reference }: OrderHandle): Promise<Outcome> {
    const expand = 'expand[]=payment_intent&expand[]=payment_intent.latest_charge'
    const answer = await get(`/v1/checkout/sessions/${encodeURIComponent(id)}?${expand}`)
    if (answer.kind === 'unknown') return answer
    const session = answer.status === 200 ? readSessionText(answer.text) : undefined
    if (!session) return notRead(answer)
    if (session.id !== id || session.reference !== reference) return unknown('it answered about another order')
    const wrong = otherMode(session.livemode, mode)
    if (wrong) return unknown(wrong)
    const { intent } = session
    return withLostDisputes(
      get,
      outcomeOfSession(session),
      typeof intent === 'object' ? (intent?.charge ?? null) : null,
    )
  }

  async function checkIntent(id: string, { reference }: OrderHandle): Promise<Outcome> {
    const answer = await get(`/v1/payment_intents/${encodeURIComponent(id)}?expand[]=latest_charge`)
    if (answer.kind === 'unknown') return answer
    const intent = answer.status === 200 ? readIntentText(answer.text) : undefined
    if (!intent) return notRead(answer)
    if (intent.id !== id || intent.reference !== reference) return unknown('it answered about another order')
    const wrong = otherMode(intent.livemode, mode)
    return wrong ? unknown(wrong) : withLostDisputes(get, outcomeOfIntent(intent), intent.charge)
  }

  /** A key is good for a day alone, so a refund is looked for before it is asked for. */
  async function findRefund(
    wanted: RefundOrder,
    intentId: string,
  ): Promise<StripeRefund | { kind: 'missing' } | Unknown> {
    const answer = await get(`/v1/refunds?limit=100&payment_intent=${encodeURIComponent(intentId)}`)
    if (answer.kind === 'unknown') return answer
    const list = answer.status === 200 ? readList(answer.text, readRefund) : undefined
    if (!list) return unreadable(answer.status)
    const ours = list.data.find(({ refundReference }) => refundReference === wanted.reference)
    if (ours) return ours
    return list.hasMore ? unknown('it has too many refunds of this payment to look through') : { kind: 'missing' }
  }

  return {
    publicKey,

    async verifyKeys() {
      const answer = await get('/v1/checkout/sessions?limit=1')
      if (answer.kind === 'unknown') return answer
      if (answer.status === 401) return { kind: 'bad', because: 'it refused the key' }
      if (answer.status === 403) return { kind: 'bad', because: 'the key may not read Checkout Sessions' }
      const list = answer.status === 200 ? readList(answer.text, readListed) : undefined
      return list ? { kind: 'good' } : unreadable(answer.status)
    },

    async start(order) {
      if (!capabilities.offers[order.channel]) return notOffered(order.channel)
      const answer = await post('/v1/checkout/sessions', keyOf(order), sessionFor(order))
      if (answer.kind === 'unknown') return answer
      if (answer.status !== 200) {
        const error = refusal(answer)
        if (!error) return unreadable(answer.status)
        const refused = refusalOf(error, order, mode)
        return refused.kind === 'declined' ? withKeys(refused, answer.status) : unreadable(answer.status)
      }
      const session = readSessionText(answer.text)
      if (!session) return unreadable(answer.status)
      const wrong = mismatch(session, order, mode)
      if (wrong) return unknown(wrong)
      const { id, link, expiresAt } = session
      if (!link) return unknown('it gave no link')
      return { kind: 'link', link, providerReference: id, publicKey, expiresAt, paidOnce: true }
    },

    async chargeSavedCard(order, savedCard) {
      const card = readToken(savedCard)
      // Not a token that this adapter made.
      if (!card) return { kind: 'declined', failure: failureOf('invalid_token', 'unreadable_token'), tryId: null }
      const answer = await post('/v1/payment_intents', keyOf(order), chargeFor(order, card))
      if (answer.kind === 'unknown') return answer
      if (answer.status !== 200) {
        const error = refusal(answer)
        return error ? withKeys(refusalOf(error, order, mode), answer.status) : unreadable(answer.status)
      }
      const intent = readIntentText(answer.text)
      if (!intent) return unreadable(answer.status)
      const wrong = mismatch(intent, order, mode)
      return wrong ? unknown(wrong) : chargeOf(intent)
    },

    async check(order) {
      const { reference, providerReference } = order
      if (providerReference !== reference) return checkById(providerReference, order)
      const found = await findOrder(get, order)
      return 'id' in found ? checkById(found.id, order) : found
    },

    readNotice(notice) {
      const forgery = findForgery(webhookSecret, notice)
      return forgery ? { kind: 'forged', because: forgery } : readingOf(notice.body, mode)
    },

    async findReference(transactionId) {
      const answer = await get(`/v1/payment_intents/${encodeURIComponent(transactionId)}`)
      if (answer.kind === 'unknown') return answer
      if (answer.status === 404 && readError(answer.text)?.code === 'resource_missing') return { kind: 'missing' }
      const intent = answer.status === 200 ? readIntentText(answer.text) : undefined
      if (!intent || intent.id !== transactionId) return unreadable(answer.status)
      const wrong = otherMode(intent.livemode, mode)
      if (wrong) return unknown(wrong)
      // Without our note it is another business of the same account.
      return intent.reference === null ? { kind: 'missing' } : { kind: 'found', reference: intent.reference }
    },

    async refund(wanted) {
      // One order is paid by one intent.
      const intentId = wanted.transactionIds.at(-1)
      if (!intentId) return { kind: 'refused', because: 'no transaction to give back' }
      const earlier = await findRefund(wanted, intentId)
      if ('id' in earlier) return refundOutcomeOf(earlier, wanted, intentId)
      if (earlier.kind === 'unknown') return earlier
      if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
      const answer = await post('/v1/refunds', `refund-${wanted.reference}`, refundFor(wanted, intentId))
      if (answer.kind === 'unknown') return answer
      const refund = answer.status === 200 ? readRefundText(answer.text) : undefined
      if (refund) return refundOutcomeOf(refund, wanted, intentId)
      const error = refusal(answer)
      // A refused key says nothing of an earlier try under the same reference, so that stays unknown.
      if (!error || [401, 403].includes(answer.status)) return unreadable(answer.status)
      return { kind: 'refused', because: error.code ?? error.type }
    },

    async listReversals(order, transactionIds) {
      if (transactionIds.length > 0) return listReversalsOf(get, transactionIds)
      const found = await intentOf(order)
      if (found === null) return { kind: 'reversals', refunds: [], disputes: [] }
      return typeof found === 'string' ? listReversalsOf(get, [found]) : found
    },

    lists: listsOf(get),
  }

  /** The payment intent of an order; null before the first try to pay it. */
  async function intentOf(order: OrderHandle): Promise<string | null | { kind: 'missing' } | Unknown> {
    const { reference, providerReference } = order
    const found = providerReference === reference ? await findOrder(get, order) : { id: providerReference }
    if (!('id' in found) || found.id.startsWith('pi_')) return 'id' in found ? found.id : found
    const answer = await get(`/v1/checkout/sessions/${encodeURIComponent(found.id)}`)
    if (answer.kind === 'unknown') return answer
    const session = answer.status === 200 ? readSessionText(answer.text) : undefined
    if (!session) return notRead(answer)
    if (session.id !== found.id || session.reference !== reference) return unknown('it answered about another order')
    return typeof session.intent === 'object' ? (session.intent?.id ?? null) : session.intent
  }

  function checkById(id: string, order: OrderHandle): Promise<Outcome> {
    return id.startsWith('pi_') ? checkIntent(id, order) : checkSession(id, order)
  }
}

/** One for each order, whichever way it goes: so that one reference never stands for two payments. */
const keyOf = ({ reference }: Order) => `order-${reference}`

/**
 * Why they turned a request down: they have done nothing, or declined the card. Undefined for what leaves that open: a
 * key that is in use or stands for another request, or an answer that is not theirs.
 */
function refusal({ status, text }: { status: number; text: string }): StripeError | undefined {
  const error = [400, 401, 402, 403, 404].includes(status) ? readError(text) : undefined
  return error?.type === 'idempotency_error' ? undefined : error
}

/** 401: Stripe does not know the key. 403: the key may not do this. */
function withKeys<T extends SavedCardCharge>(refused: T, status: number): T {
  return refused.kind === 'declined' && [401, 403].includes(status) ? { ...refused, keysRefused: true } : refused
}

/** What they gave an id to does not go away: who says so holds a key of another account. */
function notRead({ status, text }: { status: number; text: string }): Unknown {
  const isGone = status === 404 && readError(text)?.code === 'resource_missing'
  return isGone ? unknown('it does not know what it made; is the key of another account?') : unreadable(status)
}

function readSettings({ secretKey, publicKey, webhookSecret }: Record<string, string>) {
  assert(secretKey, 'stripe needs the setting secretKey')
  assert(publicKey, 'stripe needs the setting publicKey')
  assert(webhookSecret, 'stripe needs the setting webhookSecret') // with an empty key anyone could sign a notice
  return { secretKey, publicKey, webhookSecret }
}

/** Ours and theirs need not have the same time, and the order may have gone out some time after it was written down. */
const BEFORE_SECONDS = 10 * 60
const AFTER_SECONDS = 60 * 60
/** A session is some 5 kB, and an answer of more than a megabyte is not read. */
const PAGE = 50
const MOST_PAGES = 20

const TOO_MANY = unknown('it has too many orders of that hour to look through')

type Get = (path: string) => Promise<ProviderAnswer>

/**
 * The id of an order whose first answer was lost. They know no search by our reference that is up to date (theirs lags
 * by a minute or more), so the lists of that hour are read. Only who has read both to the end may say that it is not
 * there.
 */
export async function findOrder(get: Get, order: OrderHandle): Promise<{ id: string } | { kind: 'missing' } | Unknown> {
  const session = await findIn(get, '/v1/checkout/sessions', order)
  if ('id' in session || (session.kind === 'unknown' && session !== TOO_MANY)) return session
  // A saved card is charged without a session.
  const intent = await findIn(get, '/v1/payment_intents', order)
  return 'id' in intent || session !== TOO_MANY ? intent : session
}

async function findIn(
  get: Get,
  path: string,
  { reference, startedAt }: OrderHandle,
): Promise<{ id: string } | { kind: 'missing' } | Unknown> {
  const started = Math.floor(startedAt.getTime() / 1000)
  const window = `created[gte]=${started - BEFORE_SECONDS}&created[lte]=${started + AFTER_SECONDS}`
  let cursor = ''
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await get(`${path}?limit=${PAGE}&${window}${cursor}`)
    if (answer.kind === 'unknown') return answer
    const list = answer.status === 200 ? readList(answer.text, readListed) : undefined
    if (!list) return unreadable(answer.status)
    const ours = list.data.find((listed) => listed.reference === reference)
    if (ours) return { id: ours.id }
    if (!list.hasMore) return { kind: 'missing' }
    const last = list.data.at(-1)
    if (!last) return unreadable(answer.status)
    cursor = `&starting_after=${encodeURIComponent(last.id)}`
  }
  return TOO_MANY
}
