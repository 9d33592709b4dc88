import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { splitActor } from '../events/audit-log-store.ts'
import { type MemberId, uuidOf } from '../kernel/ids.ts'
import { memberActor } from './member.ts'

/** Writes an act that concerns a member's account, such as a sign-in, to the audit log of each merchant of the member. */
export async function recordAccountAct(
  db: Queries,
  memberId: MemberId,
  address: string,
  entry: { act: string; subject: string; actor?: string },
): Promise<void> {
  const by = splitActor(entry.actor ?? memberActor(memberId, address))
  await db.rows(sql`
    insert into audit_log (place, actor, address, act, merchant_id, subject)
    select coalesce(mt.place, 0), ${by.actor}, ${by.address}, ${entry.act}, ms.merchant_id, ${entry.subject}
      from members m left join memberships ms on ms.member_id = m.id left join merchants mt on mt.id = ms.merchant_id
     where m.id = ${uuidOf(memberId)}`)
}
