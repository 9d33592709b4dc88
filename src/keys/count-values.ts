import type { Queries } from '../database/database.ts'
import { keyIdOf, type SecretBox } from '../kernel/secret-box.ts'
import { SEALED_TABLES } from './sealed-tables.ts'
import { beforeFirst, keyOf, readHeads } from './sealed-value-store.ts'

/** How many stored values of a kind are encrypted with which key. */
export interface ValueCount {
  kind: string
  current: number
  previous: number
  /** With a key that is not set. */
  unknown: number
}

const STEP = 2_000

/** Reads all tables in short statements, by primary key. */
export async function countValues(db: Queries, { keyId, previousKeyId }: SecretBox): Promise<ValueCount[]> {
  const counts: ValueCount[] = []
  for (const sealed of SEALED_TABLES) {
    const count = { kind: sealed.kind, current: 0, previous: 0, unknown: 0 }
    for (let after: unknown[] | undefined = beforeFirst(sealed); after; ) {
      const rows = await readHeads(db, sealed, { after, limit: STEP })
      for (const head of rows.flatMap((row) => sealed.columns.map((column) => row[column] as Buffer | null))) {
        if (head === null) continue
        const id = keyIdOf(head)
        count[id === keyId ? 'current' : id !== undefined && id === previousKeyId ? 'previous' : 'unknown']++
      }
      const last = rows.length === STEP ? rows.at(-1) : undefined
      after = last && keyOf(sealed, last)
    }
    counts.push(count)
  }
  return counts
}
