import type { Database } from '../../database/database.ts'
import { recordAct } from '../../events/audit-log-store.ts'
import { Problem } from '../../kernel/problem.ts'
import { pooledRandomBytes } from '../../kernel/random.ts'
import type { Scope } from '../../kernel/scope.ts'
import { pseudonymOf } from '../state/personal-data.ts'
import { forgetReceiptAddress } from '../store/customer-receipts.ts'
import { deleteCardsOf, eraseNextPayments, findPersonalData } from '../store/erase.ts'

/** Payments in one transaction, and in one call. */
const BATCH = 25
const MAX_PAYMENTS = 1_000

export interface Erasure {
  payments: number
  /** False: the customer has more payments, and the call must be repeated. */
  isComplete: boolean
}

/**
 * Replaces the personal data of a customer everywhere it is stored. Amounts, times and references stay, and so do the
 * totals. It goes in batches, each complete in itself: after a crash the next call erases the rest.
 */
export async function eraseCustomer(
  { database }: { database: Database },
  actor: string,
  scope: Scope,
  email: string,
): Promise<Erasure> {
  const personal = await findPersonalData(database, scope, email)
  if (!personal)
    throw new Problem('not_found', 'You have no payment or saved card of a customer with this e-mail address.')
  const pseudonym = pseudonymOf(pooledRandomBytes(8))
  // Not the address: the log cannot be changed.
  const entry = { actor, act: 'customer.erased', merchantId: scope.merchantId, subject: pseudonym }
  await database.transaction((tx) => recordAct(tx, entry))
  for (let payments = 0; ; ) {
    const erased = await database.transaction(async (tx) => {
      const count = await eraseNextPayments(tx, scope, email, { personal, pseudonym }, BATCH)
      // Last: a payment that is not erased yet may save another card.
      if (count < BATCH) {
        await deleteCardsOf(tx, scope, email)
        await forgetReceiptAddress(tx, scope, email)
      }
      return count
    })
    payments += erased
    if (erased < BATCH) return { payments, isComplete: true }
    if (payments >= MAX_PAYMENTS) return { payments, isComplete: !(await findPersonalData(database, scope, email)) }
  }
}
