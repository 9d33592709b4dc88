import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'

/** A merchant as the operator sees it. */
export interface ListedMerchant {
  id: MerchantId
  name: string
  country: string
  status: 'active' | 'suspended'
  createdAt: Date
  members: number
  ownerEmail: string | null
}

/** Newest first. `text` is part of the name, in any case. */
export async function listMerchantsWithOwners(
  db: Queries,
  { text, before, limit }: { text: string | undefined; before: MerchantId | undefined; limit: number },
): Promise<ListedMerchant[]> {
  const rows = await db.rows<{
    id: string
    name: string
    country: string
    status: ListedMerchant['status']
    created_at: Date
    members: number
    owner_email: string | null
  }>(sql`
    select m.id, m.name, m.country, m.status, m.created_at,
           (select count(*) from memberships ms where ms.merchant_id = m.id) as members,
           (select o.email from memberships ms join members o on o.id = ms.member_id
             where ms.merchant_id = m.id and ms.role = 'owner') as owner_email
      from merchants m
     where (${before ? uuidOf(before) : null}::uuid is null or m.id < ${before ? uuidOf(before) : null}::uuid)
       and (${text ?? null}::text is null or position(lower(${text ?? null}::text) in lower(m.name)) > 0)
     order by m.id desc limit ${limit}`)
  return rows.map(({ id, created_at, owner_email, ...row }) => ({
    ...row,
    id: idOf('merchant', id),
    createdAt: created_at,
    ownerEmail: owner_email,
  }))
}
