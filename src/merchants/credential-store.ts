import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { type CredentialLimits, EXPIRES_SOON_DAYS } from './credential-limits.ts'
import type { CredentialScope } from './credential-scopes.ts'
import type { Caller } from './merchant.ts'

export interface KnownCredential {
  digest: Buffer
  caller: Caller
  limits: CredentialLimits
  /** By the clock of the database; null: it does not expire. */
  expiresInMs: number | null
}

interface LimitsRow {
  scopes: CredentialScope[]
  expires_at: Date | null
  allowed_addresses: string[]
}

function limitsOf({ scopes, expires_at, allowed_addresses }: LimitsRow): CredentialLimits {
  return { scopes, expiresAt: expires_at, allowedAddresses: allowed_addresses }
}

/** A credential that is not revoked, with its merchant's status. */
export async function findLiveCredential(db: Queries, clientId: string): Promise<KnownCredential | undefined> {
  const row = await db.row<
    LimitsRow & {
      merchant_id: string
      place: number
      mode: Mode
      secret_digest: Buffer
      status: string
      name: string
      expires_in_ms: number | null
    }
  >(sql`
    select c.merchant_id, m.place, c.mode, c.secret_digest, m.status, m.name, c.scopes, c.expires_at, c.allowed_addresses,
           extract(epoch from c.expires_at - now())::float8 * 1000 as expires_in_ms
      from credentials c join merchants m on m.id = c.merchant_id
     where c.client_id = ${clientId} and c.revoked_at is null`)
  if (!row) return undefined
  const caller = {
    actor: `credential:${clientId}`,
    merchantId: idOf('merchant', row.merchant_id),
    place: row.place,
    mode: row.mode,
    suspended: row.status === 'suspended',
    merchantName: row.name,
  }
  return { digest: row.secret_digest, caller, limits: limitsOf(row), expiresInMs: row.expires_in_ms }
}

/** Those that work for more than a day, and all that were made in the last 24 hours. */
export async function countCredentials(
  tx: Transaction,
  merchantId: MerchantId,
  mode: Mode,
): Promise<{ live: number; madeToday: number }> {
  const row = await tx.row<{ live: number; made_today: number }>(sql`
    select count(*) filter (where revoked_at is null and (expires_at is null or expires_at > now() + interval '1 day'))::int as live,
           count(*) filter (where created_at > now() - interval '1 day')::int as made_today
      from credentials where merchant_id = ${uuidOf(merchantId)} and mode = ${mode}`)
  return { live: row?.live ?? 0, madeToday: row?.made_today ?? 0 }
}

/** False when the client id is taken. */
export async function insertCredential(
  tx: Transaction,
  credential: { clientId: string; merchantId: MerchantId; mode: Mode; digest: Buffer; limits: CredentialLimits },
): Promise<boolean> {
  const { clientId, merchantId, mode, digest, limits } = credential
  const inserted = await tx.row(sql`
    insert into credentials (client_id, merchant_id, mode, secret_digest, scopes, expires_at, allowed_addresses)
    values (${clientId}, ${uuidOf(merchantId)}, ${mode}, ${digest}, ${limits.scopes}, ${limits.expiresAt}, ${limits.allowedAddresses})
    on conflict (client_id) do nothing returning client_id`)
  return inserted !== undefined
}

export async function updateCredentialDigest(
  tx: Transaction,
  clientId: string,
  merchantId: MerchantId,
  digest: Buffer,
): Promise<boolean> {
  const updated = await tx.row(sql`
    update credentials set secret_digest = ${digest}
     where client_id = ${clientId} and merchant_id = ${uuidOf(merchantId)} and secret_digest <> ${digest}
    returning client_id`)
  return updated !== undefined
}

export async function markUsed(db: Queries, clientId: string): Promise<void> {
  await db.rows(sql`
    update credentials set last_used_at = now()
     where client_id = ${clientId} and (last_used_at is null or last_used_at < now() - interval '1 minute')`)
}

export async function markRevoked(tx: Transaction, clientId: string): Promise<MerchantId | undefined> {
  const row = await tx.row<{ merchant_id: string }>(sql`
    update credentials set revoked_at = now() where client_id = ${clientId} and revoked_at is null returning merchant_id`)
  return row && idOf('merchant', row.merchant_id)
}

/** For a credential that another one replaces. False when there is no such one that is not revoked. */
export async function expireInADay(
  tx: Transaction,
  clientId: string,
  merchantId: MerchantId,
  mode: Mode,
): Promise<boolean> {
  const row = await tx.row(sql`
    update credentials set expires_at = least(expires_at, now() + interval '1 day')
     where client_id = ${clientId} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and revoked_at is null
    returning client_id`)
  return row !== undefined
}

export interface CredentialSummary extends CredentialLimits {
  clientId: string
  merchantId: MerchantId
  merchantName: string
  mode: Mode
  createdAt: Date
  lastUsedAt: Date | null
  revokedAt: Date | null
  /** Counted from the clock of the database. False for one that is revoked or has expired. */
  expiresSoon: boolean
  hasExpired: boolean
}

export async function listCredentials(db: Queries, merchantId: MerchantId | undefined): Promise<CredentialSummary[]> {
  const rows = await db.rows<
    LimitsRow & {
      client_id: string
      merchant_id: string
      name: string
      mode: Mode
      created_at: Date
      last_used_at: Date | null
      revoked_at: Date | null
      expires_soon: boolean
      has_expired: boolean
    }
  >(sql`
    select c.client_id, c.merchant_id, m.name, c.mode, c.created_at, c.last_used_at, c.revoked_at, c.scopes, c.expires_at, c.allowed_addresses,
           coalesce(c.expires_at <= now(), false) as has_expired,
           coalesce(c.revoked_at is null and c.expires_at > now()
                    and c.expires_at <= now() + ${EXPIRES_SOON_DAYS}::float8 * interval '1 day', false) as expires_soon
      from credentials c join merchants m on m.id = c.merchant_id
     where ${merchantId ? uuidOf(merchantId) : null}::uuid is null or c.merchant_id = ${merchantId ? uuidOf(merchantId) : null}::uuid
     order by c.created_at`)
  return rows.map((row) => ({
    clientId: row.client_id,
    merchantId: idOf('merchant', row.merchant_id),
    merchantName: row.name,
    mode: row.mode,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
    ...limitsOf(row),
    expiresSoon: row.expires_soon,
    hasExpired: row.has_expired,
  }))
}
