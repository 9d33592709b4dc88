import type { Transaction } from '../database/database.ts'
import { type AttemptId, newId } from '../kernel/ids.ts'
import { savePayment } from '../payments/payment-store.ts'
import { insertAttempt, saveAttempt } from './attempt-store.ts'
import type { Book, Decision } from './book.ts'
import type { AttemptParts } from './parts.ts'
import { attemptView, viewOf } from './payment-view.ts'
import { uncountReceipts } from './receipt-store.ts'
import { insertRefund, uncountRefunds } from './refund-store.ts'

/** The one way to change a payment and its attempts: the new state, the events that tell of it, and what follows, in one transaction. */
export async function writeDecision(
  tx: Transaction,
  parts: Pick<AttemptParts, 'clock' | 'links' | 'record'>,
  before: Book,
  { book, facts, surplus, uncounted }: Decision,
  cause: string | null = null,
): Promise<void> {
  for (const attempt of book.attempts) {
    const old = before.attempts.find(({ id }) => id === attempt.id)
    if (!old) await insertAttempt(tx, attempt)
    else if (old !== attempt) await saveAttempt(tx, attempt)
  }
  if (facts.length === 0) return
  await savePayment(tx, before.payment, book.payment)

  const view = viewOf(book, parts.links)
  for (const [index, fact] of facts.entries()) {
    const attempt = book.attempts.find(({ id }) => id === fact.attemptId)
    await parts.record(tx, {
      id: newId('event', parts.clock.now()),
      merchantId: book.payment.merchantId,
      mode: book.payment.mode,
      paymentId: book.payment.id,
      type: fact.type,
      sequence: before.payment.sequence + index + 1,
      data: { payment: view, ...(attempt && { attempt: attemptView(attempt) }), ...fact.more },
      cause,
      occurredAt: parts.clock.now(),
    })
  }
  const strandedTransactions = new Map<AttemptId, string[]>()
  for (const attemptId of uncounted) {
    strandedTransactions.set(attemptId, await uncountReceipts(tx, attemptId))
    await uncountRefunds(tx, attemptId)
  }
  for (const { attemptId, amount, transactionIds } of surplus) {
    await insertRefund(tx, {
      id: newId('refund', parts.clock.now()),
      book,
      attemptId,
      amount,
      kind: 'surplus',
      counted: false,
      reason: 'The payment was paid already.',
      transactionIds: transactionIds ?? strandedTransactions.get(attemptId) ?? [],
    })
  }
}
