import type { ListedTransaction, TransactionsAnswer, Unknown } from '../provider.ts'
import { type Api, unreadable } from './api.ts'
import { everyEntry, optional, required } from './lists.ts'
import { receiptOf, refundStatusOf } from './mapping.ts'
import { disputeStatusOf } from './returns.ts'
import {
  readChargebacks,
  readEnvelope,
  readPages,
  readPaidTransactions,
  readRefunds,
  type Transaction,
  transactionIdOf,
} from './wire.ts'

const DAY_MS = 86_400_000
/** Of refunds and chargebacks since the range began. */
const MOST_PAGES = 100

/**
 * One page of `GET /transactions`. Their filter takes days in a time zone that is not documented, so it asks for a day more on both sides, and
 * `created_at` decides. The cursor is the number of the page.
 */
export async function listTransactions(
  api: Api,
  { from, to }: { from: Date; to: Date },
  cursor: string | null,
): Promise<TransactionsAnswer> {
  const page = Number(cursor ?? 1)
  const answer = await api.get('/transactions', {
    from: dayOf(from.getTime() - DAY_MS),
    to: dayOf(to.getTime() + DAY_MS),
    page: String(page),
  })
  if (answer.kind === 'unknown') return answer
  const envelope = answer.status === 200 ? readEnvelope(answer.text) : undefined
  const paid = envelope?.isSuccess ? readPaidTransactions(envelope.data) : undefined
  if (!paid) return unreadable(answer.status)
  const inRange = paid.filter(({ at }) => at >= from && at < to)
  const returned = inRange.length === 0 ? new Map<string, number>() : await returnedSince(api, from, inRange)
  if ('kind' in returned) return returned
  const transactions: ListedTransaction[] = inRange.map((transaction) => ({
    ...receiptOf(transaction, returned.get(transaction.id)),
    reference: transaction.reference,
  }))
  const isLast = page >= readPages(envelope?.meta)
  return { kind: 'page', transactions, nextCursor: isLast ? null : String(page + 1) }
}

/** Refunds and lost chargebacks of these transactions. Nothing goes back before it came in, so both lists start with the range. */
async function returnedSince(
  api: Api,
  from: Date,
  transactions: Transaction[],
): Promise<Map<string, number> | Unknown> {
  const since = { from: dayOf(from.getTime() - DAY_MS), to: dayOf(Date.now() + DAY_MS) }
  const entries = (data: unknown) => (Array.isArray(data) ? (data as unknown[]) : undefined)
  const refunds = required(await everyEntry(api, '/refunds', since, entries, MOST_PAGES))
  if ('kind' in refunds) return refunds
  const chargebacks = optional(await everyEntry(api, '/chargebacks', since, entries, MOST_PAGES))
  if ('kind' in chargebacks) return chargebacks
  const returned = new Map<string, number>()
  for (const { id, currency } of transactions) {
    const of = (list: unknown[]) => list.filter((one) => transactionIdOf(one) === id)
    const itsRefunds = readRefunds(of(refunds), id, currency)
    const itsChargebacks = readChargebacks(of(chargebacks), id, currency)
    if (!itsRefunds || !itsChargebacks) return unreadable(200)
    const made = itsRefunds.filter((refund) => refundStatusOf(refund) === 'successful')
    const lost = itsChargebacks.filter((chargeback) => disputeStatusOf(chargeback) === 'lost')
    returned.set(
      id,
      [...made, ...lost].reduce((sum, { amount }) => sum + amount, 0),
    )
  }
  return returned
}

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10)
