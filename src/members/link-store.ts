import type { Queries, Transaction } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import { idOf, type MemberId, type MerchantId, type OneTimeLinkId, uuidOf } from '../kernel/ids.ts'
import { lockMember } from './member-store.ts'
import type { Role } from './permissions.ts'

/**
 * A link makes a member of a merchant (welcome, invitation) or gives a member a new password (reset). `mailed`: it was
 * read in the mail, so its reader has the mailbox.
 */
export type OneTimeLink = { id: OneTimeLinkId; expiresAt: Date; mailed: boolean } & (
  | {
      kind: 'welcome' | 'invitation'
      merchantId: MerchantId
      merchantName: string
      role: Role
      /** The welcome link has none: its reader says who they are. */
      email: string | null
      grantsOperator: boolean
    }
  | { kind: 'reset'; memberId: MemberId; email: string; name: string; clearsSecondFactor: boolean }
)

export type NewLink = {
  id: OneTimeLinkId
  digest: Buffer
  mailedDigest: Buffer | null
  createdBy: string
  minutes: number
} & (
  | { kind: 'welcome'; merchantId: MerchantId; role: 'owner'; email: null; grantsOperator: boolean }
  | { kind: 'invitation'; merchantId: MerchantId; role: Role; email: string }
  | { kind: 'reset'; memberId: MemberId; clearsSecondFactor: boolean }
)

export async function insertLink(tx: Transaction, link: NewLink): Promise<Date> {
  const merchantId = link.kind === 'reset' ? null : uuidOf(link.merchantId)
  const row = await tx.row<{ expires_at: Date }>(sql`
    insert into one_time_links (id, kind, digest, mailed_digest, merchant_id, role, email, member_id, grants_operator,
                                clears_second_factor, created_by, expires_at)
    values (${uuidOf(link.id)}, ${link.kind}, ${link.digest}, ${link.mailedDigest}, ${merchantId},
            ${link.kind === 'reset' ? null : link.role}, ${link.kind === 'reset' ? null : link.email},
            ${link.kind === 'reset' ? uuidOf(link.memberId) : null},
            ${link.kind === 'welcome' && link.grantsOperator}, ${link.kind === 'reset' && link.clearsSecondFactor},
            ${link.createdBy}, now() + ${link.minutes} * interval '1 minute')
    returning expires_at`)
  return row?.expires_at as Date
}

interface LinkRow {
  id: string
  kind: OneTimeLink['kind']
  merchant_id: string
  merchant_name: string
  role: Role
  email: string | null
  member_id: string
  member_email: string
  member_name: string
  grants_operator: boolean
  clears_second_factor: boolean
  expires_at: Date
  mailed_digest: Buffer | null
}

const LINK = new Fixed(`
  select l.id, l.kind, l.merchant_id, me.name as merchant_name, l.role, l.email, l.member_id, m.email as member_email,
         m.name as member_name, l.grants_operator, l.clears_second_factor, l.expires_at, l.mailed_digest
    from one_time_links l left join merchants me on me.id = l.merchant_id left join members m on m.id = l.member_id`)

function linkOf(row: LinkRow, digest?: Buffer): OneTimeLink {
  const id = idOf('oneTimeLink', row.id)
  const mailed = digest !== undefined && row.mailed_digest?.equals(digest) === true
  if (row.kind === 'reset')
    return {
      id,
      kind: 'reset',
      expiresAt: row.expires_at,
      mailed,
      memberId: idOf('member', row.member_id),
      email: row.member_email,
      name: row.member_name,
      clearsSecondFactor: row.clears_second_factor,
    }
  return {
    id,
    kind: row.kind,
    expiresAt: row.expires_at,
    mailed,
    merchantId: idOf('merchant', row.merchant_id),
    merchantName: row.merchant_name,
    role: row.role,
    email: row.email,
    grantsOperator: row.grants_operator,
  }
}

/** A link that is neither used nor expired. */
export async function findLink(db: Queries, digest: Buffer): Promise<OneTimeLink | undefined> {
  const row = await db.row<LinkRow>(sql`
    ${LINK} where (l.digest = ${digest} or l.mailed_digest = ${digest}) and l.used_at is null and l.expires_at > now()`)
  return row && linkOf(row, digest)
}

/** Marks the link as used. False when another request was first: the row lock makes one win. */
export async function useLink(tx: Transaction, id: OneTimeLinkId): Promise<boolean> {
  const used = await tx.row(sql`
    update one_time_links set used_at = now()
     where id = ${uuidOf(id)} and used_at is null and expires_at > now() returning id`)
  return used !== undefined
}

/** Ends the older invitations of an address, so that only the newest works. */
export async function endInvitationsOf(tx: Transaction, merchantId: MerchantId, email: string): Promise<void> {
  await tx.rows(sql`
    update one_time_links set used_at = now()
     where kind = 'invitation' and merchant_id = ${uuidOf(merchantId)} and email = ${email} and used_at is null`)
}

/** Locks the account, so that no reset link is created meanwhile. `createdBy` is a pattern of LIKE. */
export async function endResetsOf(tx: Transaction, memberId: MemberId, createdBy = '%'): Promise<void> {
  await lockMember(tx, memberId)
  await tx.rows(sql`
    update one_time_links set used_at = now()
     where kind = 'reset' and member_id = ${uuidOf(memberId)} and used_at is null and created_by like ${createdBy}`)
}

/** Ends the open links that a member created for this merchant: a removed member must not come back by one. */
export async function endLinksBy(tx: Transaction, merchantId: MerchantId, creator: MemberId): Promise<void> {
  await tx.rows(sql`
    update one_time_links set used_at = now()
     where used_at is null and split_part(created_by, ' ', 1) = ${`member:${creator}`}
       and (merchant_id = ${uuidOf(merchantId)} or kind = 'reset')`)
}

/** Withdraws an open invitation. Returns its e-mail address. */
export async function endInvitation(
  tx: Transaction,
  merchantId: MerchantId,
  id: OneTimeLinkId,
): Promise<string | undefined> {
  const row = await tx.row<{ email: string }>(sql`
    update one_time_links set used_at = now()
     where id = ${uuidOf(id)} and kind = 'invitation' and merchant_id = ${uuidOf(merchantId)}
       and used_at is null and expires_at > now() returning email`)
  return row?.email
}

export async function listInvitations(db: Queries, merchantId: MerchantId): Promise<OneTimeLink[]> {
  const rows = await db.rows<LinkRow>(sql`
    ${LINK} where l.kind = 'invitation' and l.merchant_id = ${uuidOf(merchantId)}
       and l.used_at is null and l.expires_at > now() order by l.id`)
  return rows.map((row) => linkOf(row))
}
