import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, type MemberId, type MerchantId, type SessionId, uuidOf } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { Session, Visit } from './member.ts'
import { MEMBER_COLUMNS, type MemberRow, type MembershipRow, memberOf, membershipOf } from './member-store.ts'

interface SessionRow extends MemberRow {
  id: string
  complete: boolean
  confirmed: boolean
  is_stale: boolean
  memberships: MembershipRow[]
}

/**
 * The session of a token, with member and merchants. Undefined when it is revoked, has been idle for 12 hours, or is
 * older than its absolute limit.
 */
export async function findSession(db: Queries, digest: Buffer): Promise<Session | undefined> {
  const row = await db.row<SessionRow>(sql`
    select s.id, s.complete, coalesce(s.confirmed_at > now() - interval '10 minutes', false) as confirmed,
           s.last_seen_at < now() - interval '1 minute' as is_stale, ${MEMBER_COLUMNS},
           (select coalesce(jsonb_agg(jsonb_build_object('place', me.place, 'merchant_id', me.id, 'name', me.name, 'status', me.status,
                     'country', me.country, 'time_zone', me.time_zone,
                     'require_second_factor', me.require_second_factor, 'refund_limit', me.refund_limit, 'role', ms.role) order by me.name, me.id), '[]')
              from memberships ms join merchants me on me.id = ms.merchant_id where ms.member_id = m.id) as memberships
      from sessions s join members m on m.id = s.member_id
     where s.token_digest = ${digest} and s.expires_at > now() and s.last_seen_at > now() - interval '12 hours'`)
  if (!row) return undefined
  if (row.is_stale) await db.rows(sql`update sessions set last_seen_at = now() where id = ${row.id}`)
  return {
    id: idOf('session', row.id),
    member: memberOf(row),
    memberships: row.memberships.map(membershipOf),
    complete: row.complete,
    confirmed: row.confirmed,
  }
}

/** Those of the sessions that are alive and belong to a member of the merchant. Every role may read. */
export async function findSessionsIn(db: Queries, merchantId: MerchantId, ids: SessionId[]): Promise<SessionId[]> {
  const rows = await db.rows<{ id: string }>(sql`
    select s.id from sessions s join memberships ms on ms.member_id = s.member_id
     where s.id = any(${ids.map(uuidOf)}::uuid[]) and ms.merchant_id = ${uuidOf(merchantId)} and s.complete
       and s.expires_at > now() and s.last_seen_at > now() - interval '12 hours'`)
  return rows.map(({ id }) => idOf('session', id))
}

/** A session without its second factor lives for 10 minutes, a complete one for at most 7 days. */
export async function insertSession(
  db: Queries,
  session: { id: SessionId; memberId: MemberId; digest: Buffer; complete: boolean },
  { address, userAgent }: Visit,
): Promise<void> {
  const { id, memberId, digest, complete } = session
  await db.rows(sql`
    insert into sessions (id, member_id, token_digest, complete, confirmed_at, expires_at, address, user_agent)
    values (${uuidOf(id)}, ${uuidOf(memberId)}, ${digest}, ${complete}, case when ${complete} then now() end,
            now() + case when ${complete} then interval '7 days' else interval '10 minutes' end,
            ${address}, ${userAgent.slice(0, 200)})`)
}

/** Replaces the token after a step-up. False when the session is gone. */
export async function confirmSession(db: Queries, id: SessionId, digest: Buffer): Promise<boolean> {
  const updated = await db.row(sql`
    update sessions set token_digest = ${digest}, confirmed_at = now(), last_seen_at = now()
     where id = ${uuidOf(id)} returning id`)
  return updated !== undefined
}

/** Replaces the token and keeps everything else. Throws, which ends the transaction, when the session was revoked. */
export async function replaceToken(tx: Transaction, id: SessionId, digest: Buffer): Promise<void> {
  const updated = await tx.row(sql`
    update sessions set token_digest = ${digest} where id = ${uuidOf(id)} returning id`)
  if (!updated) throw new Problem('not_signed_in', 'This session has ended. Sign in again.')
}

export async function deleteSession(db: Queries, memberId: MemberId, id: SessionId): Promise<boolean> {
  const deleted = await db.row(sql`
    delete from sessions where id = ${uuidOf(id)} and member_id = ${uuidOf(memberId)} returning id`)
  return deleted !== undefined
}

/** Throws, which ends the transaction, when the session was revoked. Under the lock of its member it stays true. */
export async function requireSession(tx: Transaction, id: SessionId): Promise<void> {
  const alive = await tx.row(sql`select from sessions where id = ${uuidOf(id)}`)
  if (!alive) throw new Problem('not_signed_in', 'This session has ended. Sign in again.')
}

/** Revokes the member's sessions, except one. Returns their number. */
export async function deleteSessions(db: Queries, memberId: MemberId, except?: SessionId): Promise<number> {
  const deleted = await db.rows(sql`
    delete from sessions where member_id = ${uuidOf(memberId)}
       and id is distinct from ${except ? uuidOf(except) : null}::uuid returning id`)
  return deleted.length
}

const MAX_SESSIONS = 50

/** Ends the sessions beyond the newest 50: each has a rate limit of its own. Half-finished ones count apart. */
export async function deleteOldestSessions(tx: Transaction, memberId: MemberId, complete: boolean): Promise<void> {
  await tx.rows(sql`
    delete from sessions where id in (
      select id from sessions where member_id = ${uuidOf(memberId)} and complete = ${complete}
       order by last_seen_at desc, id desc offset ${MAX_SESSIONS})`)
}

export interface SessionSummary {
  id: SessionId
  createdAt: Date
  lastSeenAt: Date
  address: string
  userAgent: string
}

export async function listSessions(db: Queries, memberId: MemberId): Promise<SessionSummary[]> {
  const rows = await db.rows<{
    id: string
    created_at: Date
    last_seen_at: Date
    address: string
    user_agent: string
  }>(sql`
    select id, created_at, last_seen_at, address, user_agent from sessions
     where member_id = ${uuidOf(memberId)} and complete
       and expires_at > now() and last_seen_at > now() - interval '12 hours'
     order by last_seen_at desc, id desc`)
  return rows.map((row) => ({
    id: idOf('session', row.id),
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
    address: row.address,
    userAgent: row.user_agent,
  }))
}

/** Deletes what has expired: sessions, tries, challenges, and links a month after their end. */
export async function deleteExpired(db: Queries): Promise<void> {
  await db.rows(sql`delete from sessions where expires_at < now() or last_seen_at < now() - interval '12 hours'`)
  await db.rows(sql`delete from sign_in_tries where tried_at < now() - interval '1 day'`)
  await db.rows(sql`delete from used_challenges where expires_at < now()`)
  await db.rows(sql`delete from one_time_links where expires_at < now() - interval '30 days'`)
}
