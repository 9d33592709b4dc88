import {
  type ClientOptions,
  type OrderHandle,
  type Outcome,
  type ProviderAnswer,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { isNotFound, isPaid, outcomeOf, refundStatusOf } from './mapping.ts'
import { optional, refundsOf } from './reversals.ts'
import { readEnvelope, readPages, readTransaction, readTransactions, type Transaction } from './wire.ts'

/** Their HTTP, with our key. */
export interface Api {
  get(path: string, query?: Record<string, string>): Promise<ProviderAnswer>
  post(path: string, body: object): Promise<ProviderAnswer>
}

export function api({ baseURL, http }: ClientOptions, secretKey: string): Api {
  const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }
  return {
    get(path, query) {
      const search = query ? `?${new URLSearchParams(query)}` : ''
      return http.request({ method: 'GET', url: `${baseURL}/v3${path}${search}`, headers })
    },
    post: (path, body) =>
      http.request({ method: 'POST', url: `${baseURL}/v3${path}`, headers, body: JSON.stringify(body) }),
  }
}

export type Found = { kind: 'found'; transaction: Transaction } | { kind: 'none' } | Unknown

/** The one transaction that they show for a reference: which one, when there are several, they do not say. */
function findByReference(api: Api, reference: string): Promise<Found> {
  return find(api, '/transactions/verify_by_reference', reference, { tx_ref: reference })
}

export function findById(api: Api, id: string, reference?: string): Promise<Found> {
  return find(api, `/transactions/${encodeURIComponent(id)}/verify`, reference)
}

async function find(
  api: Api,
  path: string,
  reference: string | undefined,
  query?: Record<string, string>,
): Promise<Found> {
  const answer = await api.get(path, query)
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  const envelope = readEnvelope(text)
  const isError = envelope !== undefined && !envelope.isSuccess
  if (isError && [200, 400, 404].includes(status) && isNotFound(envelope.message)) return { kind: 'none' }
  const transaction = status === 200 && envelope?.isSuccess ? readTransaction(envelope.data) : undefined
  if (!transaction) return unreadable(status)
  if (reference !== undefined && transaction.reference !== reference) return unknown('it answered about another order')
  return { kind: 'found', transaction }
}

/**
 * How an order stands. Each try on their page is a transaction of its own under our one reference, and verifying by
 * reference shows one of them, perhaps an old failure. So when there is one, all are listed, and a success among them
 * is verified by its own id.
 */
export async function checkOrder(api: Api, order: OrderHandle): Promise<Outcome> {
  const { reference, providerReference } = order
  const tries = await findTries(api, reference)
  if ('kind' in tries) return tries
  if (tries.length === 0) {
    // A link or an account has a provider reference of its own and is unused. Without one, Flutterwave does not know
    // the order.
    return providerReference === reference ? { kind: 'missing' } : { kind: 'pending', receipts: [] }
  }
  return outcomeOf(tries, order, await reversedOf(api, tries.filter(isPaid)))
}

/** Every transaction of an order, each success verified by its own id; none when they know of none. */
export async function findTries(api: Api, reference: string): Promise<Transaction[] | Unknown> {
  const shown = await findByReference(api, reference)
  if (shown.kind === 'unknown') return shown
  if (shown.kind === 'none') return []
  const { transaction: one } = shown
  const listed = await listTries(api, reference)
  if ('kind' in listed) {
    // Money is money. But a failure may not be all there is, so without the list it is no verdict.
    return isPaid(one) ? [one] : listed
  }
  const tries = new Map([...listed, one].map((transaction) => [transaction.id, transaction]))
  const successes = new Set(listed.filter(isPaid).map(({ id }) => id))
  if (isPaid(one)) successes.delete(one.id)
  for (const id of successes) {
    const verified = await findById(api, id, reference)
    if (verified.kind === 'unknown') return verified
    if (verified.kind === 'none' || !isPaid(verified.transaction)) {
      return unknown('it lists a success, and does not stand by it')
    }
    tries.set(id, verified.transaction)
  }
  return [...tries.values()]
}

/**
 * What went back of each, pending refunds included: their money has left the merchant's balance. A refunded transaction
 * is still `successful`, so the list of refunds is asked. A list that fails stops no payment: what went back is booked
 * when it is listed.
 */
async function reversedOf(api: Api, paid: Transaction[]): Promise<Map<string, number>> {
  const returned = new Map<string, number>()
  for (const transaction of paid) {
    const refunds = optional(await refundsOf(api, transaction))
    if ('kind' in refunds) continue
    const made = refunds.filter((refund) => refundStatusOf(refund) !== 'failed')
    returned.set(
      transaction.id,
      made.reduce((sum, { amount }) => sum + amount, 0),
    )
  }
  return returned
}

async function listTries(api: Api, reference: string): Promise<Transaction[] | Unknown> {
  const first = await list(api, { tx_ref: reference })
  if ('kind' in first || first.pages <= 1) return 'kind' in first ? first : first.tries
  // More tries than fit on a page. What went before does not matter, unless it was money.
  const paid = await list(api, { tx_ref: reference, status: 'successful' })
  return 'kind' in paid ? paid : [...first.tries, ...paid.tries]
}

async function list(
  api: Api,
  query: Record<string, string> & { tx_ref: string },
): Promise<{ tries: Transaction[]; pages: number } | Unknown> {
  const answer = await api.get('/transactions', query)
  if (answer.kind === 'unknown') return answer
  const envelope = answer.status === 200 ? readEnvelope(answer.text) : undefined
  const tries = envelope?.isSuccess ? readTransactions(envelope.data, query.tx_ref) : undefined
  const pages = envelope && readPages(envelope)
  return tries && pages !== undefined ? { tries, pages } : unreadable(answer.status)
}
