import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, type PaymentId, placeOf, uuidOf } from '../../kernel/ids.ts'

/** One entry of a payment's timeline. */
export interface TimelineEntry {
  at: Date
  /** `request`, `change`, `call`, `notice`, `money`, `refund`. */
  kind: string
  what: string
  attempt: string | null
  detail: Record<string, unknown>
}

/** Calls to its providers since then whose last answer was none, for example because our circuit breaker refused them. */
export async function unansweredCalls(
  db: Queries,
  id: PaymentId,
  since: Date,
): Promise<{ attempt: string; call: string; because: string | null }[]> {
  const place = placeOf(id)
  return db.rows(sql`
    select reference as attempt, call, detail as because from (
      select distinct on (a.id, c.call) a.reference, c.call, c.outcome, c.detail
        from attempts a join provider_calls c on c.place = ${place} and c.attempt_id = a.id
       where a.place = ${place} and a.payment_id = ${uuidOf(id)} and c.at >= ${since}
       order by a.id, c.call, c.id desc) last
     where outcome = 'unknown' order by attempt, call`)
}

/** All records of a payment in chronological order. */
export async function timelineOf(db: Queries, id: PaymentId): Promise<TimelineEntry[]> {
  const [place, payment] = [placeOf(id), uuidOf(id)]
  const rows = await db.rows<Omit<TimelineEntry, 'attempt'> & { attempt_id: string | null }>(sql`
    select at, kind, what, attempt_id, detail from (
      select created_at as at, 0 as rank, 0::bigint as position, 'request' as kind, 'payment created' as what, null::uuid as attempt_id,
             jsonb_build_object('amount', amount, 'currency', currency, 'reference', reference) as detail
        from payments where place = ${place} and id = ${payment}
      union all
      select e.occurred_at, 3, e.sequence, 'change', e.type, a.id,
             jsonb_strip_nulls(jsonb_build_object('sequence', e.sequence, 'cause', e.cause,
               'failure', case when e.type = 'attempt.failed' then e.data->'attempt'->'failure' end,
               'missing', e.data->'missing', 'excess', e.data->'excess', 'surplus', e.data->'surplus', 'refund', e.data->'refund',
               'dispute', e.data->'dispute', 'case', e.data->'case'))
        from events e left join attempts a on a.place = ${place} and a.payment_id = e.payment_id and a.reference = e.data->'attempt'->>'reference'
       where e.place = ${place} and e.payment_id = ${payment}
      union all
      select c.at, 1, c.id, 'call', c.call, c.attempt_id,
             jsonb_strip_nulls(jsonb_build_object('outcome', c.outcome, 'detail', c.detail, 'tookMs', c.took_ms, 'times', nullif(c.times, 1)))
        from provider_calls c join attempts a on a.place = ${place} and a.id = c.attempt_id
       where c.place = ${place} and a.payment_id = ${payment}
      union all
      select n.received_at, 0, n.id, 'notice', n.says, n.attempt_id,
             jsonb_strip_nulls(jsonb_build_object('state', n.state, 'note', n.note, 'times', n.times))
        from notices n join attempts a on a.place = ${place} and a.id = n.attempt_id
       where n.place = ${place} and a.payment_id = ${payment}
      union all
      select r.recorded_at, 2, r.id, 'money', 'received', r.attempt_id,
             jsonb_strip_nulls(jsonb_build_object('amount', r.amount, 'currency', r.currency, 'counted', r.counted,
               'transactionId', r.transaction_id, 'receiptNumber', r.receipt_number))
        from receipts r where r.place = ${place} and r.payment_id = ${payment}
      union all
      select r.created_at, 2, 0, 'refund', 'asked for', r.attempt_id,
             jsonb_strip_nulls(jsonb_build_object('amount', r.amount, 'currency', r.currency, 'kind', r.kind, 'status', r.status))
        from refunds r where r.place = ${place} and r.payment_id = ${payment}
    ) entries order by at, rank, position`)
  return rows.map(({ attempt_id, ...entry }) => ({
    ...entry,
    attempt: attempt_id && idOf('attempt', attempt_id, place),
  }))
}
