import type { Transaction } from '../database/database.ts'
import type { PaymentId, SavedCardId } from '../kernel/ids.ts'
import { Problem, type ProblemCode } from '../kernel/problem.ts'
import type { Integration } from '../merchants/integration.ts'
import type { Channel } from '../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import { findBookById, hasPageKey, lockBook, notePageKey } from './attempt-store.ts'
import { type Book, refuseAnother } from './book.ts'
import { offerOf } from './offer.ts'
import type { AttemptParts } from './parts.ts'
import { carryOut, type Intent, NotStarted, prepare } from './start-attempt.ts'

/** What a customer chose on our page. */
export interface PageWish {
  channel: Channel
  /** A saved card is charged at once. Absent: the provider's page may offer the one that was used last. */
  card?: SavedCardId | 'new'
  /** A new account number although one is open. */
  fresh?: boolean
  /** One for each press of the button. It makes one attempt at most, for ever. */
  key: string
}

/**
 * The customer pressed Pay on our page. Whatever came of it, the book is the answer: a decline, a provider that said nothing, a try
 * that is under way in another tab. Thrown is only what a book cannot tell.
 */
export async function startOnPage(
  parts: AttemptParts,
  integrations: Integration[],
  paymentId: PaymentId,
  wish: PageWish,
): Promise<Book> {
  try {
    const intent = await parts.database.transaction((tx) => intend(tx, parts, integrations, paymentId, wish))
    if (intent) return (await carryOut(parts, intent)).book
  } catch (error) {
    if (!isInTheBook(error)) throw error
  }
  const book = await findBookById(parts.database, paymentId)
  if (!book) throw new Error(`payment ${paymentId} is gone`)
  return book
}

/** Nothing, when this press has been here before, or what it asks for is waiting for the customer already. */
async function intend(
  tx: Transaction,
  parts: AttemptParts,
  integrations: Integration[],
  paymentId: PaymentId,
  wish: PageWish,
): Promise<Intent | undefined> {
  const book = await lockBook(tx, paymentId)
  const now = parts.clock.now()
  if (await hasPageKey(tx, paymentId, wish.key)) return undefined
  if (!wish.fresh && book.attempts.some((attempt) => isWaitingFor(attempt, wish, now))) return undefined
  refuseAnother(book, now)
  const { capabilities } = offerOf(book.payment, integrations, parts.providers, wish.channel)
  return prepare(tx, parts, book, {
    capabilities,
    channel: wish.channel,
    ...(wish.card && { card: wish.card }),
    onBegun: (begun, id) => notePageKey(begun, id, wish.key),
  })
}

/** Whether this attempt is what the customer asks for, and can still be paid. */
function isWaitingFor(attempt: Attempt, { channel, card }: PageWish, now: Date): boolean {
  const { instructions, instructionsExpireAt } = attempt
  if (attempt.status !== 'pending' || attempt.channel !== channel || !instructions) return false
  if (instructionsExpireAt && instructionsExpireAt <= now) return false
  switch (instructions.kind) {
    case 'account':
      return true
    case 'step':
      return instructions.savedCard === card
    case 'link':
      return card === undefined || (card === 'new' && !instructions.savedCard)
  }
}

const IN_THE_BOOK: readonly ProblemCode[] = [
  'attempt_in_progress',
  'payment_already_completed',
  'payment_cancelled',
  'payment_expired',
]

function isInTheBook(error: unknown): boolean {
  return error instanceof NotStarted || (error instanceof Problem && IN_THE_BOOK.includes(error.code))
}
