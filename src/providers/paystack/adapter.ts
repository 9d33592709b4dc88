import {
  type ClientOptions,
  type Order,
  type Provider,
  type ProviderClient,
  type Start,
  type Unknown,
  unknown,
} from '../provider.ts'
import { capabilities, readSettings, settings } from './capabilities.ts'
import { charges, read, unreadable } from './charges.ts'
import { declined, failedCharge, isOfMode, isReversed, mismatch, outcomeOf, withoutFees } from './mapping.ts'
import { findForgery, readingOf, readNoticeBody } from './notices.ts'
import { listBanks, refunds } from './refunds.ts'
import { listsOf, markUnlisted, type Reversals, reversalsOf, reversedBy } from './reversals.ts'
import {
  type PaystackTransaction,
  readData,
  readError,
  readFailedCharge,
  readLink,
  readPause,
  readTransaction,
  toHundredths,
} from './wire.ts'

/** The bank's page, and in South Africa Ozow. */
const BANK_PAGES = new Map<string, 'bank' | 'eft'>([
  ['NGN', 'bank'],
  ['ZAR', 'eft'],
])

const HOST = 'https://api.paystack.co'

/** README.md says what is what. */
export const paystack: Provider = {
  capabilities,
  settings,
  // The key alone decides which money it is.
  baseURL: { sandbox: HOST, live: HOST },
  connect,
}

function connect({ mode, settings, baseURL, http }: ClientOptions): ProviderClient {
  const { secretKey, publicKey, hasConfirmedFrancs } = readSettings(settings)
  const authorization = `Bearer ${secretKey}`
  const get = (path: string) => http.request({ method: 'GET', url: baseURL + path, headers: { authorization } })
  const post = (path: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    return http.request({ method: 'POST', url: baseURL + path, headers, body: JSON.stringify(body) })
  }

  const charging = charges({ mode, publicKey, hasConfirmedFrancs, post })

  type Found = PaystackTransaction | { kind: 'missing' } | Unknown

  /** One reference is one transaction. */
  async function verify(reference: string): Promise<Found> {
    const found = await fetchTransaction(`verify/${encodeURIComponent(reference)}`)
    if ('kind' in found || found.reference === reference) return found
    return unknown('it answered about another order')
  }

  async function findById(id: string): Promise<Found> {
    const found = await fetchTransaction(encodeURIComponent(id))
    return 'kind' in found || found.id === id ? found : unknown('it answered about another transaction')
  }

  async function fetchTransaction(path: string): Promise<Found> {
    const answer = await get(`/transaction/${path}`)
    if (answer.kind === 'unknown') return answer
    if (isMissing(answer)) return { kind: 'missing' }
    const transaction = answer.status === 200 ? readTransaction(readData(answer.text)) : undefined
    if (!transaction) return unreadable(answer)
    return isOfMode(transaction, mode) ? transaction : unknown('it answered in another mode')
  }

  /** Their page, which asks for all that is needed. */
  async function openPage(order: Order, channel: 'card' | 'bank' | 'eft'): Promise<Start> {
    const { reference, amount, customer, returnURL } = order
    const answer = await post('/transaction/initialize', {
      email: customer.email,
      amount: toHundredths(amount),
      currency: amount.currency,
      reference,
      callback_url: returnURL,
      channels: [channel],
      metadata: { cancel_action: returnURL },
    })
    const accepted = read(answer, 'start')
    if ('kind' in accepted) return accepted
    const start = readLink(accepted.data)
    if (!start) return unreadable(answer)
    if (start.reference !== reference) return unknown('it answered about another order')
    const { expiresAt } = order
    return { kind: 'link', link: start.link, providerReference: reference, publicKey, expiresAt, paidOnce: true }
  }

  async function openBankPage(order: Order): Promise<Start> {
    const channel = BANK_PAGES.get(order.amount.currency)
    return channel ? openPage(order, channel) : declined('currency_not_supported')
  }

  return {
    publicKey,

    async verifyKeys() {
      const answer = await get('/balance')
      if (answer.kind === 'unknown') return answer
      if (answer.status === 200 && readData(answer.text) !== undefined) return { kind: 'good' }
      // 403 is for a key that may be used from some addresses alone.
      if (answer.status === 401 || answer.status === 403) return { kind: 'bad', because: 'it refused the key' }
      return unreadable(answer)
    },

    async start(order) {
      switch (order.channel) {
        case 'card':
          return openPage(order, 'card')
        case 'virtual-bank-account':
          return charging.openAccount(order)
        case 'mobile-money':
          return charging.payByPhone(order)
        case 'ussd':
          return charging.dial(order)
        case 'bank':
          return openBankPage(order)
        case 'qr':
          return charging.scan(order)
      }
    },

    submit: charging.submit,

    async chargeSavedCard(order, savedCard) {
      const { reference, amount, customer, returnURL } = order
      const answer = await post('/transaction/charge_authorization', {
        email: customer.email,
        amount: toHundredths(amount),
        currency: amount.currency,
        authorization_code: savedCard,
        reference,
        callback_url: returnURL,
        metadata: JSON.stringify({ cancel_action: returnURL }), // an object elsewhere, text here
      })
      const accepted = read(answer, 'charge')
      if ('kind' in accepted) return accepted
      const pause = readPause(accepted.data)
      if (pause?.reference === reference) return { kind: 'step', link: pause.link, providerReference: reference }
      const transaction = readTransaction(accepted.data)
      const failed = transaction ? undefined : readFailedCharge(accepted.data)
      if (failed?.reference === reference) return failedCharge(failed, 'card')
      if (!transaction) return unreadable(answer)
      const forOrder = withoutFees(transaction, amount)
      const wrong = mismatch(forOrder, mode, order)
      return wrong ? unknown(wrong) : outcomeOf(forOrder, 'card')
    },

    async check({ providerReference, channel }) {
      const transaction = await verify(providerReference)
      if ('kind' in transaction) return transaction
      if (!isReversed(transaction) || !transaction.paidAt) return outcomeOf(transaction, channel)
      const reversals = await reversalsOf(get, mode, transaction)
      if ('kind' in reversals) return reversals
      const returned = reversedBy(reversals, transaction)
      if (typeof returned === 'object') return returned
      return markUnlisted(outcomeOf(transaction, channel, returned), reversals)
    },

    async listReversals({ providerReference }, transactionIds) {
      const all: Reversals = { refunds: [], disputes: [] }
      // By the transactions on record: a person may have matched the money of another order with this payment.
      const isRecorded = transactionIds.length > 0
      for (const name of isRecorded ? transactionIds : [providerReference]) {
        const transaction = await (isRecorded ? findById(name) : verify(name))
        if ('kind' in transaction) return transaction
        const reversals = await reversalsOf(get, mode, transaction)
        if ('kind' in reversals) return reversals
        all.refunds.push(...reversals.refunds)
        all.disputes.push(...reversals.disputes)
      }
      return { kind: 'reversals', ...all }
    },

    lists: listsOf(get, mode),

    async findReference(transactionId) {
      const found = await findById(transactionId)
      return 'kind' in found ? found : { kind: 'found', reference: found.reference }
    },

    readNotice(notice) {
      const forgery = findForgery(secretKey, notice)
      if (forgery) return { kind: 'forged', because: forgery }
      const body = readNoticeBody(notice.body)
      return body ? readingOf(body, mode) : { kind: 'unreadable', because: 'not a notice of the documented shape' }
    },

    refund: refunds({ mode, get, post }),

    async listBanks(currency) {
      const banks = await listBanks(get, currency)
      return 'kind' in banks ? banks : { kind: 'banks', banks: banks.map(({ code, name }) => ({ code, name })) }
    },
  }
}

/** 404 by their description; 400 with these words by what many have seen. */
function isMissing({ status, text }: { status: number; text: string }): boolean {
  const error = status === 400 || status === 404 ? readError(text) : undefined
  if (!error) return false
  return status === 404 || error.code === 'transaction_not_found' || /transaction.*not found/i.test(error.message)
}
