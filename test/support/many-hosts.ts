import { after } from 'node:test'
import { connect, type Database } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { type EventId, uuidOf } from '../../src/kernel/ids.ts'

/** Generates rows by SQL, without the statement timeout of the service and without foreign key checks. */
export function rowGenerator(databaseUrl: string) {
  const patient = connect({ url: databaseUrl, statementTimeoutMs: 100_000, poolWaitMs: 10_000 })
  after(() => patient.close())
  const generate = (statement: Statement) =>
    patient.transaction(async (tx) => {
      await tx.rows(sql`set local session_replication_role = replica`)
      await tx.rows(sql`set local synchronous_commit = off`)
      return tx.rows(statement)
    })

  return {
    generate,

    /** One delivery to each of many hosts. With `tries` they wait for a retry. */
    async addHosts(
      eventId: EventId,
      {
        url = 'http://127.0.0.1:9/',
        name = 'host',
        count,
        tries = 0,
      }: { url?: string; name?: string; count: number; tries?: number },
    ): Promise<void> {
      await generate(sql`
        with added as (
          insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, tries, due_at)
          select e.place, gen_random_uuid(), e.id, e.merchant_id, e.mode, ${url}, ${name}::text || ' ' || number, ${tries},
                 now() + ${tries === 0 ? 0 : 3_600}::integer * interval '1 second'
            from events e cross join generate_series(1, ${count}::integer) number where e.id = ${uuidOf(eventId)}
          returning place, destination, merchant_id, mode, due_at
        )
        insert into delivery_retries (place, destination, merchant_id, mode, is_host, next_due_at)
        select place, destination, merchant_id, mode, true, due_at from added where ${tries > 0}::boolean`)
      await patient.rows(sql`analyze deliveries`)
      await patient.rows(sql`analyze delivery_retries`)
    },

    /** Many deliveries of one event, to its endpoints. */
    async addCopies(eventId: EventId, count: number): Promise<void> {
      await generate(sql`
        insert into deliveries (place, id, event_id, merchant_id, mode, endpoint_id, url, destination)
        select d.place, gen_random_uuid(), d.event_id, d.merchant_id, d.mode, d.endpoint_id, d.url, d.destination
          from deliveries d cross join generate_series(1, ${count}::integer) where d.event_id = ${uuidOf(eventId)}`)
    },

    forgetAll: () => patient.rows(sql`truncate deliveries, delivery_tries, delivery_retries, delivery_leases`),
  }
}

/** A search for destinations with something due, or a claim there. */
export const isClaim = ({ text }: Statement) => /with recursive steps|insert into delivery_leases/.test(text)

/** A database that measures how long each search and claim of an engine takes. */
export function timedClaims(database: Database): { timed: Database; median(): number } {
  const claims: number[] = []
  const timed: Database = {
    ...database,
    async rows<Row>(statement: Statement) {
      const startedAt = performance.now()
      const result = await database.rows<Row>(statement)
      if (isClaim(statement)) claims.push(performance.now() - startedAt)
      return result
    },
  }
  return { timed, median: () => claims.toSorted((a, b) => a - b)[Math.floor(claims.length / 2)] ?? Number.NaN }
}
