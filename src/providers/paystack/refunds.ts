import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import {
  ASKED_BEFORE,
  type ProviderAnswer,
  type RefundOrder,
  type RefundOutcome,
  type Unknown,
  unknown,
  unreadable,
} from '../provider.ts'
import { refundOutcomeOf } from './mapping.ts'
import { everyEntry } from './reversals.ts'
import { readBanks, readData, readError, readNotes, readRefund, toHundredths } from './wire.ts'

interface Way {
  mode: Mode
  get(path: string): Promise<ProviderAnswer>
  post(path: string, body: object): Promise<ProviderAnswer>
}

/**
 * They have no idempotency key, and a second request is a second refund. So each carries our reference in its note, and
 * we look for that before we ask. Their list can lag for hours: what was asked for once is only looked for.
 */
export function refunds({ mode, get, post }: Way): (wanted: RefundOrder) => Promise<RefundOutcome> {
  async function find(wanted: RefundOrder, transactionId: string): Promise<RefundOutcome | 'none'> {
    const isOurs = ({ note }: { note: string }) => note.split(' ').includes(wanted.reference)
    const listed = await everyEntry(get, `/refund?transaction=${transactionId}`, readNotes, (some) => some.some(isOurs))
    if ('kind' in listed) return listed
    const ours = listed.find(isOurs)
    return ours ? outcomeOf(ours.refund, wanted, transactionId, 200) : 'none'
  }

  function outcomeOf(value: unknown, wanted: RefundOrder, transactionId: string, status: number): RefundOutcome {
    const refund = readRefund(value)
    return refund ? refundOutcomeOf(refund, mode, wanted, transactionId) : unreadable(status)
  }

  async function ask(wanted: RefundOrder, transactionId: string): Promise<RefundOutcome> {
    const answer = await post('/refund', {
      // Not the reference of the order: a person may have matched the money of another order with this payment.
      transaction: transactionId,
      amount: toHundredths(wanted.amount),
      currency: wanted.amount.currency,
      merchant_note: `Refund ${wanted.reference}`,
    })
    if (answer.kind === 'unknown') return answer
    const { status, text } = answer
    if (status === 200 || status === 201) return outcomeOf(readData(text), wanted, transactionId, status)
    const error = readError(text)
    // A refused key has done nothing, and says nothing of an earlier try under the same reference.
    if (status === 401 || status === 403) return { ...unreadable(status), neverSent: true }
    if (!error || ![400, 404, 422].includes(status)) return unreadable(status)
    // It may be refused because an earlier try, slower than our first look, has just taken its place.
    const meanwhile = await find(wanted, transactionId)
    return meanwhile === 'none' ? { kind: 'refused', because: error.code ?? 'it refused the refund' } : meanwhile
  }

  /**
   * Their refund that needs attention goes on when they have the customer's account. Its state keeps a repeat from
   * having an effect.
   */
  async function giveAccount(earlier: RefundOutcome, wanted: RefundOrder): Promise<RefundOutcome> {
    const { account, amount } = wanted
    if (earlier.kind !== 'pending' || !earlier.needsAccount || !earlier.refundId || !account) return earlier
    const banks = await listBanks(get, amount.currency)
    if ('kind' in banks) return banks
    const bank = banks.find(({ code }) => code === account.bankCode)
    if (!bank) return { ...earlier, needsAccount: 'Paystack knows no bank with the code that was given' }
    if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
    const details = { currency: amount.currency, account_number: account.accountNumber, bank_id: bank.id }
    const path = `/refund/retry_with_customer_details/${earlier.refundId}`
    const answer = await post(path, { refund_account_details: details })
    if (answer.kind === 'unknown') return answer
    const { status, text } = answer
    if (status === 200 && readData(text) !== undefined) return { kind: 'pending', refundId: earlier.refundId }
    const error = readError(text)
    if (!error || ![400, 404, 422].includes(status)) return unreadable(status)
    return { ...earlier, needsAccount: `Paystack refused the bank account (${error.code ?? status})` }
  }

  return async (wanted) => {
    const { transactionIds } = wanted
    // Their list answers to a number alone: asked with anything else it is empty, as if there were no refund yet.
    if (transactionIds.length === 0 || !transactionIds.every((id) => /^\d{1,20}$/.test(id)))
      return unknown('there is no transaction to give back')
    for (const id of transactionIds) {
      const earlier = await find(wanted, id)
      if (earlier !== 'none') return giveAccount(earlier, wanted)
    }
    if (wanted.refundId) return unknown('it does not list the refund that it has accepted')
    // In this order: a refund that is marked as asked for is never asked for again.
    if (wanted.isLeaseHeld?.() === false) return unknown('the lease ran out before the request')
    if ((await wanted.mayAsk?.()) === false) return ASKED_BEFORE
    let outcome: RefundOutcome = unknown('there is no transaction to give back')
    // A refund is of one transaction. When the money came in several, the newest that has enough left gives it.
    for (const id of transactionIds.toReversed()) {
      outcome = await ask(wanted, id)
      if (outcome.kind !== 'refused') return outcome
    }
    return outcome
  }
}

interface PaystackBank {
  /** What their calls take. */
  id: string
  code: string
  name: string
}

export function listBanks(
  get: (path: string) => Promise<ProviderAnswer>,
  currency: Currency,
): Promise<PaystackBank[] | Unknown> {
  return everyEntry(get, `/bank?${new URLSearchParams({ currency, use_cursor: 'true' })}`, readBanks)
}
