import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { Country } from '../kernel/country.ts'
import { idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import { zoneOfCountry } from '../kernel/time-zone.ts'
import type { Merchant, MerchantSettings } from './merchant.ts'

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

/** Locks the row until the transaction ends. */
export async function lockSettings(tx: Transaction, id: MerchantId): Promise<MerchantSettings | undefined> {
  const row = await tx.row<{ name: string; country: string; time_zone: string | null }>(
    sql`select name, country, time_zone from merchants where id = ${uuidOf(id)} for update`,
  )
  return row && { name: row.name, country: row.country as Country, timeZone: row.time_zone }
}

/** In which days are shown: the one that was chosen, or the country's. */
export async function zoneOf(db: Queries, id: MerchantId): Promise<string> {
  const row = await db.row<{ country: string; time_zone: string | null }>(
    sql`select country, time_zone from merchants where id = ${uuidOf(id)}`,
  )
  return row?.time_zone ?? zoneOfCountry(row?.country ?? '')
}

export async function saveSettings(tx: Transaction, id: MerchantId, settings: MerchantSettings): Promise<void> {
  const { name, country, timeZone } = settings
  await tx.rows(sql`
    update merchants set name = ${name}, country = ${country}, time_zone = ${timeZone} where id = ${uuidOf(id)}`)
}

/** Null: the zone of each member's browser. */
export async function findTimeZone(db: Queries, id: MerchantId): Promise<string | null> {
  const row = await db.row<{ time_zone: string | null }>(sql`select time_zone from merchants where id = ${uuidOf(id)}`)
  return row?.time_zone ?? null
}
