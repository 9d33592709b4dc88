import { type Database, type Queries, reservedOf, type Transaction } from '../database/database.ts'
import { isTransactionConflict, isUniqueViolation } from '../database/failure.ts'
import { type Event, isAnnounced } from '../events/event.ts'
import { type AttemptId, newId, type PaymentId } from '../kernel/ids.ts'
import { attempts, payments } from '../metrics/instruments.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { attemptView, viewOf } from './payment-view.ts'
import { forgetStarted } from './started-attempts.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import type { Refund } from './state/refund.ts'
import { findPaymentStateById, lockPaymentState, type Snapshot } from './store/payment-states.ts'
import { type Uncounted, uncountReceipts } from './store/receipts.ts'
import { insertRefund, refundsOfAll, uncountRefunds } from './store/refunds.ts'
import { type PaymentWrite, paymentWriter, writePayment } from './store/write-payment.ts'

export type WriteDependencies = Pick<PaymentDependencies, 'clock' | 'links' | 'secrets'>

/** What is written together with a decision. */
export type WrittenWith = Partial<
  Pick<PaymentWrite, 'receipts' | 'call' | 'notice' | 'integration' | 'pageKey' | 'startedBy' | 'rematch'>
> & {
  /** The trigger of the change, for the timeline. */
  cause?: string
  /** The payment is new. */
  isNew?: boolean
}

/**
 * Writes a transition of the state machine in the caller's transaction: the attempts, the payment, surplus refunds, and one event for
 * each change with its webhook deliveries (transactional outbox). The caller holds the payment's lock. Every change of a payment or
 * attempt is written here or by `tryWriteDecision`.
 */
export async function writeDecision(
  tx: Transaction,
  deps: WriteDependencies,
  before: PaymentState,
  decision: Decision,
  more: WrittenWith = {},
): Promise<void> {
  await writeSurplus(tx, deps, decision)
  const refunds = (await refundsOfAll(tx, [decision.state])).get(before.payment.id) ?? []
  const write = planWrite(deps, before, decision, refunds, more)
  const isWritten = await writePayment(tx, write)
  if (!isWritten) throw new Error(`payment ${before.payment.id} changed although it should be locked`)
  countChanges(decision)
}

/** One writer for each database, so that all decisions of this process can share its commits. */
const writers = new WeakMap<Database, ReturnType<typeof paymentWriter>>()

function writerOf(database: Database) {
  const writer = writers.get(database) ?? paymentWriter(database)
  writers.set(database, writer)
  return writer
}

/**
 * Writes a transition that was decided on a snapshot without a lock, in one statement (group commit). Returns false, and writes nothing, if that is not
 * possible: the payment has changed since, or the transition also changes refunds. Then decide again with a lock, and use `writeDecision`.
 */
export async function tryWriteDecision(
  deps: WriteDependencies & { database: Database },
  before: Snapshot,
  decision: Decision,
  more: WrittenWith = {},
): Promise<boolean> {
  const { surplus, uncounted, returned } = decision
  const changesRefunds = surplus.length > 0 || uncounted.length > 0 || returned.length > 0
  if (before.hasRefunds || changesRefunds) return false
  try {
    const write = planWrite(deps, before, decision, [], more)
    const isWritten = await writerOf(reservedOf(deps.database))(write)
    if (isWritten) countChanges(decision)
    return isWritten
  } catch (error) {
    // Another payment has the transaction, another submit the form, or another process was faster.
    if (isUniqueViolation(error) || isTransactionConflict(error)) return false
    throw error
  }
}

/** A decision with what is written beside it. Without a decision nothing is written. */
export interface Plan<Result> {
  decision?: Decision
  more?: WrittenWith
  result: Result
}

/**
 * Changes a payment: reads it, decides, and writes the decision in one statement. If the payment has changed in between, it is locked and
 * decided on again. So `plan` may be called twice, and all that it does itself must be safe to repeat. `known`: the payment, if the caller
 * has just read it.
 */
export async function changePayment<Result>(
  deps: WriteDependencies & { database: Database },
  paymentId: PaymentId,
  plan: (db: Queries, state: Snapshot) => Promise<Plan<Result>>,
  known?: Snapshot,
): Promise<Result> {
  const { database } = deps
  const before = known ?? (await findPaymentStateById(database, paymentId))
  if (!before) throw new Error(`payment ${paymentId} is gone`)
  const { decision, more, result } = await plan(database, before)
  if (!decision || (await tryWriteDecision(deps, before, decision, more))) return result
  return database.transaction(async (tx) => {
    const locked = await lockPaymentState(tx, paymentId)
    const again = await plan(tx, locked)
    // `plan` has just read the integration, so that its version is not compared again.
    if (again.decision) await writeDecision(tx, deps, locked, again.decision, { ...again.more, integration: undefined })
    return again.result
  })
}

function planWrite(
  deps: WriteDependencies,
  before: PaymentState,
  { state, changes }: Decision,
  refunds: Refund[],
  { cause, isNew = false, receipts = [], ...more }: WrittenWith,
): PaymentWrite {
  forgetStarted(state.attempts)
  const { payment } = state
  const now = deps.clock.now()
  const known = new Map(before.attempts.map((attempt) => [attempt.id, attempt]))
  const isSent = changes.some(({ type }) => isAnnounced(type))
  // Only the body of an event that is sent has the payment.
  const view = isSent ? viewOf(state, refunds, deps.links) : undefined
  const events = changes.map((change, index): Event => {
    const attempt = state.attempts.find(({ id }) => id === change.attemptId)
    return {
      // Ids order the events, so those of one decision must rise.
      id: newId('event', new Date(now.getTime() + index), payment.place),
      place: payment.place,
      merchantId: payment.merchantId,
      mode: payment.mode,
      paymentId: payment.id,
      type: change.type,
      sequence: before.payment.sequence + index + 1,
      data: { payment: view, ...(attempt && { attempt: attemptView(attempt) }), ...change.data },
      cause: cause ?? null,
      occurredAt: now,
    }
  })
  return {
    ...more,
    before: isNew ? undefined : before.payment,
    after: payment,
    newAttempts: state.attempts.filter(({ id }) => !known.has(id)),
    changedAttempts: state.attempts.filter((attempt) => {
      const old = known.get(attempt.id)
      return old !== undefined && old !== attempt
    }),
    receipts,
    events,
    at: now,
  }
}

const COUNTED_OUTCOMES: ReadonlySet<string> = new Set([
  'started',
  'successful',
  'failed',
  'abandoned',
  'surplus',
  'needs_review',
])

/** For the metrics. A change in a transaction that is rolled back later is counted, too. */
function countChanges({ state: { payment, attempts: all }, changes }: Decision): void {
  const { mode } = payment
  for (const { type, attemptId } of changes) {
    const [what, outcome = ''] = type.split('.')
    if (what === 'payment') payments.inc({ mode, outcome })
    const provider = all.find(({ id }) => id === attemptId)?.provider
    if (what === 'attempt' && provider && COUNTED_OUTCOMES.has(outcome)) attempts.inc({ provider, mode, outcome })
  }
}

/** Receipts and refunds that stop counting, and refunds of the money beyond the payment. */
async function writeSurplus(
  tx: Transaction,
  deps: WriteDependencies,
  { state, surplus, uncounted }: Decision,
): Promise<void> {
  const uncountedReceipts = new Map<AttemptId, Uncounted[]>()
  for (const attemptId of uncounted) {
    uncountedReceipts.set(attemptId, await uncountReceipts(tx, attemptId))
    await uncountRefunds(tx, attemptId)
  }
  for (const { attemptId, amount, receipt } of surplus) {
    const transactions =
      receipt === null
        ? refundableParts(uncountedReceipts.get(attemptId) ?? [], amount)
        : [{ amount, transactionIds: [receipt] }]
    for (const each of transactions) {
      await insertRefund(tx, {
        ...each,
        id: newId('refund', deps.clock.now(), state.payment.place),
        state,
        attemptId,
        kind: 'surplus',
        counted: false,
        reason: 'The payment was paid already.',
      })
    }
  }
}

/** One refund for each receipt, because some providers refund one transaction at a time. One for all if a part was refunded already. */
function refundableParts(receipts: Uncounted[], amount: number): { amount: number; transactionIds: string[] }[] {
  const isWhole = receipts.reduce((sum, receipt) => sum + receipt.amount, 0) === amount
  if (isWhole) return receipts.map((receipt) => ({ amount: receipt.amount, transactionIds: [receipt.transactionId] }))
  return [{ amount, transactionIds: receipts.map(({ transactionId }) => transactionId) }]
}
