import type { Queries, Transaction } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import { idOf, type MemberId, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Member, Membership } from './member.ts'
import type { Role } from './permissions.ts'

export interface MemberRow {
  member_id: string
  email: string
  name: string
  operator: boolean
  has_password: boolean
  has_totp: boolean
  passkeys: number
}

/** The columns of a MemberRow, from `members m`. */
export const MEMBER_COLUMNS = new Fixed(`
  m.id as member_id, m.email, m.name, m.operator, m.password_hash is not null as has_password,
  m.totp_secret is not null as has_totp,
  (select count(*) from passkeys p where p.member_id = m.id) as passkeys`)

export function memberOf(row: MemberRow): Member {
  const { email, name, operator, has_password, has_totp, passkeys } = row
  const factors = { password: has_password, totp: has_totp, passkeys }
  return { id: idOf('member', row.member_id), email, name, operator, factors }
}

export async function findMember(db: Queries, id: MemberId): Promise<Member | undefined> {
  const row = await db.row<MemberRow>(sql`select ${MEMBER_COLUMNS} from members m where m.id = ${uuidOf(id)}`)
  return row && memberOf(row)
}

export async function findMemberByEmail(
  db: Queries,
  email: string,
): Promise<{ member: Member; passwordHash: string | null } | undefined> {
  const row = await db.row<MemberRow & { password_hash: string | null }>(sql`
    select ${MEMBER_COLUMNS}, m.password_hash from members m where m.email = ${email}`)
  return row && { member: memberOf(row), passwordHash: row.password_hash }
}

export async function findPasswordHash(db: Queries, id: MemberId): Promise<string | null | undefined> {
  const row = await db.row<{ password_hash: string | null }>(sql`
    select password_hash from members where id = ${uuidOf(id)}`)
  return row?.password_hash
}

export async function findMemberNames(db: Queries, ids: MemberId[]): Promise<Map<MemberId, string>> {
  const rows = await db.rows<{ id: string; name: string }>(sql`
    select id, name from members where id = any(${ids.map(uuidOf)}::uuid[])`)
  return new Map(rows.map(({ id, name }) => [idOf('member', id), name]))
}

interface NewMember {
  id: MemberId
  email: string
  name: string
  operator: boolean
  passwordHash: string | null
  emailVerified: boolean
}

/** False when an account with this e-mail address exists. */
export async function insertMember(tx: Transaction, member: NewMember): Promise<boolean> {
  const { id, email, name, operator, passwordHash, emailVerified } = member
  const inserted = await tx.row(sql`
    insert into members (id, email, name, operator, password_hash, email_verified_at)
    values (${uuidOf(id)}, ${email}, ${name}, ${operator}, ${passwordHash}, case when ${emailVerified} then now() end)
    on conflict do nothing returning id`)
  return inserted !== undefined
}

/** Locks the account until the end of the transaction: after memberships, before links and sessions (deadlocks). */
export async function lockMember(tx: Transaction, id: MemberId): Promise<void> {
  await tx.rows(sql`select from members where id = ${uuidOf(id)} for no key update`)
}

export async function updatePassword(tx: Transaction, id: MemberId, hash: string): Promise<void> {
  await tx.rows(sql`update members set password_hash = ${hash} where id = ${uuidOf(id)}`)
}

/** Whether the last link that made the account or set its password was read in a mail to its address. */
export async function isEmailVerified(db: Queries, id: MemberId): Promise<boolean> {
  const verified = await db.row(sql`
    select from members where id = ${uuidOf(id)} and email_verified_at is not null`)
  return verified !== undefined
}

export async function updateEmailVerified(tx: Transaction, id: MemberId, verified: boolean): Promise<void> {
  await tx.rows(sql`
    update members set email_verified_at = case when ${verified} then coalesce(email_verified_at, now()) end
     where id = ${uuidOf(id)}`)
}

export async function updateOperator(tx: Transaction, id: MemberId, operator: boolean): Promise<boolean> {
  const updated = await tx.row(sql`
    update members set operator = ${operator} where id = ${uuidOf(id)} and operator <> ${operator} returning id`)
  return updated !== undefined
}

/** Locks the rows of all operators, so that two commands cannot remove the last two at once. */
export async function lockOperators(tx: Transaction): Promise<MemberId[]> {
  const rows = await tx.rows<{ id: string }>(sql`select id from members where operator order by id for update`)
  return rows.map(({ id }) => idOf('member', id))
}

export async function listOperators(db: Queries): Promise<(Member & { lastSeenAt: Date | null })[]> {
  const rows = await db.rows<MemberRow & { last_seen_at: Date | null }>(sql`
    select ${MEMBER_COLUMNS},
           (select max(s.last_seen_at) from sessions s where s.member_id = m.id and s.complete) as last_seen_at
      from members m where m.operator order by m.name, m.id`)
  return rows.map((row) => ({ ...memberOf(row), lastSeenAt: row.last_seen_at }))
}

export async function hasOperator(db: Queries): Promise<boolean> {
  return (await db.row(sql`select from members where operator limit 1`)) !== undefined
}

/** False when the person is a member already, or a second owner. */
export async function insertMembership(
  tx: Transaction,
  memberId: MemberId,
  merchantId: MerchantId,
  role: Role,
): Promise<boolean> {
  const inserted = await tx.row(sql`
    insert into memberships (member_id, merchant_id, role) values (${uuidOf(memberId)}, ${uuidOf(merchantId)}, ${role})
    on conflict do nothing returning member_id`)
  return inserted !== undefined
}

/** The role of a member; its row is locked until the end of the transaction. */
export async function lockRole(tx: Transaction, memberId: MemberId, merchantId: MerchantId): Promise<Role | undefined> {
  const row = await tx.row<{ role: Role }>(sql`
    select role from memberships
     where member_id = ${uuidOf(memberId)} and merchant_id = ${uuidOf(merchantId)} for update`)
  return row?.role
}

export async function updateRole(
  tx: Transaction,
  memberId: MemberId,
  merchantId: MerchantId,
  role: Role,
): Promise<void> {
  await tx.rows(sql`
    update memberships set role = ${role}
     where member_id = ${uuidOf(memberId)} and merchant_id = ${uuidOf(merchantId)}`)
}

export async function deleteMembership(tx: Transaction, memberId: MemberId, merchantId: MerchantId): Promise<void> {
  await tx.rows(sql`
    delete from memberships where member_id = ${uuidOf(memberId)} and merchant_id = ${uuidOf(merchantId)}`)
}

export async function countMerchantsOf(db: Queries, memberId: MemberId): Promise<number> {
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from memberships where member_id = ${uuidOf(memberId)}`)
  return row?.count ?? 0
}

export async function findOwner(db: Queries, merchantId: MerchantId): Promise<MemberId | undefined> {
  const row = await db.row<{ member_id: string }>(sql`
    select member_id from memberships where merchant_id = ${uuidOf(merchantId)} and role = 'owner'`)
  return row && idOf('member', row.member_id)
}

export interface MemberOfMerchant extends Member {
  merchantId: MerchantId
  role: Role
  lastSeenAt: Date | null
}

/** The members of one merchant, or of all, by name. */
export async function listMembers(db: Queries, merchantId: MerchantId | undefined): Promise<MemberOfMerchant[]> {
  const rows = await db.rows<MemberRow & { merchant_id: string; role: Role; last_seen_at: Date | null }>(sql`
    select ${MEMBER_COLUMNS}, ms.merchant_id, ms.role,
           (select max(s.last_seen_at) from sessions s where s.member_id = m.id and s.complete) as last_seen_at
      from memberships ms join members m on m.id = ms.member_id
     where ${merchantId ? uuidOf(merchantId) : null}::uuid is null
        or ms.merchant_id = ${merchantId ? uuidOf(merchantId) : null}::uuid
     order by ms.merchant_id, m.name, m.id`)
  return rows.map((row) => ({
    ...memberOf(row),
    merchantId: idOf('merchant', row.merchant_id),
    role: row.role,
    lastSeenAt: row.last_seen_at,
  }))
}

export interface MembershipRow {
  place: number
  merchant_id: string
  name: string
  status: string
  country: string
  time_zone: string | null
  require_second_factor: boolean
  refund_limit: number
  role: Role
}

export function membershipOf(row: MembershipRow): Membership {
  return {
    place: row.place,
    merchantId: idOf('merchant', row.merchant_id),
    merchantName: row.name,
    suspended: row.status === 'suspended',
    country: row.country,
    timeZone: row.time_zone,
    requireSecondFactor: row.require_second_factor,
    role: row.role,
    refundLimit: row.refund_limit,
  }
}

/** False when it is the limit already. */
export async function updateRefundLimit(tx: Transaction, merchantId: MerchantId, limit: number): Promise<boolean> {
  const updated = await tx.row(sql`
    update merchants set refund_limit = ${limit} where id = ${uuidOf(merchantId)} and refund_limit <> ${limit} returning id`)
  return updated !== undefined
}

export async function updateRequireSecondFactor(
  tx: Transaction,
  merchantId: MerchantId,
  required: boolean,
): Promise<boolean> {
  const updated = await tx.row(sql`
    update merchants set require_second_factor = ${required}
     where id = ${uuidOf(merchantId)} and require_second_factor <> ${required} returning id`)
  return updated !== undefined
}
