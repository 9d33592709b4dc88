import assert from 'node:assert/strict'
import {
  type ClientOptions,
  type Declined,
  notOffered,
  type Order,
  type OrderHandle,
  type Outcome,
  type Provider,
  type ProviderClient,
  type RefundOrder,
  type RefundOutcome,
  type Start,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { isMissing, openSession, read, type Session, type SessionAnswer } from './api.ts'
import { capabilities, LIFETIME_SECONDS, settings, USSD_BANKS } from './capabilities.ts'
import {
  declined,
  isChargedAtOnce,
  outcomeOf,
  REFUNDS_NOT_ENABLED,
  refundOutcomeOf,
  refundRefusalOf,
  refusalOf,
  transactionOf,
} from './mapping.ts'
import { hintOf, readingOf, readSignature } from './notices.ts'
import { listReversals, listsOf, withRefunds } from './reversals.ts'
import {
  jsonWith,
  type MonnifyStart,
  readAccount,
  readBanks,
  readNoticeBody,
  readRefund,
  readStart,
  readTransaction,
} from './wire.ts'

/** Monnify: README.md says what is what. */
export const monnify: Provider = {
  capabilities,
  settings,
  baseURL: { sandbox: 'https://sandbox.monnify.com', live: 'https://api.monnify.com' },
  connect,
}

function connect(options: ClientOptions): ProviderClient {
  const { apiKey, secretKey, contractCode } = readSettings(options.settings)
  const session = openSession(options, apiKey, secretKey)

  async function begin(order: Order, method: 'CARD' | 'ACCOUNT_TRANSFER'): Promise<MonnifyStart | Declined | Unknown> {
    const asked = {
      ...describe(order, contractCode),
      paymentMethods: [method],
      metaData: { startedAs: AS_A_PAGE },
      ...(method === 'CARD' && { redirectUrl: order.returnURL }),
    }
    const body = jsonWith('amount', order.amount, asked)
    const answer = await session.post('/api/v1/merchant/transactions/init-transaction', body)
    if (refusesKeys(answer)) return refusalOf('401', 'start', true)
    const said = read(answer, readStart)
    if (said.kind === 'refused') {
      const earlier = await unlessMissing(session, order)
      if (earlier) return unknown(`it refused, and knows the reference (${earlier.kind})`)
      return refusalOf(said.code, 'start', said.status === 403)
    }
    if (said.kind === 'unknown') return said
    const { paymentReference, apiKey: answeredFor } = said.body
    if (paymentReference !== order.reference) return unknown('it answered about another order')
    if (answeredFor !== null && answeredFor !== apiKey) return unknown('it answered for another account')
    return said.body
  }

  async function startCard(order: Order): Promise<Start> {
    const started = await begin(order, 'CARD')
    if ('kind' in started) return started
    const { checkoutUrl: link, transactionReference } = started
    if (!link) return unknown('it gave no link')
    const expiresAt = fromNow(LIFETIME_SECONDS)
    return { kind: 'link', link, providerReference: transactionReference, publicKey: apiKey, expiresAt }
  }

  /** The account for a transfer. With the bank of the customer, also what it wants dialled. */
  async function takeAccount(order: Order, bankCode?: string) {
    const started = await begin(order, 'ACCOUNT_TRANSFER')
    if ('kind' in started) return started
    const { transactionReference } = started
    const body = JSON.stringify({ transactionReference, ...(bankCode && { bankCode }) })
    const said = read(await session.post('/api/v1/merchant/bank-transfer/init-payment', body), readAccount)
    // The customer has not seen an account number, so no money can arrive.
    if (said.kind === 'refused') return refusalOf(said.code, 'start')
    if (said.kind === 'unknown') return wasSent(said)
    const { accountDurationSeconds, ...account } = said.body
    // Names and amounts may be left out; if they are there, they are those of the order.
    if ((account.transactionReference ?? transactionReference) !== transactionReference) {
      return unknown('it answered about another order')
    }
    if ((account.paymentReference ?? order.reference) !== order.reference) {
      return unknown('it answered about another order')
    }
    const amount = account.amount ?? order.amount.amount
    const totalPayable = account.totalPayable ?? amount
    if (amount !== order.amount.amount || totalPayable < amount) return unknown('it answered with another amount')
    const expiresAt = fromNow(accountDurationSeconds ?? LIFETIME_SECONDS)
    return { account, totalPayable, started: { providerReference: transactionReference, expiresAt } }
  }

  async function openAccount(order: Order): Promise<Start> {
    const taken = await takeAccount(order)
    if ('kind' in taken) return taken
    const { accountName, accountNumber, bankName } = taken.account
    // With their fee, if the contract has the customer bear it: less than this is not enough for them.
    return {
      kind: 'account',
      accountName,
      accountNumber,
      bankName,
      amountToTransfer: taken.totalPayable,
      ...taken.started,
    }
  }

  /** A transfer into an account for this order, which the customer's bank makes when the customer dials. */
  async function dial(order: Order): Promise<Start> {
    const bank = USSD_BANKS.find(({ code }) => code === order.input.bank)
    if (!bank) return declined('bank_not_supported')
    const taken = await takeAccount(order, bank.code)
    if ('kind' in taken) return taken
    // Not every bank has something to dial. The customer has not seen the account number, so no money can arrive.
    const code = taken.account.ussdPayment ?? taken.account.ussdCode
    return code ? { kind: 'dial', code, bankName: bank.name, ...taken.started } : declined('bank_has_no_ussd')
  }

  return {
    publicKey: apiKey,

    async verifyKeys() {
      const login = await session.login()
      if (login.kind === 'token') return { kind: 'good' }
      return login.kind === 'refused' ? { kind: 'bad', because: 'it refused the API key and secret key' } : login
    },

    async start(order) {
      switch (order.channel) {
        case 'card':
          return startCard(order)
        case 'virtual-bank-account':
          return openAccount(order)
        case 'ussd':
          return dial(order)
        case 'mobile-money':
        case 'bank':
        case 'qr':
          return notOffered(order.channel)
      }
    },

    async chargeSavedCard(order, savedCard) {
      const asked = { ...describe(order, contractCode), cardToken: savedCard, apiKey }
      const body = jsonWith('amount', order.amount, asked)
      const answer = await session.post('/api/v1/merchant/cards/charge-card-token', body)
      if (refusesKeys(answer)) return refusalOf('401', 'saved card', true)
      const said = read(answer, readTransaction)
      if (said.kind === 'unknown') return said
      // Whether a charge that they refuse is written down, they do not say; nor what they say to a reference that they
      // know.
      if (said.kind === 'refused') return (await unlessMissing(session, order)) ?? refusalOf(said.code, 'saved card')
      if (said.body.paymentReference !== order.reference) return unknown('it answered about another order')
      return outcomeOf(said.body, { channel: 'card', otherwiseAt: new Date(), isWithCustomer: false })
    },

    check: (order) => check(session, order),

    readNotice(notice) {
      const signature = readSignature(secretKey, notice)
      const isHint = signature === 'missing' && options.mode === 'sandbox' // their sandbox signs nothing
      if (signature !== 'genuine' && !isHint) return { kind: 'forged', because: `a ${signature} signature` }
      const body = readNoticeBody(notice.body)
      if (isHint) return hintOf(body)
      if (!body) return { kind: 'unreadable', because: 'not a notice of the documented shape' }
      return readingOf(body, notice.receivedAt)
    },

    async findReference(transactionId) {
      const transactionReference = transactionOf(transactionId)
      const answer = await session.get(`/api/v2/transactions/${encodeURIComponent(transactionReference)}`)
      if (isMissing(answer)) return { kind: 'missing' }
      const said = read(answer, readTransaction)
      if (said.kind === 'unknown') return said
      if (said.kind === 'refused') return unreadable(said.status)
      if (said.body.transactionReference !== transactionReference) return unknown('it answered about another order')
      return { kind: 'found', reference: said.body.paymentReference }
    },

    refund: (wanted) => refund(session, wanted),

    async listBanks() {
      const said = read(await session.get('/api/v1/sdk/transactions/banks'), readBanks)
      return said.kind === 'good'
        ? { kind: 'banks', banks: said.body }
        : said.kind === 'unknown'
          ? said
          : unreadable(said.status)
    },

    listReversals: (order, transactionIds) => listReversals(session, order, transactionIds),
    lists: listsOf(session),
  }
}

const AS_A_PAGE = 'page'

async function check(
  session: Session,
  { reference, providerReference, channel, startedAt }: OrderHandle,
): Promise<Outcome> {
  const answer = await session.get(
    `/api/v2/merchant/transactions/query?paymentReference=${encodeURIComponent(reference)}`,
  )
  if (isMissing(answer)) return { kind: 'missing' }
  const said = read(answer, readTransaction)
  if (said.kind === 'unknown') return said
  if (said.kind === 'refused') return unreadable(said.status)
  if (said.body.paymentReference !== reference) return unknown('it answered about another order')
  // Of an order that was never answered for we have no name of theirs. If it is the charge of a saved card, it may be
  // under way; if it is a page or an account number, the customer has not seen it.
  const isWithCustomer =
    !isChargedAtOnce(channel) || providerReference !== reference || said.body.startedAs === AS_A_PAGE
  const outcome = outcomeOf(said.body, { channel, otherwiseAt: startedAt, isWithCustomer })
  if ((outcome.kind !== 'paid' && outcome.kind !== 'pending') || said.body.status === 'REVERSED') return outcome
  return { ...outcome, receipts: await withRefunds(session, outcome.receipts, startedAt) }
}

/**
 * What they know of an order that they have just refused. They refuse a known reference in the same words as anything
 * else.
 */
async function unlessMissing(
  session: Session,
  { reference }: Order,
): Promise<Exclude<Outcome, { kind: 'missing' }> | undefined> {
  const handle: OrderHandle = { reference, providerReference: reference, channel: 'card', startedAt: new Date() }
  const outcome = await check(session, handle)
  if (outcome.kind === 'missing') return undefined
  return outcome.kind === 'unknown' ? wasSent(outcome) : outcome
}

const LEAST_REFUND = 10_000

/** Given once: they keep refunds by our reference, so an earlier try is looked for before and after this one. */
async function refund(session: Session, wanted: RefundOrder): Promise<RefundOutcome> {
  const { order, transactionIds, amount, reason, account } = wanted
  if (amount.amount < LEAST_REFUND) return { kind: 'refused', because: 'Monnify refunds NGN 100 or more' }
  const named = order.providerReference === order.reference ? '' : order.providerReference
  // The transaction on record first: a person may have matched the money of another order with this payment.
  const transaction = transactionOf(transactionIds.at(-1) ?? '') || named
  if (!transaction) return { kind: 'refused', because: 'no transaction of Monnify’s is known' }

  const outcomeIn = (answer: SessionAnswer): RefundOutcome | { kind: 'none'; code: string; status: number } => {
    const said = read(answer, readRefund)
    if (said.kind === 'good') return refundOutcomeOf(said.body, wanted, transaction)
    if (said.kind === 'refused') return { kind: 'none', code: said.code, status: said.status }
    return said
  }
  const lookUp = async () => outcomeIn(await session.get(`/api/v1/refunds/${encodeURIComponent(wanted.reference)}`))

  const earlier = await lookUp()
  if (earlier.kind !== 'none') return earlier
  const asked = {
    transactionReference: transaction,
    refundReference: wanted.reference,
    refundReason: shorten(reason ?? '', 64) || 'Refund',
    customerNote: 'Refund',
    ...(account && {
      destinationAccountNumber: account.accountNumber,
      destinationAccountBankCode: account.bankCode,
    }),
  }
  if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
  const answer = await session.post('/api/v1/refunds/initiate-refund', jsonWith('refundAmount', amount, asked))
  const given = outcomeIn(answer)
  if (given.kind !== 'none') return given
  // R9 is a duplicate: it is there. Another code may come of it, too: what it took is not left for this one.
  const found = await lookUp()
  if (found.kind === 'unknown') return wasSent(found)
  if (found.kind !== 'none') return found
  if (given.status === 403) return { kind: 'refused', because: REFUNDS_NOT_ENABLED }
  return given.code === 'R9'
    ? unknown('it says that the refund is there, and does not find it')
    : refundRefusalOf(given.code)
}

function readSettings({ apiKey, secretKey, contractCode }: Record<string, string>) {
  assert(apiKey, 'monnify needs the setting apiKey')
  assert(secretKey, 'monnify needs the setting secretKey') // with an empty key anyone could sign a notice
  assert(contractCode, 'monnify needs the setting contractCode')
  return { apiKey, secretKey, contractCode }
}

function describe({ reference, amount, customer, merchantName }: Order, contractCode: string) {
  return {
    customerName: shorten(customer.name ?? '', 100) || 'Customer',
    customerEmail: customer.email,
    paymentReference: reference,
    paymentDescription: shorten(`Payment to ${merchantName}`, 100),
    currencyCode: amount.currency,
    contractCode,
  }
}

/** A line of at most so many characters, none of them cut in half. */
function shorten(text: string, most: number): string {
  const oneLine = text.replaceAll(/\p{Cc}/gu, ' ').trim()
  return oneLine.length <= most
    ? oneLine
    : oneLine
        .slice(0, most)
        .toWellFormed()
        .replace(/\ufffd$/, '')
        .trim()
}

/** 401 to the login, or to a call with a new token. It has done nothing. */
const refusesKeys = (answer: SessionAnswer) =>
  answer.kind === 'unknown' ? answer.keysRefused === true : answer.status === 401

/** This call may never have left; the one before it did. */
const wasSent = ({ because, errorStatus }: Unknown): Unknown => ({
  ...unknown(because),
  ...(errorStatus && { errorStatus }),
})

const fromNow = (seconds: number) => new Date(Date.now() + seconds * 1000)
