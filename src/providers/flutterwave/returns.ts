import { money } from '../../kernel/money.ts'
import type { ListedDispute, ListedRefund, OrderHandle, ReturnsAnswer, Unknown } from '../provider.ts'
import type { Api } from './api.ts'
import { chargebacksOf, optional, refundsOf, required } from './lists.ts'
import { isPaid, refundStatusOf, unknown } from './mapping.ts'
import { findById, findTries } from './orders.ts'
import type { Chargeback, Refund, Transaction } from './wire.ts'

/** Refunds and chargebacks of every transaction that brought money for an order. */
export async function listReturns(api: Api, order: OrderHandle, transactionIds: string[]): Promise<ReturnsAnswer> {
  const transactions = await transactionsOf(api, order, transactionIds)
  if (!Array.isArray(transactions)) return transactions
  const refunds: ListedRefund[] = []
  const disputes: ListedDispute[] = []
  for (const transaction of transactions) {
    const itsRefunds = required(await refundsOf(api, transaction))
    if ('kind' in itsRefunds) return itsRefunds
    for (const refund of itsRefunds) {
      const listed = listedRefund(refund, transaction)
      if (!listed) return unknown('it lists a refund without its date')
      refunds.push(listed)
    }
    // Accounts without the chargeback API still list their refunds.
    const itsChargebacks = optional(await chargebacksOf(api, transaction))
    if ('kind' in itsChargebacks) return itsChargebacks
    disputes.push(...itsChargebacks.map((chargeback) => listedDispute(chargeback, transaction)))
  }
  return { kind: 'returns', refunds, disputes }
}

/** Those that we know by id, verified; without any, the paid ones of the order. */
async function transactionsOf(
  api: Api,
  { reference, providerReference }: OrderHandle,
  transactionIds: string[],
): Promise<Transaction[] | { kind: 'missing' } | Unknown> {
  if (transactionIds.length === 0) {
    const tries = await findTries(api, reference)
    if ('kind' in tries) return tries
    return tries.length === 0 && providerReference === reference ? { kind: 'missing' } : tries.filter(isPaid)
  }
  const transactions: Transaction[] = []
  for (const id of transactionIds) {
    const found = await findById(api, id, reference)
    if (found.kind === 'unknown') return found
    if (found.kind === 'none') return { kind: 'missing' }
    transactions.push(found.transaction)
  }
  return transactions
}

/** What `refunds.ts` writes into the comment. */
const OUR_COMMENT = /^([0-9a-z]{32})(?::|$)/

function listedRefund(refund: Refund, { currency }: Transaction): ListedRefund | undefined {
  if (!refund.at) return undefined
  return {
    refundId: refund.id,
    reference: OUR_COMMENT.exec(refund.comment ?? '')?.[1] ?? null,
    amount: money(refund.amount, currency),
    status: refundStatusOf(refund),
    at: refund.at,
  }
}

function listedDispute(chargeback: Chargeback, { currency }: Transaction): ListedDispute {
  return {
    disputeId: chargeback.id,
    amount: money(chargeback.amount, currency),
    status: disputeStatusOf(chargeback),
    reason: chargeback.comment,
    respondBy: chargeback.dueAt,
    openedAt: chargeback.openedAt,
  }
}

/** `declined` is the merchant's answer to the bank, which has yet to decide. */
export function disputeStatusOf({ status }: { status: string }): ListedDispute['status'] {
  if (status === 'won') return 'won'
  return status === 'lost' || status === 'accepted' ? 'lost' : 'open'
}
