import assert from 'node:assert/strict'
import {
  type ClientOptions,
  type Declined,
  notOffered,
  type Order,
  type Provider,
  type ProviderAnswer,
  type ProviderClient,
  type SavedCardCharge,
  type Start,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { api, checkOrder, findById } from './api.ts'
import { capabilities, settings } from './capabilities.ts'
import { isDuplicate, mismatch, outcomeOf, refused, stateOf } from './mapping.ts'
import { findForgery, readingOf } from './notices.ts'
import { giveBack } from './refunds.ts'
import { listReversals, listsOf } from './reversals.ts'
import { type Envelope, majorOf, readAccount, readEnvelope, readLink, readNoticeBody, readTransaction } from './wire.ts'

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
          return cardStart(started(await flw.post('/payments', hostedPayment(order))), order, publicKey)
        case 'virtual-bank-account':
          return accountStart(started(await flw.post('/charges?type=bank_transfer', bankTransfer(order))), order)
        case 'mobile-money':
        case 'ussd':
        case 'bank':
        case 'qr':
          return notOffered(order.channel)
      }
    },

    async chargeSavedCard(order, token) {
      return charged(started(await flw.post('/tokenized-charges', tokenCharge(order, token))), order)
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

/** Counted from `startedAt` and not from now, so that a repeat of the call sends the same body. */
const secondsOf = ({ startedAt, expiresAt }: Order) => Math.floor((expiresAt.getTime() - startedAt.getTime()) / 1000)
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

function bankTransfer(order: Order): object {
  const { reference, amount, customer, merchantName } = order
  return {
    tx_ref: reference,
    amount: majorOf(amount),
    currency: amount.currency,
    email: customer.email,
    ...(customer.name !== null && { fullname: customer.name }),
    ...(customer.phoneNumber !== null && { phone_number: customer.phoneNumber }),
    narration: merchantName,
    expires: Math.max(60, secondsOf(order)),
    is_permanent: false,
  }
}

/** Their good answer to a start, or why there is none. */
function started(answer: ProviderAnswer): (Envelope & { status: number }) | Declined | Unknown {
  if (answer.kind === 'unknown') return answer
  const { status, text } = answer
  const envelope = readEnvelope(text)
  if (!envelope) return unreadable(status)
  if (envelope.isSuccess) return status === 200 || status === 201 ? { ...envelope, status } : unreadable(status)
  if (isDuplicate(envelope.message)) return unknown('it knows this reference already')
  return [400, 401, 403, 404, 422].includes(status) ? refused(status, envelope.message) : unreadable(status)
}

type StartAnswer = ReturnType<typeof started>

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
  return outcomeOf([{ ...transaction, card: null }], { channel: 'card' })
}

function accountStart(said: StartAnswer, { reference, amount, expiresAt }: Order): Start {
  if ('kind' in said) return said
  const account = readAccount(said.meta, amount.currency)
  if (!account) return unreadable(said.status)
  // More is the fee, when the merchant has told them that customers bear it; less would leave the order unpaid.
  if (account.amount < amount.amount) return unknown('it answered with another amount')
  return {
    kind: 'account',
    accountName: null,
    accountNumber: account.number,
    bankName: account.bank,
    amountToTransfer: account.amount,
    expiresAt: account.expiresAt ?? expiresAt,
    providerReference: account.transferReference ?? `account-${reference}`,
  }
}
