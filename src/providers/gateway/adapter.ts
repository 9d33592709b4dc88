import assert from 'node:assert/strict'
import {
  type ClientOptions,
  type Declined,
  type ListAnswer,
  type Order,
  type Provider,
  type ProviderAnswer,
  type ProviderClient,
  type SavedCardToken,
  type TimeRange,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { capabilities } from './capabilities.ts'
import { gatewayKeys } from './keys.ts'
import {
  disputeOf,
  mismatch,
  orderOf,
  outcomeOf,
  refundOf,
  refundOutcomeOf,
  refusalOf,
  reversalsOf,
  settlementLineOf,
  settlementOf,
  startOf,
  takenOf,
} from './mapping.ts'
import { findForgery, readingOf } from './notices.ts'
import {
  type GatewayRecord,
  readData,
  readDispute,
  readError,
  readListedRefund,
  readNoticeBody,
  readPage,
  readRecord,
  readRefund,
  readReturns,
  readSettlement,
  readSettlementLine,
  readTaken,
} from './wire.ts'

/** The sandbox provider, over HTTP like any other: README.md says what is what. */
export const gateway: Provider = {
  capabilities,
  // Its keys follow from our own, so there is nothing to set up.
  settings: [],
  baseURL: null,
  connect,
  sandboxKeys: ({ masterKey, merchantUuid, serverUrl }) => ({
    baseURL: `${serverUrl}/sandbox/gateway`,
    settings: { ...gatewayKeys(masterKey, merchantUuid) },
  }),
}

function connect({ settings, baseURL, http }: ClientOptions): ProviderClient {
  const { secretKey, publicKey } = readSettings(settings)
  const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' }
  const get = (path: string) => http.request({ method: 'GET', url: baseURL + path, headers })
  const post = (path: string, body: object) =>
    http.request({ method: 'POST', url: baseURL + path, headers, body: JSON.stringify(body) })

  return {
    publicKey,

    async verifyKeys() {
      const answer = await get('/v1/payments/none')
      if (answer.kind === 'unknown') return answer
      // A valid key gets the answer that there is no such payment.
      if (answer.status === 404) return { kind: 'good' }
      return answer.status === 401 ? { kind: 'bad', because: 'it refused the key' } : unreadable(answer.status)
    },

    async start(order) {
      const record = started(await post('/v1/payments', { ...describe(order), ...meansOf(order) }), order)
      return 'kind' in record ? record : startOf(record, order.channel)
    },

    async submit({ providerReference, channel }, code) {
      const answer = await post(`/v1/payments/${encodeURIComponent(providerReference)}/input`, { code })
      if (answer.kind === 'unknown') return answer
      const error = answer.status === 422 ? readError(answer.text) : undefined
      if (error?.code === 'incorrect_otp') return { kind: 'code refused', because: error.message ?? error.code }
      const record = answer.status === 200 ? readRecord(readData(answer.text)) : undefined
      if (!record) return unreadable(answer.status)
      if (record.reference !== providerReference) return unknown('it answered about another order')
      return startOf(record, channel)
    },

    async chargeSavedCard(order, savedCard: SavedCardToken) {
      const record = started(await post('/v1/charges', { ...describe(order), savedCard }), order)
      if ('kind' in record) return record
      const outcome = outcomeOf(record)
      if (outcome.kind !== 'pending' || !record.link) return outcome
      return { kind: 'step', link: record.link, providerReference: record.reference }
    },

    async check({ providerReference }) {
      const answer = await get(`/v1/payments/${encodeURIComponent(providerReference)}`)
      if (answer.kind === 'unknown') return answer
      if (answer.status === 404 && readError(answer.text)?.code === 'not_found') return { kind: 'missing' }
      const record = answer.status === 200 ? readRecord(readData(answer.text)) : undefined
      if (!record) return unreadable(answer.status)
      if (record.reference !== providerReference) return unknown('it answered about another order')
      return outcomeOf(record)
    },

    readNotice(notice) {
      const forgery = findForgery(secretKey, notice)
      if (forgery) return { kind: 'forged', because: forgery }
      const body = readNoticeBody(notice.body)
      return body ? readingOf(body) : { kind: 'unreadable', because: 'not a notice of the documented shape' }
    },

    async refund(wanted) {
      const { reference, order, transactionIds, amount } = wanted
      const asked = { reference, payment: order.providerReference, amount: amount.amount, transactionIds }
      const answer = await post('/v1/refunds', asked)
      if (answer.kind === 'unknown') return answer
      const refund = answer.status === 200 ? readRefund(readData(answer.text)) : undefined
      if (refund) return refundOutcomeOf(refund, wanted)
      const error = readError(answer.text)
      // A refused key or a conflict says nothing of an earlier try under the same reference, so those stay unknown.
      if (error && [400, 404, 422].includes(answer.status)) return { kind: 'refused', because: error.code }
      return unreadable(answer.status)
    },

    async listReversals({ providerReference }) {
      const answer = await get(`/v1/payments/${encodeURIComponent(providerReference)}/returns`)
      if (answer.kind === 'unknown') return answer
      if (answer.status === 404 && readError(answer.text)?.code === 'not_found') return { kind: 'missing' }
      const returns = answer.status === 200 ? readReturns(readData(answer.text)) : undefined
      if (!returns) return unreadable(answer.status)
      if (returns.reference !== providerReference) return unknown('it answered about another order')
      return reversalsOf(returns)
    },

    lists: {
      transactions: (range, cursor) => list('transactions', range, cursor, readTaken, takenOf),
      refunds: (range, cursor) =>
        list('refunds', range, cursor, readListedRefund, (refund) => ({ ...refundOf(refund), ...orderOf(refund) })),
      disputes: (range, cursor) =>
        list('disputes', range, cursor, readDispute, (dispute) => {
          const listed = disputeOf(dispute)
          return listed && { ...listed, ...orderOf(dispute) }
        }),
      settlements: (range, cursor) => list('settlements', range, cursor, readSettlement, settlementOf),
      settlementLines: (id, cursor) =>
        page(`settlements/${encodeURIComponent(id)}/lines`, new URLSearchParams(), cursor, {
          ...{ name: 'lines', read: readSettlementLine, show: settlementLineOf },
        }),
    },
  }

  function list<T, Entry>(
    name: 'transactions' | 'refunds' | 'disputes' | 'settlements',
    { from, to }: TimeRange,
    cursor: string | null,
    read: (one: unknown) => T | undefined,
    show: (one: T) => Entry | undefined,
  ): Promise<ListAnswer<Entry>> {
    const query = new URLSearchParams({ from: from.toISOString(), to: to.toISOString() })
    return page(name, query, cursor, { name, read, show })
  }

  async function page<T, Entry>(
    path: string,
    query: URLSearchParams,
    cursor: string | null,
    { name, read, show }: { name: string; read: (one: unknown) => T | undefined; show: (one: T) => Entry | undefined },
  ): Promise<ListAnswer<Entry>> {
    query.set('limit', '100')
    if (cursor !== null) query.set('cursor', cursor)
    const answer = await get(`/v1/${path}?${query}`)
    if (answer.kind === 'unknown') return answer
    const found = answer.status === 200 ? readPage(readData(answer.text), name, read) : undefined
    const entries = found?.entries.map(show)
    if (!found || !entries || entries.includes(undefined)) return unreadable(answer.status)
    return { kind: 'page', entries: entries as Entry[], nextCursor: found.nextCursor }
  }
}

function readSettings({ secretKey, publicKey }: Record<string, string>): { secretKey: string; publicKey: string } {
  assert(secretKey, 'gateway needs the setting secretKey') // with an empty key anyone could sign a notice
  assert(publicKey, 'gateway needs the setting publicKey')
  return { secretKey, publicKey }
}

function describe({ reference, amount, customer, merchantName, returnURL, expiresAt }: Order): object {
  return {
    reference,
    amount: amount.amount,
    currency: amount.currency,
    email: customer.email,
    ...(customer.name !== null && { name: customer.name }),
    merchantName,
    returnURL,
    expiresAt: expiresAt.toISOString(),
  }
}

/** What the customer pays with, in their words. */
function meansOf({ channel, input, savedCard }: Order): object {
  switch (channel) {
    case 'card':
      return { channel, ...(savedCard !== undefined && { savedCard }) }
    case 'virtual-bank-account':
      return { channel: 'transfer' }
    case 'mobile-money': {
      const { network, phoneNumber } = input
      return { channel, network, ...(phoneNumber !== undefined && { phoneNumber }) }
    }
    case 'ussd':
    case 'bank':
      return { channel, bank: input.bank }
    case 'qr':
      return { channel }
  }
}

/** The order as they have written it down, or why there is none. */
function started(answer: ProviderAnswer, order: Order): GatewayRecord | Declined | Unknown {
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  if (status === 200 || status === 201) {
    const record = readRecord(readData(text))
    if (!record) return unreadable(status)
    const wrong = mismatch(record, order)
    return wrong ? unknown(wrong) : record
  }
  const error = readError(text)
  if (!error || ![400, 401, 402, 403, 422].includes(status)) return unreadable(status)
  return status === 401 || status === 403 ? { ...refusalOf(error), keysRefused: true } : refusalOf(error)
}
