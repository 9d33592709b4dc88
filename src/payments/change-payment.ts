import type { Queries, Writes } from '../database/database.ts'
import { isUniqueViolation } from '../database/failure.ts'
import { type Event, type EventType, isAnnounced } from '../events/event.ts'
import { PAYMENTS_CHANNEL } from '../events/event-store.ts'
import { writeEvent } from '../events/outbox-store.ts'
import { newId, type PaymentId } from '../kernel/ids.ts'
import { attempts, payments } from '../metrics/instruments.ts'
import type { Receipt } from '../providers/provider.ts'
import type { PaymentDeps } from './deps.ts'
import { attemptView, viewOf } from './payment-view.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { newRefund, type Refund, SEEN_AGAIN_AFTER_MS } from './state/refund.ts'
import { insertAttempt, updateAttempt } from './store/attempts.ts'
import { writeCases } from './store/cases.ts'
import { writeReceipt, writeRefundReceipt } from './store/customer-receipts.ts'
import { type LockedPayment, lockPayment } from './store/payment-states.ts'
import { insertPayment, type NewPayment, updatePayment } from './store/payments.ts'
import { type ReceiptOfPayment, uncountReceipts } from './store/receipts.ts'
import { insertRefund, uncountRefunds } from './store/refunds.ts'

type Deps = Pick<PaymentDeps, 'clock' | 'links'>

export interface Change<Read, Result> {
  /**
   * What the decision depends on besides the payment. It is sent behind the lock, so it sees what an earlier change has
   * written.
   */
  read?: (tx: Queries) => Promise<Read>
  /** Reads nothing more, and writes by `tx` only. It is called again when the change is decided again. */
  decide: (state: LockedPayment, read: Read, tx: Writes) => Result
}

/**
 * Changes a payment, in two round trips to PostgreSQL:
 *
 *   1  begin, lock the payment, read it, and `read`
 *      `decide` calls the state machine, and hands what it decides to `writeDecision`
 *   2  one statement for each row that changed, events and deliveries among them, and commit
 *
 * Of two changes at once, the second one waits for the lock and decides on what the first one has written. No provider
 * is called inside. What cannot be written violates a constraint: then the whole change is decided again, once. A
 * deadlock is repeated by `transaction`, at most three times.
 */
export async function changePayment<Read, Result>(
  deps: Pick<PaymentDeps, 'database'>,
  id: PaymentId,
  { read, decide }: Change<Read, Result>,
): Promise<Result> {
  const once = () =>
    deps.database.transaction(async (tx) => {
      const [state, more] = await Promise.all([lockPayment(tx, id), read?.(tx)])
      return decide(state, more as Read, tx)
    })
  return once().catch((error) => {
    if (isUniqueViolation(error)) return once()
    throw error
  })
}

/**
 * Writes a decision of the state machine: the payment, its attempts, refunds of surplus, and one event for each change
 * with its webhook deliveries (transactional outbox). Every change of a payment or attempt is written here. `cause`:
 * the trigger, for the timeline. `refunds`: all of the payment after the change, for the bodies of the events.
 * `receipts`: new money, which the first event names for the audit.
 */
export function writeDecision(
  tx: Writes,
  deps: Deps,
  before: LockedPayment,
  decision: Decision,
  {
    cause = null,
    refunds = before.refunds,
    receipts,
  }: { cause?: string | null; refunds?: Refund[]; receipts?: Receipt[] } = {},
): void {
  updatePayment(tx, decision.state.payment)
  writeAttempts(tx, before, decision)
  writeCases(tx, before.cases, decision.state.cases)
  const surplus = writeSurplus(tx, deps, before, decision)
  writeEvents(tx, deps, before, decision, { cause, refunds: [...refunds, ...surplus], receipts })
  tx.afterCommit(() => countChanges(decision))
}

/**
 * Writes a new payment with what was decided about it. Its reference may be in use: then it violates a unique index.
 */
export function writeNewPayment(
  tx: Writes,
  deps: Deps,
  { payment, idempotency }: NewPayment,
  decision: Decision,
  cause: string | null = null,
): void {
  const before = { payment, attempts: [], cases: [], lockedAt: payment.sequence }
  tx.write(insertPayment({ payment: decision.state.payment, idempotency }))
  writeAttempts(tx, before, decision)
  writeEvents(tx, deps, before, decision, { cause, refunds: [] })
  tx.afterCommit(() => countChanges(decision))
}

function writeAttempts(tx: Writes, before: PaymentState, { state }: Decision): void {
  const known = new Map(before.attempts.map((attempt) => [attempt.id, attempt]))
  for (const attempt of state.attempts) {
    const old = known.get(attempt.id)
    if (!old) insertAttempt(tx, attempt)
    else if (old !== attempt) updateAttempt(tx, attempt)
  }
}

function writeEvents(
  tx: Writes,
  deps: Deps,
  before: PaymentState & Pick<LockedPayment, 'lockedAt'>,
  { state, changes }: Decision,
  { cause, refunds, receipts = [] }: { cause: string | null; refunds: Refund[]; receipts?: Receipt[] | undefined },
): void {
  if (changes.length === 0) return
  const { payment } = state
  const now = deps.clock.now()
  const transactions = receipts.map(({ transactionId, amount }) => ({ id: transactionId, ...amount }))
  // Only the body of an event that is sent has the payment.
  const view = changes.some(({ type }) => isAnnounced(type)) ? viewOf(state, refunds, deps.links) : undefined
  for (const [index, change] of changes.entries()) {
    const attempt = state.attempts.find(({ id }) => id === change.attemptId)
    const sequence = before.payment.sequence + index + 1
    const event: Event = {
      // Ids order the events, so those of one transaction must rise.
      id: newId('event', new Date(now.getTime() + sequence - before.lockedAt), payment.place),
      place: payment.place,
      merchantId: payment.merchantId,
      mode: payment.mode,
      paymentId: payment.id,
      type: change.type,
      sequence,
      data: { payment: view, ...(attempt && { attempt: attemptView(attempt, state.cases) }), ...change.data },
      cause,
      occurredAt: now,
      ...(index === 0 && transactions.length > 0 && { transactions }),
    }
    writeEvent(tx, event, payment.webhook)
    writeReceiptOf(tx, change.type, before, state, now)
  }
  tx.notify(PAYMENTS_CHANNEL, payment.id)
}

/** The customer's receipt for the payment, and for its refunds: not for what came beyond it. */
function writeReceiptOf(
  tx: Writes,
  type: EventType,
  before: PaymentState,
  { payment, attempts }: PaymentState,
  now: Date,
) {
  if (type === 'payment.successful') {
    const paying = attempts.find(({ status }) => status === 'successful') ?? attempts.at(-1)
    writeReceipt(tx, payment, paying?.language ?? null, now)
  }
  if (type === 'refund.successful' && payment.amountRefunded > before.payment.amountRefunded)
    writeRefundReceipt(tx, payment, payment.amountRefunded < payment.amountPaid ? 'partial_refund' : 'refund', now)
}

/** Receipts and refunds that stop counting, and refunds of the money beyond the payment. Returns those. */
function writeSurplus(
  tx: Writes,
  { clock }: Deps,
  { receipts }: LockedPayment,
  { state: { payment }, surplus, uncounted }: Decision,
): Refund[] {
  for (const attemptId of uncounted) {
    uncountReceipts(tx, attemptId)
    uncountRefunds(tx, attemptId)
  }
  const parts = surplus.flatMap(({ attemptId, amount, receipt }) => {
    const counted = receipts.filter((each) => each.attemptId === attemptId && each.counted)
    const split = receipt === null ? refundableParts(counted, amount) : [{ amount, transactionIds: [receipt] }]
    return split.map((part) => ({ ...part, attemptId }))
  })
  return parts.map((part) => {
    const wanted = { ...part, kind: 'surplus', counted: false, reason: 'The payment was paid already.' } as const
    const refund = newRefund(payment, wanted, clock.now())
    insertRefund(tx, payment, refund, { dueAt: new Date(refund.createdAt.getTime() + SEEN_AGAIN_AFTER_MS) })
    return refund
  })
}

/**
 * One refund for each receipt, because some providers refund one transaction at a time. One for all if a part was
 * refunded already.
 */
function refundableParts(receipts: ReceiptOfPayment[], amount: number): { amount: number; transactionIds: string[] }[] {
  const isWhole = receipts.reduce((sum, receipt) => sum + receipt.amount, 0) === amount
  if (isWhole) return receipts.map((receipt) => ({ amount: receipt.amount, transactionIds: [receipt.transactionId] }))
  return [{ amount, transactionIds: receipts.map(({ transactionId }) => transactionId) }]
}

const COUNTED_OUTCOMES: ReadonlySet<string> = new Set([
  'started',
  'successful',
  'failed',
  'abandoned',
  'surplus',
  'needs_review',
])

/** For the metrics, after the commit. */
function countChanges({ state: { payment, attempts: all }, changes }: Decision): void {
  const { mode } = payment
  for (const { type, attemptId } of changes) {
    const [what, outcome = ''] = type.split('.')
    if (what === 'payment') payments.inc({ mode, outcome })
    const provider = all.find(({ id }) => id === attemptId)?.provider
    if (what === 'attempt' && provider && COUNTED_OUTCOMES.has(outcome)) attempts.inc({ provider, mode, outcome })
  }
}
