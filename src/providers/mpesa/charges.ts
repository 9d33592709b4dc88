import { money } from '../../kernel/money.ts'
import {
  type KeysVerdict,
  type ListedTransaction,
  notOffered,
  type Order,
  type OrderHandle,
  type OrderNotices,
  type Outcome,
  type Receipt,
  type Start,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { type Api, accountReferenceOf, unanswered } from './api.ts'
import type { Account } from './capabilities.ts'
import { callbackURL, type Fact, factsOf, NO_ORDER, paybillURLs, receiptOf } from './notices.ts'
import { readAccepted, readError, SHILLING } from './wire.ts'

/** Payments to the paybill, which the customer makes in the menu of M-PESA ("C2B"). */

/** No call: the account number is our reference. */
export function payToPaybill({ shortCode, tillNumber, initiator, paybillDefault }: Account, order: Order): Start {
  if (!initiator || !paybillDefault || tillNumber) return notOffered(order.channel)
  const account = accountReferenceOf(order)
  return { kind: 'pay to', number: shortCode, account, providerReference: account, expiresAt: order.expiresAt }
}

/** In production it can be done once: their answer to the second time is no mistake. */
const isRegistered = (_code: string, message: string) => /already registered/i.test(message)

export async function registerNotices(api: Api, account: Account, url: string): Promise<KeysVerdict> {
  const { shortCode, consumerSecret, initiator, paybillDefault, tillNumber } = account
  if (!initiator || !paybillDefault) return { kind: 'good' }
  if (tillNumber) return { kind: 'bad', because: 'a till has no account numbers: leave out paybillDefault' }
  const body = { ShortCode: shortCode, ResponseType: paybillDefault, ...paybillURLs(consumerSecret, url) }
  const answer = await api.post('/mpesa/c2b/v2/registerurl', body, isRegistered)
  if (answer.kind === 'unknown') return unanswered(answer)
  const { status, text } = answer
  if (status === 200 && readAccepted(text) === '0') return { kind: 'good' }
  const refused = readError(text)
  if (!refused) return unreadable(status)
  if (isRegistered(refused.code, refused.message)) return { kind: 'good' }
  return { kind: 'bad', because: `it did not register the addresses for payments to the paybill: ${refused.message}` }
}

/** How many receipt numbers are asked for in one check. */
const MOST_ASKED = 3
const DONE = '0'

/**
 * The confirmation of a payment is not signed, so its receipt number is asked for, and the answer to that is another
 * callback, at an address of its own. Only what that said is money.
 */
export async function checkPaybill(api: Api, account: Account, order: OrderHandle): Promise<Outcome> {
  const facts = factsOf(order.notices)
  const receipts = confirmedIn(facts)
  const asked = await askForUnconfirmed(api, account, order, () => true)
  if (receipts.length === 0 && asked) return asked
  return outcomeWith(receipts, order)
}

export function outcomeWith(receipts: Receipt[], { amount }: OrderHandle): Outcome {
  const total = receipts.reduce((sum, each) => sum + each.amount.amount, 0)
  return amount && total >= amount.amount ? { kind: 'paid', receipts } : { kind: 'pending', receipts }
}

/** Each once. */
export function confirmedIn(facts: readonly Fact[]): Receipt[] {
  const found = facts.filter(({ asked, code }) => asked && code === DONE).map(confirmedOf)
  return [...new Map(found.map((receipt) => [receipt.transactionId, receipt])).values()]
}

const confirmedOf = ({ asked = '', amount, at = '' }: Fact) =>
  receiptOf(asked, { amount: money(Number(amount), SHILLING), at: new Date(at) })

/** `isWanted`: of the receipt numbers. Returns why they could not be asked for. */
export async function askForUnconfirmed(
  api: Api,
  account: Account,
  { reference, notices }: OrderHandle,
  isWanted: (receipt: string) => boolean,
): Promise<Unknown | undefined> {
  const facts = factsOf(notices)
  const answered = new Set(facts.flatMap(({ asked }) => asked ?? []))
  const open = new Set(facts.flatMap(({ paid }) => (paid && !answered.has(paid) && isWanted(paid) ? paid : [])))
  let failed: Unknown | undefined
  for (const receipt of [...open].slice(-MOST_ASKED))
    failed = (await askFor(api, account, { reference, receipt, url: notices?.url ?? '' })) ?? failed
  return failed
}

interface Question {
  reference: string
  receipt: string
  /** Of notices. */
  url: string
}

/** The answer comes in a callback. Undefined: it will. */
async function askFor(api: Api, account: Account, { reference, receipt, url }: Question): Promise<Unknown | undefined> {
  const { initiator, shortCode, consumerSecret } = account
  if (!initiator) return unknown('no API user is set up, and a receipt number is asked for with one')
  const body = {
    Initiator: initiator.name,
    SecurityCredential: initiator.securityCredential,
    CommandID: 'TransactionStatusQuery',
    TransactionID: receipt,
    PartyA: shortCode,
    IdentifierType: '4',
    ResultURL: callbackURL(consumerSecret, url, { reference, receipt }),
    QueueTimeOutURL: callbackURL(consumerSecret, url, { reference }),
    Remarks: 'Payment',
    Occasion: 'Payment',
  }
  const answer = await api.post('/mpesa/transactionstatus/v1/query', body)
  if (answer.kind === 'unknown') return unanswered(answer)
  const { status, text } = answer
  return status === 200 && readAccepted(text) === DONE ? undefined : unreadable(status)
}

/** For money of no order. A person asks for it, and once more when the answer has come. */
export async function findTransaction(
  api: Api,
  account: Account,
  receipt: string,
  notices: OrderNotices,
): Promise<ListedTransaction | { kind: 'missing' } | Unknown> {
  const said = factsOf(notices).filter(({ asked }) => asked === receipt)
  const confirmed = said.find(({ code }) => code === DONE)
  if (confirmed) return { ...confirmedOf(confirmed), reference: null }
  const failed = await askFor(api, account, { reference: NO_ORDER, receipt, url: notices.url })
  if (failed) return failed
  return said.length > 0 ? { kind: 'missing' } : unknown('it was asked, and answers within a minute. Try again then')
}
