import type { PaymentId } from '../kernel/ids.ts'
import type { AttemptParts } from './dependencies.ts'
import { type Book, cancel } from './state/payment-state.ts'
import { lockBook } from './store/attempts.ts'
import { writeDecision } from './write-decision.ts'

export function cancelPayment(
  parts: Pick<AttemptParts, 'database' | 'clock' | 'links' | 'record'>,
  id: PaymentId,
): Promise<Book> {
  return parts.database.transaction(async (tx) => {
    const before = await lockBook(tx, id)
    const decision = cancel(before, parts.clock.now())
    await writeDecision(tx, parts, before, decision)
    return decision.book
  })
}
