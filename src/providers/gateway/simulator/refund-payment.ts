import type { Chance } from './faults.ts'
import { changeBooks, type LedgerDeps } from './ledger.ts'
import { findPayment, insertTransaction, savePayment } from './ledger-store.ts'
import { queueNotice } from './notices.ts'
import { transactionId } from './record.ts'
import { notFound, Refusal } from './refusal.ts'

export interface RefundRequest {
  reference: string
  payment: string
  amount: number
  /** Made in the dashboard. */
  byHand?: boolean
}

/** Gives back what was taken, once for each reference, and never more than there is. */
export async function refundPayment(
  deps: LedgerDeps,
  chance: Chance,
  merchantUuid: string,
  { reference, payment: paymentReference, amount, byHand = false }: RefundRequest,
) {
  const found = await findPayment(deps.database, merchantUuid, paymentReference)
  if (!found) throw notFound('There is no payment with this reference.')
  return changeBooks(deps, found, async (tx, { payment, transactions }) => {
    const earlier = transactions.find((transaction) => transaction.refundReference === reference)
    if (earlier) {
      if (earlier.amount !== amount) throw used()
      return answerOf(transactionId(earlier))
    }
    const refunded = payment.refunded + amount
    if (refunded > payment.taken) {
      throw new Refusal(422, 'refund_exceeds_payment', `Only ${payment.taken - payment.refunded} is left to refund.`)
    }
    const refund = await insertTransaction(tx, payment, { kind: 'refund', amount, refundReference: reference, byHand })
    if (!refund) throw used() // by a refund of another payment
    const changed = { ...payment, refunded }
    await savePayment(tx, changed)
    const id = transactionId(refund)
    const books = { payment: changed, transactions: [...transactions, refund] }
    await queueNotice(tx, deps, {
      chance,
      books,
      type: 'refund.successful',
      refund: { id, amount, currency: payment.currency },
    })
    return answerOf(id)
  })

  function answerOf(id: string) {
    return {
      id,
      reference,
      payment: paymentReference,
      amount,
      currency: found?.currency ?? '',
      status: 'successful' as const,
    }
  }
}

const used = () => new Refusal(409, 'duplicate_reference', 'This reference was used for another refund.')
