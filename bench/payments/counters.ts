import type { BenchDatabase } from '../bench-database.ts'

/** One kind of statement, with its values left out. */
export interface StatementCount {
  text: string
  calls: number
  totalMs: number
}

export interface Counts {
  statements: Map<string, StatementCount>
  /** Transactions that wrote, in all databases. */
  commits: number
}

/**
 * What PostgreSQL has done so far. Transaction ids are counted, because each transaction that writes takes one at once;
 * `pg_stat_database` learns of a commit up to 10 seconds later.
 */
export async function readCounts(database: BenchDatabase, url: string): Promise<Counts> {
  const name = new URL(url).pathname.slice(1)
  const rows = await database.askServer<{ id: string; text: string; calls: string; total_ms: number }>(`
    select s.queryid as id, s.query as text, s.calls, s.total_exec_time as total_ms
      from pg_stat_statements s join pg_database d on d.oid = s.dbid where d.datname = '${name}' and s.toplevel`)
  const [next] = await database.askServer<{ id: string }>('select pg_snapshot_xmax(pg_current_snapshot())::text as id')
  const counted = rows.map(
    ({ id, text, calls, total_ms: totalMs }) => [id, { text, calls: Number(calls), totalMs }] as const,
  )
  return { statements: new Map(counted), commits: Number(next?.id) }
}

/** Most frequent first. */
export function statementsBetween(before: Counts, after: Counts): StatementCount[] {
  return [...after.statements]
    .map(([id, { text, calls, totalMs }]) => {
      const known = before.statements.get(id) ?? { calls: 0, totalMs: 0 }
      return { text, calls: calls - known.calls, totalMs: totalMs - known.totalMs }
    })
    .filter(({ calls }) => calls > 0)
    .sort((a, b) => b.calls - a.calls)
}
