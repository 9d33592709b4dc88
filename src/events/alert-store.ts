import { type Statement, sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Scope } from '../kernel/scope.ts'
import type { AlertKind } from './alert-kind.ts'
import type { Event } from './event.ts'

/**
 * Raises an alert. The same subject of a kind has one. It has no words: they are read when it is sent. `subject`: an
 * id, or what tells one episode from the next.
 */
export function alertRaised(
  { place, merchantId, mode }: Scope,
  { kind, subject }: { kind: AlertKind; subject: string },
  now: Date,
): Statement {
  return sql`
    insert into alerts (place, merchant_id, mode, kind, subject, created_at)
    values (${place}, ${uuidOf(merchantId)}, ${mode}, ${kind}, ${subject}, ${now})
    on conflict (merchant_id, mode, kind, subject, place) do nothing`
}

/** The alert that an event raises, in its transaction. */
export function alertOf({ type, data }: Event): { kind: AlertKind; subject: string } | undefined {
  if (type === 'dispute.opened') return { kind: 'dispute_opened', subject: (data.dispute as { id: string }).id }
  if (type !== 'case.opened') return undefined
  const { id: subject, reason } = data.case as { id: string; reason: string }
  if (reason === 'refund_failed') return { kind: 'refund_failed', subject }
  return { kind: reason.startsWith('settlement') ? 'settlement' : 'case_opened', subject }
}
