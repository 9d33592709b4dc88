import { ADVISORY_LOCKS } from './advisory-locks.ts'
import type { Database, Transaction } from './database.ts'
import { sql, statementOf } from './sql.ts'

/** Some hundred payments. In a table of ten pages PostgreSQL takes a sequential scan for the better plan of a batch. */
const FIRST_PAGES = 30
const GROWTH = 10
/** From this size on, autovacuum is quicker than tenfold growth: it looks at each table every minute. */
const MAX_PAGES = 10_000

/**
 * Analyzes the young tables that have grown about tenfold since they were last analyzed, each in a transaction of its
 * own, and returns their names. That also makes all sessions plan their statements again: a plan that was made while a
 * table was empty may read it from end to end. While another process does it, it does nothing.
 */
export async function analyzeYoungTables(database: Database): Promise<string[]> {
  const analyzed: string[] = []
  for (;;) {
    const name = await database.transaction((tx) => analyzeNext(tx, analyzed))
    if (name === undefined) return analyzed
    analyzed.push(name)
  }
}

async function analyzeNext(tx: Transaction, except: string[]): Promise<string | undefined> {
  const lock = await tx.row<{ mine: boolean }>(sql`select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.analyze}) as mine`)
  if (!lock?.mine) return undefined
  // `analyze` writes the number of pages to relpages. Tables that grow have a place, and only their owner may analyze
  // them.
  const grown = await tx.row<{ name: string }>(sql`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'place'
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and pg_has_role(c.relowner, 'usage')
       and pg_relation_size(c.oid) / current_setting('block_size')::integer
           between greatest(${FIRST_PAGES}::integer, c.relpages * ${GROWTH}::integer) and ${MAX_PAGES}::integer
       and c.relname <> all(${except}::text[])
     order by c.relname limit 1`)
  // Locked: autovacuum is at work on it.
  if (grown) await tx.rows(statementOf(`analyze (skip_locked) ${grown.name}`, []))
  return grown?.name
}
