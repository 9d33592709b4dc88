import type { Queries } from '../../database/database.ts'
import { readTime } from '../../database/database-clock.ts'
import { sql } from '../../database/sql.ts'
import { type AttemptId, idOf, placeOf, uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES, groupByPlace, type Place, rowsOfEachPlace } from '../../kernel/place.ts'
import { dueTimes, type Postponed } from '../../outbound/call-limits.ts'

export interface DueReconciliation {
  attemptId: AttemptId
  /** The end of the daily reconciliation. */
  until: Date
  /** The integration whose rate limit applies. */
  integration: string
}

/**
 * Claims attempts that are due for reconciliation, with a lease of ten minutes. Found without a lock, as in
 * claimDueChecks.
 */
export async function claimDueReconciliations(db: Queries, limit: number): Promise<DueReconciliation[]> {
  const due = await db.rows<{ place: Place; id: string; until: Date; integration: string; now: string }>(sql`
    select place, id, coalesce(reconcile_until, now()) as until, concat_ws(' ', merchant_id, mode, provider) as integration, now()::text as now
      from attempts
     where reconcile_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by reconcile_at limit ${limit}`)
  const now = due[0]?.now
  const claimed = await rowsOfEachPlace(due, (place, group) =>
    db.rows<{ id: string }>(sql`
      update attempts a set reconcile_at = ${now}::timestamptz + interval '10 minutes'
       where a.place = ${place} and a.id = any(${group.map(({ id }) => id)}::uuid[]) and (a.reconcile_at <= ${now}::timestamptz) is true
      returning a.id`),
  )
  const ids = new Set(claimed.map(({ id }) => id))
  return due
    .filter(({ id }) => ids.has(id))
    .map(({ place, id, until, integration }) => ({ attemptId: idOf('attempt', id, place), until, integration }))
}

/** Postpones attempts that exceed the rate limit of their integration. `is true` uses no index, see claimDueChecks. */
export async function postponeReconciliations(
  db: Queries,
  late: Postponed<DueReconciliation>[],
  now: Date,
): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => placeOf(item.attemptId))) {
    await db.rows(sql`
      update attempts a set reconcile_at = l.due_at
        from unnest(${group.map(({ item }) => uuidOf(item.attemptId))}::uuid[], ${dueTimes(group, now)}::timestamptz[]) as l (id, due_at)
       where a.place = ${place} and a.id = l.id and (a.reconcile_at > now()) is true`)
  }
}

/** Sets the next reconciliation; null ends it. A time that new money has set in the meantime is kept. */
export async function saveReconciliation(db: Queries, due: DueReconciliation, nextAt: Date | null): Promise<void> {
  await db.rows(sql`
    update attempts set reconcile_at = ${nextAt}
     where place = ${placeOf(due.attemptId)} and id = ${uuidOf(due.attemptId)}
       and (reconcile_until is null or date_trunc('milliseconds', reconcile_until) <= ${due.until})`)
}

/** Makes the listing of an attempt's refunds and disputes due now. */
export async function makeReconciliationDue(db: Queries, attemptId: AttemptId): Promise<void> {
  const now = await readTime(db)
  await db.rows(sql`
    update attempts set reconcile_at = ${now}::timestamptz where place = ${placeOf(attemptId)} and id = ${uuidOf(attemptId)}`)
}
