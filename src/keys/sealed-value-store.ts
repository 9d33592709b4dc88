import type { Queries } from '../database/database.ts'
import { statementOf } from '../database/sql.ts'
import { groupByPlace } from '../kernel/place.ts'
import type { KeyType, SealedRow, SealedTable } from './sealed-tables.ts'

/** The key of a row, in the order of its columns. */
export type RowKey = unknown[]

const BEFORE_FIRST: Record<KeyType, unknown> = {
  uuid: '00000000-0000-0000-0000-000000000000',
  text: '',
  integer: -1,
  smallint: -1,
  bigint: -1,
}

export const beforeFirst = ({ key }: SealedTable): RowKey => Object.values(key).map((type) => BEFORE_FIRST[type])
export const keyOf = ({ key }: SealedTable, row: SealedRow): RowKey => Object.keys(key).map((name) => row[name])

/** The next rows by primary key. Values that are sealed with this key, and erased ones, are null and are not read. */
export function readOthers(
  db: Queries,
  sealed: SealedTable,
  { after, limit, keyId }: { after: RowKey; limit: number; keyId: string },
): Promise<SealedRow[]> {
  const own = after.length + 2
  const values = sealed.columns.map(
    (column) =>
      `case when substring(${column} from 2 for 4) not in ($${own}::bytea, '') then ${column} end as ${column}`,
  )
  const text = selectAfter(sealed, [...sealed.needs, ...values])
  return db.rows(statementOf(text, [...after, limit, Buffer.from(keyId, 'hex')]))
}

/**
 * The next rows by primary key, with the first bytes of their values: as many as name the key. An erased value is null.
 */
export function readHeads(
  db: Queries,
  sealed: SealedTable,
  { after, limit }: { after: RowKey; limit: number },
): Promise<SealedRow[]> {
  const heads = sealed.columns.map((column) => `nullif(substring(${column} from 1 for 5), '') as ${column}`)
  return db.rows(statementOf(selectAfter(sealed, heads), [...after, limit]))
}

function selectAfter({ table, key }: SealedTable, columns: string[]): string {
  const names = Object.keys(key).join(', ')
  const cursor = Object.values(key).map((type, index) => `$${index + 1}::${type}`)
  return `select ${[names, ...columns].join(', ')} from ${table} where (${names}) > (${cursor.join(', ')})
           order by ${names} limit $${cursor.length + 1}`
}

export interface Replacement {
  row: SealedRow
  before: Buffer
  after: Buffer
}

/** Replaces values that are still as they were read. Returns how many. */
export async function replaceValues(
  db: Queries,
  sealed: SealedTable,
  column: string,
  replacements: Replacement[],
): Promise<number> {
  const { table, key } = sealed
  const isPlaced = 'place' in key
  const entries = Object.entries(key).filter(([name]) => name !== 'place')
  const names = entries.map(([name]) => name)
  const arrays = [...entries.map(([, type]) => type), 'bytea', 'bytea'].map((type, index) => `$${index + 1}::${type}[]`)
  const text = `update ${table} t set ${column} = v.after
      from unnest(${arrays.join(', ')}) as v (${[...names, 'before', 'after'].join(', ')})
     where ${isPlaced ? `t.place = $${arrays.length + 1} and ` : ''}${names.map((name) => `t.${name} = v.${name}`).join(' and ')}
       and t.${column} = v.before
    returning 1`
  let replaced = 0
  for (const [place, group] of groupByPlace(replacements, ({ row }) => row.place ?? 0)) {
    const values = [
      ...names.map((name) => group.map(({ row }) => row[name])),
      group.map(({ before }) => before),
      group.map(({ after }) => after),
      ...(isPlaced ? [place] : []),
    ]
    replaced += (await db.rows(statementOf(text, values))).length
  }
  return replaced
}
