import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, type MemberId, type MerchantId, type SavedViewId, uuidOf } from '../kernel/ids.ts'

export interface SavedView {
  id: SavedViewId
  name: string
  filters: Record<string, string>
}

interface Owner {
  memberId: MemberId
  merchantId: MerchantId
}

/** By name. */
export async function listViews(db: Queries, { memberId, merchantId }: Owner): Promise<SavedView[]> {
  const rows = await db.rows<{ id: string; name: string; filters: Record<string, string> }>(sql`
    select id, name, filters from saved_views
     where member_id = ${uuidOf(memberId)} and merchant_id = ${uuidOf(merchantId)} order by lower(name), name`)
  return rows.map(({ id, name, filters }) => ({ id: idOf('savedView', id), name, filters }))
}

export async function insertView(tx: Transaction, { memberId, merchantId }: Owner, view: SavedView): Promise<void> {
  await tx.rows(sql`
    insert into saved_views (id, member_id, merchant_id, name, filters)
    values (${uuidOf(view.id)}, ${uuidOf(memberId)}, ${uuidOf(merchantId)}, ${view.name}, ${view.filters})`)
}

export async function updateView(tx: Transaction, { id, name, filters }: SavedView): Promise<void> {
  await tx.rows(sql`update saved_views set name = ${name}, filters = ${filters} where id = ${uuidOf(id)}`)
}

export async function deleteView(tx: Transaction, id: SavedViewId): Promise<void> {
  await tx.rows(sql`delete from saved_views where id = ${uuidOf(id)}`)
}
