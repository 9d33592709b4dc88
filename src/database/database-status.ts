import type { Queries } from './database.ts'
import { sql } from './sql.ts'

export interface DatabaseStatus {
  /** PostgreSQL's own. */
  version: string
  sizeBytes: number
  migrations: { number: number; name: string; appliedAt: Date }[]
  /** The largest, first. */
  tables: { name: string; rows: number; sizeBytes: number }[]
}

const SHOWN_TABLES = 10

/**
 * Sizes are those of files, and numbers of rows PostgreSQL's estimates: no table is read, and only those shown are
 * opened.
 */
export async function readDatabaseStatus(db: Queries): Promise<DatabaseStatus> {
  const [facts, migrations, tables] = await Promise.all([
    db.row<{ version: string; size: number }>(sql`
      select current_setting('server_version') as version, pg_database_size(current_database()) as size`),
    db.rows<{ number: number; name: string; applied_at: Date }>(sql`
      select number, name, applied_at from migrations order by number`),
    db.rows<{ name: string; rows: number; size: number }>(sql`
      select c.relname as name, greatest(c.reltuples, 0)::bigint as rows, pg_total_relation_size(c.oid) as size
        from (select oid, relname, reltuples from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
               order by relpages desc, relname limit ${SHOWN_TABLES}) c
       order by size desc, name`),
  ])
  return {
    version: facts?.version ?? '',
    sizeBytes: facts?.size ?? 0,
    migrations: migrations.map(({ number, name, applied_at }) => ({ number, name, appliedAt: applied_at })),
    tables: tables.map(({ name, rows, size }) => ({ name, rows, sizeBytes: size })),
  }
}
