import type { Queries } from '../../src/database/database.ts'
import type { Scope } from '../../src/kernel/scope.ts'
import type { SecretBox } from '../../src/kernel/secret-box.ts'
import { type Customer, findCardsOf, openCard } from '../../src/payments/store/saved-cards.ts'

/** The token of the card that the customer used last with these keys. */
export async function savedToken(
  db: Queries,
  secrets: SecretBox,
  scope: Scope,
  of: { provider: string; keysVersion: number; customer: Customer },
): Promise<string | undefined> {
  const cards = await findCardsOf(db, scope, of.customer)
  const card = cards.find(({ provider, keysVersion }) => provider === of.provider && keysVersion === of.keysVersion)
  return card && openCard(card, secrets, { ...scope, user: of.customer }).token
}
