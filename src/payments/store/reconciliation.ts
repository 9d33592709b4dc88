import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { type AttemptId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Postponed } from '../../outbound/account-limits.ts'

export interface DueReconciliation {
  attemptId: AttemptId
  /** The end of the daily reconciliation. */
  until: Date
  /** The provider account whose rate limit applies. */
  account: string
}

/** Claims attempts that are due for reconciliation, with a lease of ten minutes. */
export async function claimDueReconciliations(db: Queries, limit: number): Promise<DueReconciliation[]> {
  const rows = await db.rows<{ id: string; reconcile_until: Date; account: string }>(sql`
    update attempts set reconcile_at = now() + interval '10 minutes'
     where id in (select id from attempts where reconcile_at <= now()
                   order by reconcile_at limit ${limit} for update skip locked)
    returning id, coalesce(reconcile_until, now()) as reconcile_until, concat_ws(' ', merchant_id, mode, provider) as account`)
  return rows.map(({ id, reconcile_until: until, account }) => ({ attemptId: idOf('attempt', id), until, account }))
}

/** Postpones attempts that exceed the rate limit of their provider account. */
export async function postponeReconciliations(db: Queries, late: Postponed<DueReconciliation>[]): Promise<void> {
  await db.rows(sql`
    update attempts a set reconcile_at = now() + make_interval(secs => l.wait_ms / 1000)
      from unnest(${late.map(({ item }) => uuidOf(item.attemptId))}::uuid[], ${late.map(({ waitMs }) => waitMs)}::float8[]) as l (id, wait_ms)
     where a.id = l.id and a.reconcile_at > now()`)
}

/** Sets the next reconciliation; null ends it. A time that new money has set in the meantime is kept. */
export async function saveReconciliation(db: Queries, due: DueReconciliation, nextAt: Date | null): Promise<void> {
  await db.rows(sql`
    update attempts set reconcile_at = ${nextAt}
     where id = ${uuidOf(due.attemptId)} and date_trunc('milliseconds', coalesce(reconcile_until, '-infinity')) <= ${due.until}`)
}
