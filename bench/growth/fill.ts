import type { BenchDatabase } from '../bench-database.ts'
import { preload } from './preload.ts'

/** Bytes of a table for each payment, with its indexes. */
export interface TableSize {
  table: string
  bytes: number
}

const SIZES = `
  select relname as table, pg_total_relation_size(oid) as bytes from pg_class
   where relkind = 'r' and relnamespace = 'public'::regnamespace`

/** Copies a payment that the service has taken, with all its texts. Returns the tables that grew, the largest first. */
export async function fill(database: BenchDatabase, url: string, payments: number): Promise<TableSize[]> {
  // The sums of the charts are not measured here, and folding the copies would take minutes.
  await database.ask(
    url,
    `insert into rollup_cursors (place, folded_to)
     select place, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid from merchants
     on conflict (place) do update set folded_to = excluded.folded_to`,
  )
  const before = await readSizes(database, url)
  await preload(database, url, payments)
  const after = await readSizes(database, url)
  return [...after]
    .map(([table, bytes]) => ({ table, bytes: (bytes - (before.get(table) ?? 0)) / payments }))
    .filter(({ bytes }) => bytes >= 1)
    .sort((a, b) => b.bytes - a.bytes)
}

async function readSizes(database: BenchDatabase, url: string): Promise<Map<string, number>> {
  const rows = await database.ask<{ table: string; bytes: string }>(url, SIZES)
  return new Map(rows.map(({ table, bytes }) => [table, Number(bytes)]))
}
