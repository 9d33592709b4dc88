import { isDeepStrictEqual } from 'node:util'
import type { Queries, Transaction } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { NO_KEYS, type ProviderKeys } from './provider-keys.ts'

/** Associated data of the encryption: settings copied to another merchant, mode or provider cannot be decrypted. */
export const settingsContext = ({ merchantId, mode }: Owner, provider: string) =>
  `integrations.sealed_settings:${merchantId}:${mode}:${provider}`

export function openSettings(
  secrets: SecretBox,
  owner: Owner,
  provider: string,
  sealed: Buffer,
): Record<string, string> {
  return JSON.parse(secrets.open(sealed, settingsContext(owner, provider)))
}

/** The version of the keys that new payments use. Also for a removed integration. */
export async function findCurrentKeysVersion(
  db: Queries,
  { merchantId, mode }: Owner,
  provider: string,
): Promise<number> {
  const row = await db.row<{ account: number }>(sql`
    select account from integrations
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}`)
  return row?.account ?? NO_KEYS
}

/** Undefined when the version does not exist or its keys are deleted. */
export async function findKeys(
  db: Queries,
  secrets: SecretBox,
  owner: Owner,
  provider: string,
  version: number,
): Promise<ProviderKeys | undefined> {
  const row = await db.row<{ sealed_settings: Buffer; base_url: string | null }>(sql`
    select sealed_settings, base_url from provider_accounts
     where merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode} and provider = ${provider}
       and version = ${version} and sealed_settings is not null`)
  return (
    row && { version, settings: openSettings(secrets, owner, provider, row.sealed_settings), baseURL: row.base_url }
  )
}

/** Versions of the keys that may have signed a notice: the current one, then the newest retired ones. */
export async function listKeysVersions(
  db: Queries,
  { merchantId, mode }: Owner,
  provider: string,
  limit: number,
): Promise<number[]> {
  const row = await db.row<{ current: number; kept: number[] }>(sql`
    select coalesce((select account from integrations
                      where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}), 0) as current,
           array(select version from provider_accounts
                  where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
                    and sealed_settings is not null order by version desc limit ${limit}) as kept`)
  const { current = NO_KEYS, kept = [] } = row ?? {}
  return [current, ...kept.filter((version) => version !== current)].slice(0, limit)
}

/**
 * Makes these keys the current ones and retires the others. Keys that were set before get their old version again. The
 * caller holds the lock of the merchant's integrations.
 */
export async function makeKeysCurrent(
  tx: Transaction,
  secrets: SecretBox,
  owner: Owner,
  provider: string,
  wanted: Omit<ProviderKeys, 'version'> & { enabled: boolean },
): Promise<number> {
  const { settings, baseURL, enabled } = wanted
  const rows = await tx.rows<{ version: number; sealed_settings: Buffer | null; base_url: string | null }>(sql`
    select version, sealed_settings, base_url from provider_accounts
     where merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode} and provider = ${provider}
     order by version desc`)
  const same = rows.find(
    ({ sealed_settings: sealed, base_url }) =>
      sealed !== null &&
      base_url === baseURL &&
      isDeepStrictEqual(openSettings(secrets, owner, provider, sealed), settings),
  )
  const version = same?.version ?? (rows[0]?.version ?? NO_KEYS) + 1
  if (!same) {
    const sealed = secrets.seal(JSON.stringify(settings), settingsContext(owner, provider))
    await tx.rows(sql`
      insert into provider_accounts (merchant_id, mode, provider, version, sealed_settings, base_url)
      values (${uuidOf(owner.merchantId)}, ${owner.mode}, ${provider}, ${version}, ${sealed}, ${baseURL})`)
  }
  await tx.rows(sql`
    update provider_accounts
       set retired_at = case when version = ${version} and ${enabled} then null else coalesce(retired_at, now()) end
     where merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode} and provider = ${provider}`)
  return version
}
