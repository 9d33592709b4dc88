import assert from 'node:assert/strict'
import {
  type ClientOptions,
  notOffered,
  type Order,
  type Provider,
  type ProviderClient,
  type SavedCardCharge,
  type Start,
  unknown,
  unreadable,
} from '../provider.ts'
import { api, checkOrder, findById } from './api.ts'
import { capabilities, settings } from './capabilities.ts'
import {
  account,
  bankTransfer,
  dial,
  mobileMoney,
  pageOrPrompt,
  payWithBank,
  type StartAnswer,
  secondsOf,
  startCharge,
  started,
  ussd,
} from './charges.ts'
import { mismatch, outcomeOf, stateOf } from './mapping.ts'
import { findForgery, readingOf } from './notices.ts'
import { giveBack } from './refunds.ts'
import { listReversals, listsOf } from './reversals.ts'
import { majorOf, readEnvelope, readLink, readNoticeBody, readTransaction } from './wire.ts'

/** Flutterwave, in version 3 of its API: README.md says what is what. */
export const flutterwave: Provider = {
  capabilities,
  settings,
  // The key says which mode it is.
  baseURL: { sandbox: 'https://api.flutterwave.com', live: 'https://api.flutterwave.com' },
  connect,
}

function connect(options: ClientOptions): ProviderClient {
  const { secretKey, publicKey, secretHash } = readSettings(options.settings)
  const flw = api(options, secretKey)

  return {
    publicKey,

    async verifyKeys() {
      const answer = await flw.get('/transactions/verify_by_reference', { tx_ref: 'manilla-verifies-its-keys' })
      if (answer.kind === 'unknown') return answer
      if (answer.status === 401 || answer.status === 403) return { kind: 'bad', because: 'it refused the key' }
      // A valid key gets the answer that there is no such transaction.
      return readEnvelope(answer.text) && [200, 400, 404].includes(answer.status)
        ? { kind: 'good' }
        : unreadable(answer.status)
    },

    async start(order) {
      switch (order.channel) {
        case 'card':
          return cardStart(started(await flw.post('/payments', hostedPayment(order)), 'card'), order, publicKey)
        case 'virtual-bank-account':
          return startCharge(flw.post, bankTransfer(order), order, account)
        case 'mobile-money':
          return startCharge(flw.post, mobileMoney(order), order, pageOrPrompt(publicKey))
        case 'ussd':
          return startCharge(flw.post, ussd(order), order, dial)
        case 'bank':
          return startCharge(flw.post, payWithBank(order), order, pageOrPrompt(publicKey))
        case 'qr':
          return notOffered(order.channel)
      }
    },

    async chargeSavedCard(order, token) {
      return charged(started(await flw.post('/tokenized-charges', tokenCharge(order, token)), 'card'), order)
    },

    check: (order) => checkOrder(flw, order),

    readNotice(notice) {
      const forgery = findForgery(secretHash, notice)
      if (forgery) return { kind: 'forged', because: forgery }
      const body = readNoticeBody(notice.body, notice.receivedAt)
      return body ? readingOf(body) : { kind: 'unreadable', because: 'not a notice of the documented shape' }
    },

    async findReference(transactionId) {
      const found = await findById(flw, transactionId)
      if (found.kind === 'unknown') return found
      return found.kind === 'none' ? { kind: 'missing' } : { kind: 'found', reference: found.transaction.reference }
    },

    refund: (wanted) => giveBack(flw, wanted),

    listReversals: (order, transactionIds) => listReversals(flw, order, transactionIds),

    lists: listsOf(flw),
  }
}

function readSettings({ secretKey, publicKey, secretHash }: Record<string, string>) {
  assert(secretKey, 'flutterwave needs the setting secretKey')
  assert(publicKey, 'flutterwave needs the setting publicKey')
  assert(secretHash, 'flutterwave needs the setting secretHash') // with an empty key anyone could sign a notice
  return { secretKey, publicKey, secretHash }
}

const MOST_MINUTES = 1_440
const minutesOf = (order: Order) => Math.max(1, Math.min(MOST_MINUTES, Math.floor(secondsOf(order) / 60)))

function hostedPayment(order: Order): object {
  const { reference, amount, customer, merchantName, returnURL } = order
  return {
    tx_ref: reference,
    amount: majorOf(amount),
    currency: amount.currency,
    redirect_url: returnURL,
    customer: {
      email: customer.email,
      ...(customer.name !== null && { name: customer.name }),
      ...(customer.phoneNumber !== null && { phonenumber: customer.phoneNumber }),
    },
    payment_options: 'card',
    configurations: { session_duration: minutesOf(order) },
    customizations: { title: merchantName },
  }
}

function tokenCharge({ reference, amount, country, customer, merchantName, returnURL }: Order, token: string): object {
  return {
    token,
    email: customer.email,
    currency: amount.currency,
    country,
    amount: majorOf(amount),
    tx_ref: reference,
    narration: merchantName,
    // Banks ask for a PIN or a code by default, and send the customer on from there.
    redirect_url: returnURL,
  }
}

function cardStart(said: StartAnswer, { startedAt, expiresAt }: Order, publicKey: string): Start {
  if ('kind' in said) return said
  const link = readLink(said.data)?.link
  // The last part of the link is its own name. It tells an order that was begun from one that they never heard of: see
  // checkOrder.
  const name = link && new URL(link).pathname.split('/').findLast(Boolean)
  if (!link || !name || name.length > 255) return unknown('it gave no link')
  const latest = startedAt.getTime() + MOST_MINUTES * 60_000
  return {
    kind: 'link',
    link,
    providerReference: name,
    publicKey,
    expiresAt: new Date(Math.min(latest, expiresAt.getTime())),
  }
}

function charged(said: StartAnswer, order: Order): SavedCardCharge {
  if ('kind' in said) return said
  const transaction = readTransaction(said.data, new Date())
  if (!transaction) return unreadable(said.status)
  const wrong = mismatch(transaction, order)
  if (wrong) return unknown(wrong)
  if (stateOf(transaction) === 'pending') {
    const { redirect: link, reference: providerReference } = transaction
    return link ? { kind: 'step', link, providerReference } : { kind: 'processing' }
  }
  // The card is saved already, and the token in this answer is not always the one that lasts.
  return outcomeOf([{ ...transaction, card: null }], order)
}
