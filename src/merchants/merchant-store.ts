import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { Country } from '../kernel/country.ts'
import { idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Merchant } from './merchant.ts'

interface MerchantRow {
  id: string
  place: number
  name: string
  country: string
  status: Merchant['status']
}

function merchantOf(row: MerchantRow): Merchant {
  const { id, place, name, country, status } = row
  return { id: idOf('merchant', id), place, name, country: country as Country, status }
}

export async function findMerchant(db: Queries, id: MerchantId): Promise<Merchant | undefined> {
  const row = await db.row<MerchantRow>(
    sql`select id, place, name, country, status from merchants where id = ${uuidOf(id)}`,
  )
  return row && merchantOf(row)
}

export async function listMerchants(db: Queries): Promise<Merchant[]> {
  const rows = await db.rows<MerchantRow>(sql`select id, place, name, country, status from merchants order by id`)
  return rows.map(merchantOf)
}

/** False when a merchant with this id exists; it then stays unchanged. */
export async function insertMerchant(tx: Transaction, merchant: Merchant): Promise<boolean> {
  const inserted = await tx.row(sql`
    insert into merchants (id, place, name, country, status)
    values (${uuidOf(merchant.id)}, ${merchant.place}, ${merchant.name}, ${merchant.country}, ${merchant.status})
    on conflict (id) do nothing returning id`)
  return inserted !== undefined
}

export async function updateMerchantStatus(
  tx: Transaction,
  id: MerchantId,
  status: Merchant['status'],
): Promise<boolean> {
  const updated = await tx.row(sql`
    update merchants set status = ${status} where id = ${uuidOf(id)} and status <> ${status} returning id`)
  return updated !== undefined
}
