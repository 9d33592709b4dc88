import assert from 'node:assert/strict'
import {
  type ClientOptions,
  notOffered,
  type Order,
  type OrderHandle,
  type Outcome,
  type Provider,
  type ProviderClient,
  type Start,
  unknown,
  unreadable,
} from '../provider.ts'
import { accountReferenceOf, openApi, passwordAt, unanswered } from './api.ts'
import { capabilities, readSettings, settings } from './capabilities.ts'
import {
  askForUnconfirmed,
  checkPaybill,
  confirmedIn,
  findTransaction,
  outcomeWith,
  payToPaybill,
  registerNotices,
} from './charges.ts'
import { declined, isRefusal, isUnderWay, LONG_MS, outcomeOf, type Prompt, promptOf, refusalOf } from './mapping.ts'
import { callbackURL, factsOf, readNotice } from './notices.ts'
import { reverse } from './refunds.ts'
import { readError, readPush, readQuery, SHILLING } from './wire.ts'

/** M-PESA in Kenya, by Safaricom's Daraja: README.md says what is what. */
export const mpesa: Provider = {
  capabilities,
  settings,
  baseURL: { sandbox: 'https://sandbox.safaricom.co.ke', live: 'https://api.safaricom.co.ke' },
  connect,
}

/** A phone asks for about a minute. */
const PROMPT_MS = 90_000
/** More than a start that came twice can make. */
const MOST_PROMPTS = 3
const NOT_FOUND = {
  ...unknown('the answer to its start was lost, and M-PESA cannot be asked for it without its CheckoutRequestID'),
  ...{ neverSent: true, unaskable: true as const },
}

function connect(options: ClientOptions): ProviderClient {
  const account = readSettings(options.settings)
  const api = openApi(options, account)

  async function push(order: Order): Promise<Start> {
    const { amount, input, channel, noticeURL, merchantName, startedAt } = order
    if (input.network === 'mpesa-paybill') return payToPaybill(account, order)
    const phone = /^\+(254\d{9})$/.exec(input.phoneNumber ?? '')?.[1]
    if (amount.currency !== SHILLING || input.network !== 'mpesa' || !phone) return notOffered(channel)
    if (amount.amount % 100 !== 0) return declined('provider_error', 'amount_has_cents')
    assert(noticeURL, 'the callback has an address')
    const { shortCode, tillNumber, consumerSecret } = account
    const body = {
      ...passwordAt(account, startedAt),
      TransactionType: tillNumber ? 'CustomerBuyGoodsOnline' : 'CustomerPayBillOnline',
      Amount: String(amount.amount / 100),
      PartyA: phone,
      PartyB: tillNumber ?? shortCode,
      PhoneNumber: phone,
      CallBackURL: callbackURL(consumerSecret, noticeURL, order),
      AccountReference: accountReferenceOf(order),
      TransactionDesc:
        merchantName
          .replaceAll(/[^\w ]/g, '')
          .trim()
          .slice(0, 13) || 'Payment',
    }
    const answer = await api.post('/mpesa/stkpush/v1/processrequest', body, isRefusal)
    if (answer.kind === 'unknown')
      return answer.keysRefused ? { ...declined('provider_error', 'keys'), keysRefused: true } : unanswered(answer)
    const { status, text } = answer
    if (status === 200) {
      const pushed = readPush(text)
      if (!pushed) return unreadable(status)
      if (pushed.code !== '0') return declined('provider_error', pushed.code)
      if (!pushed.checkoutId) return unknown('it gave no CheckoutRequestID')
      const expiresAt = new Date(Math.min(startedAt.getTime() + PROMPT_MS, order.expiresAt.getTime()))
      const [providerReference, personalId] = [accountReferenceOf(order), pushed.checkoutId]
      return { kind: 'prompt', personalId, providerReference, expiresAt }
    }
    const refused = [400, 404, 405, 500].includes(status) ? readError(text) : undefined
    return refused ? refusalOf(refused.code, refused.message) : unreadable(status)
  }

  async function ask(checkoutId: string, order: OrderHandle): Promise<Prompt> {
    const body = { ...passwordAt(account, new Date()), CheckoutRequestID: checkoutId }
    const answer = await api.post('/mpesa/stkpushquery/v1/query', body, isUnderWay)
    if (answer.kind === 'unknown') return { checkoutId, ...unanswered(answer) }
    const { status, text } = answer
    if (status === 500) return { checkoutId, kind: 'open' }
    const said = status === 200 ? readQuery(text) : undefined
    if (!said) return { checkoutId, ...unreadable(status) }
    if (said.checkoutId !== checkoutId) return { checkoutId, ...unknown('it answered about another prompt') }
    return promptOf(said, factsOf(order.notices))
  }

  /** By what the start answered. Callbacks are not signed: they name the prompt only if that answer was lost. */
  async function check(order: OrderHandle): Promise<Outcome> {
    if (order.startedAs === 'pay to') return checkPaybill(api, account, order)
    const facts = factsOf(order.notices)
    const { personalId } = order
    const checkoutIds = personalId ? [personalId] : [...new Set(facts.flatMap(({ checkout }) => checkout ?? []))]
    if (checkoutIds.length === 0) return NOT_FOUND
    const prompts: Prompt[] = []
    for (const checkoutId of checkoutIds.slice(0, MOST_PROMPTS)) prompts.push(await ask(checkoutId, order))
    return withPaybill(outcomeOf(prompts, order, facts, new Date()), order)
  }

  /**
   * The customer can also pay to the paybill with the account number that the prompt shows. That is other money than
   * the prompt's once it is clear that the prompt was paid by another transaction, or not at all.
   */
  async function withPaybill(outcome: Outcome, order: OrderHandle): Promise<Outcome> {
    const facts = factsOf(order.notices)
    const isOver = outcome.kind === 'declined' && Date.now() - order.startedAt.getTime() > LONG_MS
    if (!facts.some(({ paid, asked }) => paid ?? asked) || (outcome.kind !== 'paid' && !isOver)) return outcome
    const ofPrompts = 'receipts' in outcome ? outcome.receipts : []
    const taken = new Set([...facts.map(({ receipt }) => receipt), ...ofPrompts.map((each) => each.receiptNumber)])
    await askForUnconfirmed(api, account, order, (receipt) => !taken.has(receipt))
    const others = confirmedIn(facts).filter(({ transactionId }) => !taken.has(transactionId))
    return others.length > 0 ? outcomeWith([...ofPrompts, ...others], order) : outcome
  }

  return {
    publicKey: account.shortCode,
    account: `${account.shortCode} ${options.baseURL}`,

    async verifyKeys() {
      const login = await api.login()
      if (login.kind === 'refused') return { kind: 'bad', because: 'it refused the keys' }
      return login.kind === 'token' ? { kind: 'good' } : unanswered(login)
    },

    async start(order) {
      switch (order.channel) {
        case 'mobile-money':
          return push(order)
        case 'card':
        case 'virtual-bank-account':
        case 'ussd':
        case 'bank':
        case 'qr':
          return notOffered(order.channel)
      }
    },

    chargeSavedCard: async ({ channel }) => notOffered(channel),
    check,
    readNotice: (notice) => readNotice(account, notice),
    findTransaction: (receipt, notices) => findTransaction(api, account, receipt, notices),
    registerNotices: (url) => registerNotices(api, account, url),
    refund: (wanted) => reverse(api, account, wanted),
  }
}
