import type { Database } from '../database/database.ts'
import type { DeleteBatches } from '../database/delete-batches.ts'
import { firstUuidAt } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import {
  deletePayments,
  findOpenPayments,
  findOwnersOfOldPayments,
  lockOldPayments,
  type OldPaymentsOwner,
} from './store/delete-old.ts'

/** Merchants of a statement: about 5 ms. */
const MERCHANTS = 1_000
const FIRST_UUID = firstUuidAt(new Date(0))

/** Deletes payments, of one merchant after the other, that have not changed since that time and have nothing left to do. */
export async function deleteOldPayments(
  { database, batches }: { database: Database; batches: DeleteBatches },
  mode: Mode,
  before: Date,
): Promise<void> {
  let owners: OldPaymentsOwner[] = []
  do {
    const after = owners.at(-1)?.uuid ?? FIRST_UUID
    owners = await findOwnersOfOldPayments(database, { mode, before, after }, MERCHANTS)
    for (const owner of owners.filter(({ hasOld }) => hasOld)) await deleteOfOwner(batches, owner, mode, before)
  } while (owners.length === MERCHANTS)
}

async function deleteOfOwner(batches: DeleteBatches, owner: OldPaymentsOwner, mode: Mode, before: Date): Promise<void> {
  let after = FIRST_UUID
  const deleteNext = () =>
    batches.next(async (tx, limit) => {
      const found = await lockOldPayments(tx, owner, { mode, before, after }, limit)
      const ids = found.map(({ id }) => id)
      const open = new Set(await findOpenPayments(tx, owner.place, ids, before))
      const closed = found.filter(({ id, status }) => status !== 'pending' && !open.has(id))
      await deletePayments(
        tx,
        owner.place,
        closed.map(({ id }) => id),
      )
      after = ids.at(-1) ?? after
      return { times: closed.map((payment) => payment.created_at), isFull: found.length === limit }
    })
  while (await deleteNext()) {}
}
