import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { actRecorded } from '../events/audit-log-store.ts'
import { idOf, type MemberId, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import { memberActor } from './member.ts'

/**
 * Writes an act that concerns a member's account, such as a sign-in, to the audit log of each merchant of the member.
 */
export async function recordAccountAct(
  db: Queries,
  memberId: MemberId,
  address: string,
  entry: { act: string; subject: string; actor?: string },
): Promise<void> {
  const rows = await db.rows<{ place: Place; merchant_id: string | null }>(sql`
    select coalesce(mt.place, 0) as place, ms.merchant_id
      from members m left join memberships ms on ms.member_id = m.id left join merchants mt on mt.id = ms.merchant_id
     where m.id = ${uuidOf(memberId)}`)
  const actor = entry.actor ?? memberActor(memberId, address)
  for (const { place, merchant_id } of rows) {
    const merchantId = merchant_id && idOf('merchant', merchant_id)
    await db.rows(actRecorded(place, { actor, act: entry.act, merchantId: merchantId || null, subject: entry.subject }))
  }
}
