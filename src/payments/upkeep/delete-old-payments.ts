import type { Database } from '../../database/database.ts'
import type { DeleteBatches } from '../../database/delete-batches.ts'
import { firstUuidAt } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { deleteClosedPayments, findOwnersOfOldPayments, type OldPaymentsOwner } from '../store/delete-old.ts'

/** Merchants of a statement: about 5 ms. */
const MERCHANTS = 1_000
const FIRST_UUID = firstUuidAt(new Date(0))

/**
 * Deletes payments, of one merchant after the other, that have not changed since that time and have nothing left to do.
 * Each step is one batch.
 */
export async function* deleteOldPayments(
  { database, batches }: { database: Database; batches: DeleteBatches },
  mode: Mode,
  before: Date,
): AsyncGenerator<void> {
  let owners: OldPaymentsOwner[] = []
  do {
    const after = owners.at(-1)?.uuid ?? FIRST_UUID
    owners = await findOwnersOfOldPayments(database, { mode, before, after }, MERCHANTS)
    for (const owner of owners.filter(({ hasOld }) => hasOld)) yield* deleteOfOwner(batches, owner, mode, before)
  } while (owners.length === MERCHANTS)
}

async function* deleteOfOwner(
  batches: DeleteBatches,
  owner: OldPaymentsOwner,
  mode: Mode,
  before: Date,
): AsyncGenerator<void> {
  let after = FIRST_UUID
  let isMore = true
  while (isMore) {
    isMore = await batches.next(async (db, limit) => {
      const { times, found, last } = await deleteClosedPayments(db, owner, { mode, before, after }, limit)
      after = last ?? after
      return { times, isFull: found === limit }
    })
    yield
  }
}
