import type { PaymentId } from '../kernel/ids.ts'
import { lockBook } from './attempt-store.ts'
import { type Book, cancel } from './book.ts'
import type { AttemptParts } from './parts.ts'
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
