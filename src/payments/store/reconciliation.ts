import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { type AttemptId, idOf, placeOf, uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES, groupByPlace } from '../../kernel/place.ts'
import type { Postponed } from '../../outbound/call-limits.ts'

export interface DueReconciliation {
  attemptId: AttemptId
  /** The end of the daily reconciliation. */
  until: Date
  /** The integration whose rate limit applies. */
  integration: string
}

/** Claims attempts that are due for reconciliation, with a lease of ten minutes. Found without a lock, as in claimDueChecks. */
export async function claimDueReconciliations(db: Queries, limit: number): Promise<DueReconciliation[]> {
  const rows = await db.rows<{ place: number; id: string; until: Date; integration: string }>(sql`
    with due as materialized (
      select place, id, reconcile_at, coalesce(reconcile_until, now()) as until, concat_ws(' ', merchant_id, mode, provider) as integration from attempts
       where reconcile_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by reconcile_at limit ${limit}
    )
    update attempts a set reconcile_at = now() + interval '10 minutes'
      from due where a.place = due.place and a.id = due.id and a.reconcile_at is not distinct from due.reconcile_at
    returning a.place, a.id, due.until, due.integration`)
  return rows.map(({ place, id, until, integration }) => ({
    attemptId: idOf('attempt', id, place),
    until,
    integration,
  }))
}

/** Postpones attempts that exceed the rate limit of their integration. `is true` uses no index, see claimDueChecks. */
export async function postponeReconciliations(db: Queries, late: Postponed<DueReconciliation>[]): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => placeOf(item.attemptId))) {
    await db.rows(sql`
      update attempts a set reconcile_at = now() + make_interval(secs => l.wait_ms / 1000)
        from unnest(${group.map(({ item }) => uuidOf(item.attemptId))}::uuid[], ${group.map(({ waitMs }) => waitMs)}::float8[]) as l (id, wait_ms)
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
  await db.rows(sql`
    update attempts set reconcile_at = now() where place = ${placeOf(attemptId)} and id = ${uuidOf(attemptId)}`)
}
