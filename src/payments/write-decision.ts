import type { Transaction } from '../database/database.ts'
import { recordEvent } from '../events/record-event.ts'
import { type AttemptId, newId } from '../kernel/ids.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { attemptView, viewOf } from './payment-view.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { insertAttempt, saveAttempt } from './store/attempts.ts'
import { savePayment } from './store/payments.ts'
import { type Uncounted, uncountReceipts } from './store/receipts.ts'
import { insertRefund, refundsOfAll, uncountRefunds } from './store/refunds.ts'

export type WriteDependencies = Pick<PaymentDependencies, 'clock' | 'links' | 'secrets'>

/**
 * Writes a transition of the state machine in one transaction: the attempts, the payment, surplus refunds, and one event for each change
 * with its webhook deliveries (transactional outbox). Every change of a payment or attempt is written here.
 */
export async function writeDecision(
  tx: Transaction,
  deps: WriteDependencies,
  before: PaymentState,
  { state, changes, surplus, uncounted }: Decision,
  cause: string | null = null,
): Promise<void> {
  for (const attempt of state.attempts) {
    const old = before.attempts.find(({ id }) => id === attempt.id)
    if (!old) await insertAttempt(tx, attempt)
    else if (old !== attempt) await saveAttempt(tx, attempt)
  }
  if (changes.length === 0) return
  const { payment } = state
  await savePayment(tx, before.payment, payment)
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
        id: newId('refund', deps.clock.now()),
        state,
        attemptId,
        kind: 'surplus',
        counted: false,
        reason: 'The payment was paid already.',
      })
    }
  }

  const refunds = (await refundsOfAll(tx, [state])).get(payment.id) ?? []
  const view = viewOf(state, refunds, deps.links)
  for (const [index, change] of changes.entries()) {
    const attempt = state.attempts.find(({ id }) => id === change.attemptId)
    const event = {
      id: newId('event', deps.clock.now()),
      merchantId: payment.merchantId,
      mode: payment.mode,
      paymentId: payment.id,
      type: change.type,
      sequence: before.payment.sequence + index + 1,
      data: { payment: view, ...(attempt && { attempt: attemptView(attempt) }), ...change.data },
      cause,
      occurredAt: deps.clock.now(),
    }
    await recordEvent(tx, deps, event, payment.webhook)
  }
}

/** One refund for each receipt, because some providers refund one transaction at a time. One for all if a part was refunded already. */
function refundableParts(receipts: Uncounted[], amount: number): { amount: number; transactionIds: string[] }[] {
  const isWhole = receipts.reduce((sum, receipt) => sum + receipt.amount, 0) === amount
  if (isWhole) return receipts.map((receipt) => ({ amount: receipt.amount, transactionIds: [receipt.transactionId] }))
  return [{ amount, transactionIds: receipts.map(({ transactionId }) => transactionId) }]
}
