import { ASKED_BEFORE, type Receipt, type RefundOrder, type RefundOutcome, unknown, unreadable } from '../provider.ts'
import { type Api, unanswered } from './api.ts'
import type { Account } from './capabilities.ts'
import { confirmedIn } from './charges.ts'
import { receiptNumbersOf } from './mapping.ts'
import { callbackURL, type Fact, factsOf } from './notices.ts'
import { readAccepted, readError } from './wire.ts'

const NO_INITIATOR =
  'M-PESA reverses a payment only for an API user, and none is set up (initiatorName, securityCredential). Reverse it in the M-PESA portal.'
const TWO_RECEIPTS =
  'callbacks name two receipt numbers for this payment, and one of them is wrong. Find the payment in the M-PESA portal, and reverse it there.'
const WHOLE = 'M-PESA reverses a payment as a whole only. Send a part of it back from the M-PESA portal.'
/** The results of a reversal that say what a person can do. The others are named by their code. */
const RESULTS: Record<string, string> = {
  '1': 'there is not enough money in the short code',
  '11': 'the short code is not active',
  '21': 'the API user lacks the role Org Reversals Initiator',
  '2001': 'the API user or its security credential is not valid',
  '2006': 'the short code is not active',
  '2028': 'the short code may not reverse payments',
  '8006': 'the password of the API user is locked',
  R000002: 'it does not know the receipt number',
}
const DONE = '0'
/** Only the whole can be reversed, so that it was this one or one by hand: the money is back. */
const REVERSED_BEFORE = 'R000001'

/**
 * A refund is a reversal: asked for once, and its result comes in a callback. There is no question that would tell what
 * became of it, so without a callback a person looks.
 */
export async function reverse(api: Api, account: Account, wanted: RefundOrder): Promise<RefundOutcome> {
  const { order, amount, transactionIds, reference } = wanted
  const facts = factsOf(order.notices)
  const [transactionId = ''] = transactionIds
  const toPaybill = confirmedOrMatched(transactionId, wanted)
  const receipts = toPaybill ? [transactionId] : receiptNumbersOf(transactionId, order, facts)
  const result = facts.findLast(({ refund }) => refund === reference)
  if (result) return resultOf(result, wanted, receipts)
  const { initiator } = account
  if (!initiator) return { kind: 'refused', because: NO_INITIATOR }
  const whole = toPaybill ? toPaybill.amount : order.amount
  if (transactionIds.length !== 1 || (whole && amount.amount !== whole.amount))
    return { kind: 'refused', because: WHOLE }
  const [receipt, ...others] = receipts
  // Callbacks are not signed. A wrong one would decide which payment is reversed.
  if (others.length > 0) return { kind: 'refused', because: TWO_RECEIPTS }
  // The callback of the payment may still come.
  if (!receipt || !order.notices) return { ...unknown(NO_RECEIPT), neverSent: true }
  const addressOf = (refund?: string) =>
    callbackURL(account.consumerSecret, order.notices?.url ?? '', { reference: order.reference, refund })
  const body = {
    Initiator: initiator.name,
    SecurityCredential: initiator.securityCredential,
    CommandID: 'TransactionReversal',
    TransactionID: receipt,
    Amount: String(amount.amount / 100),
    ReceiverParty: account.shortCode,
    // Their spelling.
    RecieverIdentifierType: '11',
    ResultURL: addressOf(reference),
    // What timed out in a queue is no result: at this address it is a reason to check the order.
    QueueTimeOutURL: addressOf(),
    Remarks: 'Refund',
  }
  if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
  if ((await wanted.mayAsk?.()) === false) return ASKED_BEFORE
  const answer = await api.post('/mpesa/reversal/v1/request', body)
  if (answer.kind === 'unknown') return unanswered(answer)
  const { status, text } = answer
  if (status === 200) return readAccepted(text) === DONE ? { kind: 'pending', refundId: null } : unreadable(status)
  const refused = [400, 404, 405].includes(status) ? readError(text) : undefined
  return refused ? { kind: 'refused', because: `it refused the reversal: ${refused.code}` } : unreadable(status)
}

/** A payment to the paybill: its id is the receipt number. */
function confirmedOrMatched(transactionId: string, { order, matched }: RefundOrder): Receipt | undefined {
  const known = [...confirmedIn(factsOf(order.notices)), ...(matched?.receipts ?? [])]
  return known.find((receipt) => receipt.transactionId === transactionId)
}

const NO_RECEIPT = 'the callback with the receipt number has not come, and a payment is reversed by that'

function resultOf(fact: Fact, { reference, amount: wanted }: RefundOrder, receipts: string[]): RefundOutcome {
  const { code = '', reversal, amount, original } = fact
  if (code !== DONE && code !== REVERSED_BEFORE)
    return {
      ...{ kind: 'refused', wasAccepted: true },
      because: `it did not reverse the payment: ${RESULTS[code] ?? `result code ${code}`}`,
    }
  if (amount !== undefined && amount !== String(wanted.amount)) return unknown('it reversed another amount')
  const isOther = original !== undefined && receipts.length > 0 && !receipts.includes(original)
  if (isOther) return unknown(`it reversed another payment, with the receipt number ${original}`)
  return { kind: 'refunded', refundId: reversal ?? reference }
}
