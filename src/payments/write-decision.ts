import type { Transaction } from '../database/database.ts'
import { type AttemptId, newId } from '../kernel/ids.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { attemptView, viewOf } from './payment-view.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { insertAttempt, saveAttempt } from './store/attempts.ts'
import { savePayment } from './store/payments.ts'
import { type Uncounted, uncountReceipts } from './store/receipts.ts'
import { insertRefund, refundsOfAll, uncountRefunds } from './store/refunds.ts'

/** The one way to change a payment and its attempts: the new state, the events that tell of it, and what follows, in one transaction. */
export async function writeDecision(
  tx: Transaction,
  deps: Pick<PaymentDependencies, 'clock' | 'links' | 'record'>,
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
  await savePayment(tx, before.payment, state.payment)
  const stranded = new Map<AttemptId, Uncounted[]>()
  for (const attemptId of uncounted) {
    stranded.set(attemptId, await uncountReceipts(tx, attemptId))
    await uncountRefunds(tx, attemptId)
  }
  for (const { attemptId, amount, receipt } of surplus) {
    const shares = receipt === null ? partsOf(stranded.get(attemptId) ?? [], amount) : [{ amount, ids: [receipt] }]
    for (const share of shares) {
      await insertRefund(tx, {
        id: newId('refund', deps.clock.now()),
        state,
        attemptId,
        amount: share.amount,
        kind: 'surplus',
        counted: false,
        reason: 'The payment was paid already.',
        transactionIds: share.ids,
      })
    }
  }

  const refunds = (await refundsOfAll(tx, [state])).get(state.payment.id) ?? []
  const view = viewOf(state, refunds, deps.links)
  for (const [index, change] of changes.entries()) {
    const attempt = state.attempts.find(({ id }) => id === change.attemptId)
    await deps.record(tx, {
      id: newId('event', deps.clock.now()),
      merchantId: state.payment.merchantId,
      mode: state.payment.mode,
      paymentId: state.payment.id,
      type: change.type,
      sequence: before.payment.sequence + index + 1,
      data: { payment: view, ...(attempt && { attempt: attemptView(attempt) }), ...change.data },
      cause,
      occurredAt: deps.clock.now(),
    })
  }
}

/** Each receipt goes back by itself, for some providers give back one transaction at a time; unless some of it has gone back already. */
function partsOf(receipts: Uncounted[], amount: number): { amount: number; ids: string[] }[] {
  const isWhole = receipts.reduce((sum, receipt) => sum + receipt.amount, 0) === amount
  if (isWhole) return receipts.map((receipt) => ({ amount: receipt.amount, ids: [receipt.transactionId] }))
  return [{ amount, ids: receipts.map(({ transactionId }) => transactionId) }]
}
