import type { Database } from '../../database/database.ts'
import { recordAct } from '../../events/audit-log-store.ts'
import type { SavedCardId } from '../../kernel/ids.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { type CardOnFile, deleteCard } from '../store/saved-cards.ts'

/**
 * Deletes a card of this merchant with an audit log entry, in one transaction. Undefined if the card does not exist.
 */
export function deleteSavedCard(database: Database, caller: Caller, id: SavedCardId): Promise<CardOnFile | undefined> {
  return database.transaction(async (tx) => {
    const card = await deleteCard(tx, caller, id)
    if (!card) return undefined
    await recordAct(tx, {
      actor: caller.actor,
      act: 'saved_card.deleted',
      merchantId: caller.merchantId,
      subject: id,
    })
    return card
  })
}
