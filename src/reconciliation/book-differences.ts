import type { AttemptId } from '../kernel/ids.ts'
import { formatMoney } from '../kernel/money.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { reconcileAttempt, reviewAttempt } from '../payments/refunds/reconcile-attempt.ts'
import { askOrder } from '../payments/settle/settle-attempt.ts'
import type { Attempt } from '../payments/state/attempt.ts'
import { findAttempt } from '../payments/store/attempts.ts'
import type { AbsentReceipt, AuditScope } from '../payments/store/provider-audit.ts'
import type { Outcome, Receipt } from '../providers/provider.ts'
import { type Compared, compareEntries, type Listing } from './compare-entries.ts'
import { bookUnmatched } from './unmatched-money.ts'

export interface Booked {
  /** Orders that the provider was asked for by themselves. */
  asked: number
  /** Of those, and of unmatched money: our records agree now. */
  booked: number
  /** Orders about which the provider gave no clear answer. They are asked about again by the next run. */
  unanswered: number
}

/** Called before each order is asked for, so that a long page keeps its lease. */
type OnAsk = () => Promise<void>

/** Of a refund that was booked in the first round, the check was older than the list. */
const MOST_ROUNDS = 2

/**
 * The list says what differs; the order that differs is asked for by itself, and that answer is booked as if a notice
 * had come. What differs after that is reviewed by a person. So is, if `isLong`, an order without a clear answer: after
 * a long window, no other run may see it.
 */
export async function bookDifferences(
  deps: PaymentDeps,
  scope: AuditScope,
  { listing, compared, isLong, onAsk }: { listing: Listing; compared: Compared[]; isLong: boolean; onAsk: OnAsk },
): Promise<Booked> {
  const done: Booked = { asked: 0, booked: 0, unanswered: 0 }
  const differing = compared.filter(({ verdict }) => verdict.kind === 'differs' || verdict.kind === 'unclear')
  for (const { transaction, verdict } of differing.filter(({ attemptId }) => attemptId === null)) {
    if (!transaction || verdict.kind !== 'differs') continue
    await bookUnmatched(deps, scope, transaction)
    done.booked++
  }
  for (const [attemptId, ofAttempt] of Map.groupBy(differing, (each) => each.attemptId)) {
    const attempt = attemptId && (await findAttempt(deps.database, attemptId))
    if (!attempt) continue
    await onAsk()
    done.asked++
    const ids = new Set(ofAttempt.map(({ id }) => id))
    const left = await askUntilEqual(deps, scope, attempt, { listing, compared, ids })
    const isAnswered = left !== 'unanswered'
    if (!isAnswered) done.unanswered++
    else if (left.length === 0) done.booked++
    for (const each of isAnswered ? left : isLong ? ofAttempt : [])
      await review(deps, attempt, { kind: listing.kind, each, isAnswered })
  }
  return done
}

/** What still differs. Refunds and reversals can be compared when the provider has finished those of the order. */
async function askUntilEqual(
  deps: PaymentDeps,
  scope: AuditScope,
  attempt: Attempt,
  { listing, compared, ids }: { listing: Listing; compared: Compared[]; ids: Set<string> },
): Promise<Compared[] | 'unanswered'> {
  let left: Compared[] = []
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const answer = await askAttempt(deps, attempt)
    if (answer === 'unanswered') return answer
    // All of the page that belongs to the attempt, because amounts are compared by attempt.
    const own = new Set(
      compared.filter((each) => each.attemptId === attempt.id || ids.has(each.id)).map(({ id }) => id),
    )
    const again = await compareEntries(deps, scope, only(listing, own))
    left = again.filter(({ id, verdict }) => ids.has(id) && verdict.kind === 'differs')
    if (answer.isOpen) left = left.filter(({ isOfTaken, isStuck }) => isOfTaken || isStuck)
    if (left.length === 0) return []
    if (answer.changes === 0) return left
  }
  return left
}

function only(listing: Listing, ids: Set<string>): Listing {
  switch (listing.kind) {
    case 'transactions':
      return { ...listing, entries: listing.entries.filter(({ transactionId }) => ids.has(transactionId)) }
    case 'refunds':
      return { ...listing, entries: listing.entries.filter(({ refundId }) => ids.has(refundId)) }
    case 'disputes':
      return { ...listing, entries: listing.entries.filter(({ disputeId }) => ids.has(disputeId)) }
  }
}

interface Answer {
  outcome: Outcome | null
  changes: number
  isOpen: boolean
}

/** Checks the order, then its refunds and disputes, and books what both say. */
export async function askAttempt(deps: PaymentDeps, attempt: Attempt): Promise<Answer | 'unanswered'> {
  const { outcome } = await askOrder(deps, attempt, { source: 'reconciliation' })
  if (outcome?.kind === 'unknown') return 'unanswered'
  const reconciled = await reconcileAttempt(deps, attempt, receiptsIn(outcome))
  if (reconciled.kind === 'unanswered') return 'unanswered'
  const { changes, isOpen } = reconciled.kind === 'reconciled' ? reconciled : { changes: 0, isOpen: false }
  return { outcome, changes, isOpen }
}

const receiptsIn = (outcome: Outcome | null): Receipt[] => (outcome && 'receipts' in outcome ? outcome.receipts : [])

async function review(
  deps: PaymentDeps,
  attempt: Attempt,
  { kind, each, isAnswered }: { kind: Listing['kind']; each: Compared; isAnswered: boolean },
): Promise<void> {
  const { id, verdict } = each
  if (!('finding' in verdict)) return
  const what = { transactions: 'transaction', refunds: 'refund', disputes: 'dispute' }[kind]
  const asked = isAnswered
    ? 'It was asked for this order by itself, too. Compare with its dashboard.'
    : 'It gives no clear answer about this order. Compare with its dashboard, or ask again.'
  const reason = isAnswered ? (each.isOfTaken ? 'contradiction' : 'refund_mismatch') : 'unanswered'
  await reviewAttempt(deps, attempt, `${reason}: ${verdict.finding} (${what} ${id}). ${asked}`)
}

/**
 * A receipt that the list lacks: a list can lag, or go by another time. The provider's answer about the order decides.
 */
export async function askForAbsent(
  deps: PaymentDeps,
  receipt: AbsentReceipt,
): Promise<'there' | 'gone' | 'unanswered'> {
  const attempt = await findAttempt(deps.database, receipt.attemptId)
  if (!attempt) return 'there'
  const answer = await askAttempt(deps, attempt)
  if (answer === 'unanswered') return answer
  const { transactionId, amount } = receipt
  if (answer.outcome === null || receiptsIn(answer.outcome).some((each) => each.transactionId === transactionId))
    return 'there'
  const what = `our records have ${formatMoney(amount)} as transaction ${transactionId}, and the provider does not know it`
  const advice = 'Nothing was changed. Look for it in its dashboard: the keys may be of another account.'
  await reviewAttempt(deps, attempt, `missing_at_provider: ${what}. ${advice}`)
  return 'gone'
}

/** An attempt with an unfinished refund or dispute that is in no list that is read daily. `isSilent`: for a week. */
export async function askForOpen(
  deps: PaymentDeps,
  id: AttemptId,
  isSilent: boolean,
): Promise<'answered' | 'unanswered'> {
  const attempt = await findAttempt(deps.database, id)
  const reconciled = attempt && (await reconcileAttempt(deps, attempt))
  if (attempt && reconciled?.kind === 'missing')
    await reviewAttempt(
      deps,
      attempt,
      'missing_at_provider: a refund or dispute of this order is not finished, and the provider does not know the order. Look for it in its dashboard.',
    )
  if (reconciled?.kind !== 'unanswered') return 'answered'
  if (attempt && isSilent)
    await reviewAttempt(
      deps,
      attempt,
      'unanswered: a refund or dispute of this order is not finished, and the provider has not answered about it for a week. Look at it in its dashboard: the keys may be refused.',
    )
  return 'unanswered'
}
