import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { AlertKind } from '../events/alert-kind.ts'
import { idOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'

/** What no event tells of: it has gone on for too long, or its day is near. */
export interface Found extends Scope {
  kind: AlertKind
  subject: string
}

interface FoundRow {
  place: Place
  merchant_id: string
  mode: Mode
  subject: string
}

const foundOf =
  (kind: AlertKind) =>
  ({ place, merchant_id: uuid, mode, subject }: FoundRow): Found => ({
    ...{ place, merchantId: idOf('merchant', uuid), mode, kind, subject },
  })

/** Open disputes that must be answered between these times, without those that have an alert. */
export async function findDisputesDue(db: Queries, from: Date, to: Date, limit: number): Promise<Found[]> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<FoundRow>(sql`
    select d.place, d.merchant_id, d.mode, d.id::text as subject from disputes d
     where d.status = 'open' and d.respond_by > ${from} and d.respond_by <= ${to} and d.place between ${first} and ${last}
       and not exists (
         select from alerts a where a.place = d.place and a.place between ${first} and ${last} and a.merchant_id = d.merchant_id and a.mode = d.mode
            and a.kind = 'dispute_due' and a.subject = d.id::text)
     order by d.respond_by limit ${limit}`)
  return rows.map((row) => foundOf('dispute_due')({ ...row, subject: idOf('dispute', row.subject, row.place) }))
}

/** Endpoints that have only failed since before that time. */
export async function findFailingEndpoints(db: Queries, before: Date): Promise<Found[]> {
  const rows = await db.rows<FoundRow>(sql`
    select m.place, e.merchant_id, e.mode, e.id::text || ' ' || to_char(e.failing_since at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as subject
      from webhook_endpoints e join merchants m on m.id = e.merchant_id
     where e.failing_since < ${before} and e.deleted_at is null`)
  return rows.map(foundOf('webhooks_failing'))
}

/** Providers that have not answered, or have refused the keys, since before that time. One for each failing list. */
export async function findFailingProviders(db: Queries, before: Date): Promise<Found[]> {
  const rows = await db.rows<FoundRow>(sql`
    select m.place, r.merchant_id, r.mode, r.provider || ' list ' || to_char(min(r.failed_since) at time zone 'UTC', 'YYYY-MM-DD') as subject
      from reconciliation_runs r join merchants m on m.id = r.merchant_id
     where r.failure is not null and r.failed_since < ${before} and r.kind <> 'open'
     group by m.place, r.merchant_id, r.mode, r.provider`)
  return rows.map(foundOf('provider_failing'))
}
