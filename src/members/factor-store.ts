import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, type MemberId, type PasskeyId, uuidOf } from '../kernel/ids.ts'

export interface Passkey {
  id: PasskeyId
  memberId: MemberId
  credentialId: string
  publicKey: Buffer
  counter: number
  transports: string[]
  name: string
  createdAt: Date
  lastUsedAt: Date | null
}

interface PasskeyRow {
  id: string
  member_id: string
  credential_id: string
  public_key: Buffer
  counter: number
  transports: string[]
  name: string
  created_at: Date
  last_used_at: Date | null
}

function passkeyOf(row: PasskeyRow): Passkey {
  return {
    id: idOf('passkey', row.id),
    memberId: idOf('member', row.member_id),
    credentialId: row.credential_id,
    publicKey: row.public_key,
    counter: row.counter,
    transports: row.transports,
    name: row.name,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  }
}

export async function findPasskey(db: Queries, credentialId: string): Promise<Passkey | undefined> {
  const row = await db.row<PasskeyRow>(sql`
    select id, member_id, credential_id, public_key, counter, transports, name, created_at, last_used_at
      from passkeys where credential_id = ${credentialId}`)
  return row && passkeyOf(row)
}

export async function listPasskeys(db: Queries, memberId: MemberId): Promise<Passkey[]> {
  const rows = await db.rows<PasskeyRow>(sql`
    select id, member_id, credential_id, public_key, counter, transports, name, created_at, last_used_at
      from passkeys where member_id = ${uuidOf(memberId)} order by id`)
  return rows.map(passkeyOf)
}

/** False when the credential is known already. */
export async function insertPasskey(
  tx: Transaction,
  passkey: Omit<Passkey, 'createdAt' | 'lastUsedAt'>,
): Promise<boolean> {
  const { id, memberId, credentialId, publicKey, counter, transports, name } = passkey
  const inserted = await tx.row(sql`
    insert into passkeys (id, member_id, credential_id, public_key, counter, transports, name)
    values (${uuidOf(id)}, ${uuidOf(memberId)}, ${credentialId}, ${publicKey}, ${counter}, ${transports}, ${name})
    on conflict (credential_id) do nothing returning id`)
  return inserted !== undefined
}

/** False when the challenge was used before. */
export async function useChallenge(db: Queries, { digest, expiresAt }: UsedChallenge): Promise<boolean> {
  const isNew = await db.row(sql`
    insert into used_challenges (digest, expires_at) values (${digest}, ${expiresAt})
    on conflict do nothing returning digest`)
  return isNew !== undefined
}

export interface UsedChallenge {
  digest: Buffer
  expiresAt: Date
}

/** False when the challenge of this signature was used before, or the counter has not grown (a copied passkey). */
export async function recordPasskeyUse(
  tx: Transaction,
  id: PasskeyId,
  use: { counter: number; challenge: UsedChallenge },
): Promise<boolean> {
  if (!(await useChallenge(tx, use.challenge))) return false
  const used = await tx.row(sql`
    update passkeys set counter = ${use.counter}, last_used_at = now()
     where id = ${uuidOf(id)} and (counter < ${use.counter} or (counter = 0 and ${use.counter} = 0)) returning id`)
  return used !== undefined
}

export async function deletePasskey(tx: Transaction, memberId: MemberId, id: PasskeyId): Promise<boolean> {
  const deleted = await tx.row(sql`
    delete from passkeys where id = ${uuidOf(id)} and member_id = ${uuidOf(memberId)} returning id`)
  return deleted !== undefined
}

export async function findTotp(
  db: Queries,
  memberId: MemberId,
): Promise<{ secret: Buffer | null; pending: Buffer | null } | undefined> {
  return db.row(sql`
    select totp_secret as secret, totp_pending as pending from members where id = ${uuidOf(memberId)}`)
}

export async function savePendingTotp(tx: Transaction, memberId: MemberId, sealed: Buffer): Promise<void> {
  await tx.rows(sql`update members set totp_pending = ${sealed} where id = ${uuidOf(memberId)}`)
}

/** Makes the pending secret the one that counts. */
export async function confirmTotp(
  tx: Transaction,
  memberId: MemberId,
  pending: Buffer,
  step: number,
): Promise<boolean> {
  const updated = await tx.row(sql`
    update members set totp_secret = totp_pending, totp_pending = null, totp_last_step = ${step}
     where id = ${uuidOf(memberId)} and totp_pending = ${pending} returning id`)
  return updated !== undefined
}

/** False when a code of this time step, or of a later one, was accepted before. */
export async function useTotpStep(db: Queries, memberId: MemberId, step: number): Promise<boolean> {
  const updated = await db.row(sql`
    update members set totp_last_step = ${step}
     where id = ${uuidOf(memberId)} and totp_last_step < ${step} returning id`)
  return updated !== undefined
}

export async function deleteTotp(tx: Transaction, memberId: MemberId): Promise<void> {
  await tx.rows(sql`update members set totp_secret = null, totp_pending = null where id = ${uuidOf(memberId)}`)
  await tx.rows(sql`delete from recovery_codes where member_id = ${uuidOf(memberId)}`)
}

export async function deletePasskeys(tx: Transaction, memberId: MemberId): Promise<void> {
  await tx.rows(sql`delete from passkeys where member_id = ${uuidOf(memberId)}`)
}

export async function replaceRecoveryCodes(tx: Transaction, memberId: MemberId, digests: Buffer[]): Promise<void> {
  await tx.rows(sql`delete from recovery_codes where member_id = ${uuidOf(memberId)}`)
  await tx.rows(sql`
    insert into recovery_codes (member_id, digest)
    select ${uuidOf(memberId)}::uuid, digest from unnest(${digests}::bytea[]) as d (digest)`)
}

/** False when the code is wrong or was used. */
export async function useRecoveryCode(db: Queries, memberId: MemberId, digest: Buffer): Promise<boolean> {
  const used = await db.row(sql`
    delete from recovery_codes where member_id = ${uuidOf(memberId)} and digest = ${digest} returning digest`)
  return used !== undefined
}

export async function countRecoveryCodes(db: Queries, memberId: MemberId): Promise<number> {
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from recovery_codes where member_id = ${uuidOf(memberId)}`)
  return row?.count ?? 0
}
