import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Attempt } from '../state/attempt.ts'
import { UNASKED } from './attempts.ts'

/**
 * Schedules a check after an unsigned notice: now, or a minute after the last such check of the payment. A check that
 * is due sooner is sufficient. The row of the first attempt holds the rate limit for the payment.
 */
export async function scheduleHintedCheck(
  tx: Transaction,
  { id, place, paymentId }: Attempt,
  now: Date,
): Promise<void> {
  const slot = await tx.row<{ hinted_at: Date }>(sql`
    update attempts first set hinted_at = greatest(${now}::timestamptz, first.hinted_at + interval '1 minute')
     where first.place = ${place} and first.payment_id = ${uuidOf(paymentId)} and first.number = 1
       and not exists (select from attempts a where a.place = ${place} and a.id = ${uuidOf(id)}
                          and a.next_check_at <= greatest(${now}::timestamptz, first.hinted_at + interval '1 minute'))
    returning first.hinted_at`)
  if (!slot) return
  // The provider does not know an attempt that awaits confirmation.
  await tx.rows(sql`
    update attempts set next_check_at = ${slot.hinted_at}
     where place = ${place} and id = ${uuidOf(id)} and not ${UNASKED}`)
}
