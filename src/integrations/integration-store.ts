import type { Queries, Transaction, Writes } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import type { Channel } from '../kernel/channel.ts'
import type { Country } from '../kernel/country.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Currency } from '../kernel/money.ts'
import type { Owner } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import type { AccountOffers } from '../providers/capabilities.ts'
import {
  type Integration,
  type IntegrationRecord,
  MAX_PRIORITY,
  type RankedIntegration,
  withinOffers,
} from './integration.ts'
import { NO_KEYS } from './provider-keys.ts'
import { makeKeysCurrent, openSettings } from './provider-keys-store.ts'

/** PostgreSQL NOTIFY channel: a merchant's integrations changed. The payload is the merchant's UUID. */
export const INTEGRATIONS_CHANNEL = 'manilla_integrations'

/**
 * Adds a provider without settings, with the lowest priority. False when it exists already; it then stays unchanged.
 */
export async function addIntegration(
  tx: Transaction,
  { merchantId, mode }: Owner,
  { provider, channels, countries, currencies }: Integration,
): Promise<boolean> {
  const added = await tx.row(sql`
    insert into integrations (merchant_id, mode, provider, channels, countries, currencies, priority)
    values (${uuidOf(merchantId)}, ${mode}, ${provider}, ${channels}, ${countries}, ${currencies}, ${MAX_PRIORITY})
    on conflict (merchant_id, mode, provider) do nothing returning provider`)
  return added !== undefined
}

const RECORDS =
  new Fixed(`i.provider, i.channels, i.countries, i.currencies, i.priority, i.enabled, i.account, i.version, i.offers,
  i.created_at, i.updated_at, p.sealed_settings, p.base_url
  from integrations i left join provider_accounts p
    on p.merchant_id = i.merchant_id and p.mode = i.mode and p.provider = i.provider and p.version = i.account`)

interface IntegrationRow {
  provider: string
  channels: Channel[]
  countries: Country[]
  currencies: Currency[]
  priority: number
  sealed_settings: Buffer | null
  base_url: string | null
  enabled: boolean
  account: number
  version: number
  offers: AccountOffers | null
  created_at: Date
  updated_at: Date
}

function recordOf(secrets: SecretBox, owner: Owner, row: IntegrationRow): IntegrationRecord {
  const { provider, channels, countries, currencies, priority, enabled, account: keysVersion, version } = row
  return {
    provider,
    channels,
    countries,
    currencies,
    priority,
    settings: row.sealed_settings && openSettings(secrets, owner, provider, row.sealed_settings),
    baseURL: row.base_url,
    enabled,
    keysVersion,
    version,
    offers: row.offers,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export interface EnabledIntegration extends RankedIntegration {
  /** The version of the keys that new payments use. */
  keysVersion: number
  /** Incremented by each change. */
  version: number
}

/** In the order of use. */
export async function listEnabledIntegrations(db: Queries, { merchantId, mode }: Owner): Promise<EnabledIntegration[]> {
  const rows = await db.rows<EnabledIntegration>(sql`
    select provider, channels, countries, currencies, priority, settings_given as "settingsGiven", offers,
           account as "keysVersion", version
      from integrations
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and enabled
     order by priority, provider`)
  return rows.map(withinOffers)
}

/** Also finds a removed integration. */
export async function findIntegration(
  db: Queries,
  secrets: SecretBox,
  owner: Owner,
  provider: string,
): Promise<IntegrationRecord | undefined> {
  const row = await db.row<IntegrationRow>(sql`
    select ${RECORDS}
     where i.merchant_id = ${uuidOf(owner.merchantId)} and i.mode = ${owner.mode} and i.provider = ${provider}`)
  return row && recordOf(secrets, owner, row)
}

/** In the order of use; removed ones are last. */
export async function listIntegrations(db: Queries, secrets: SecretBox, owner: Owner): Promise<IntegrationRecord[]> {
  const rows = await db.rows<IntegrationRow>(sql`
    select ${RECORDS}
     where i.merchant_id = ${uuidOf(owner.merchantId)} and i.mode = ${owner.mode}
     order by not i.enabled, i.priority, i.provider`)
  return rows.map((row) => recordOf(secrets, owner, row))
}

/**
 * Serializes changes to a merchant's integrations. Locks the merchant's row, which exists before the first integration.
 * False: no such merchant.
 */
export async function lockIntegrations(tx: Transaction, { merchantId }: Owner): Promise<boolean> {
  const locked = await tx.row(sql`select id from merchants where id = ${uuidOf(merchantId)} for update`)
  return locked !== undefined
}

/** The caller holds the lock of `lockIntegrations`. */
export async function saveIntegration(
  tx: Transaction,
  secrets: SecretBox,
  owner: Owner,
  wanted: Omit<IntegrationRecord, 'keysVersion' | 'version' | 'offers' | 'createdAt' | 'updatedAt'>,
): Promise<IntegrationRecord> {
  const { provider, channels, countries, currencies, priority, settings, baseURL, enabled } = wanted
  const keysVersion = settings
    ? await makeKeysCurrent(tx, secrets, owner, provider, { settings, baseURL, enabled })
    : NO_KEYS
  const row = await tx.row<Pick<IntegrationRow, 'version' | 'offers' | 'created_at' | 'updated_at'>>(sql`
    insert into integrations as i
      (merchant_id, mode, provider, channels, countries, currencies, priority, settings_given, account, enabled)
    values (${uuidOf(owner.merchantId)}, ${owner.mode}, ${provider}, ${channels}, ${countries}, ${currencies},
            ${priority}, ${Object.keys(settings ?? {})}, ${keysVersion}, ${enabled})
    on conflict (merchant_id, mode, provider) do update
       set channels = excluded.channels, countries = excluded.countries, currencies = excluded.currencies,
           priority = excluded.priority, settings_given = excluded.settings_given, account = excluded.account, enabled = excluded.enabled,
           version = i.version + 1, updated_at = now()
    returning version, offers, created_at, updated_at`)
  tx.notify(INTEGRATIONS_CHANNEL, uuidOf(owner.merchantId))
  if (!row) throw new Error('the upsert of an integration returned no row')
  return {
    ...wanted,
    keysVersion,
    version: row.version,
    offers: row.offers,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export interface AccountKey {
  owner: Owner
  provider: string
}

/** For a provider with `offersOfAccount`: from now on what its account can do is read, again and again. */
export function offersDue(tx: Writes, { owner: { merchantId, mode }, provider }: AccountKey): void {
  tx.write(sql`
    update integrations set offers_due_at = now()
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}`)
}

/** The accounts whose offers are due. They are due again in a minute, if reading them fails. */
export async function claimDueOffers(db: Queries, limit: number): Promise<AccountKey[]> {
  const rows = await db.rows<{ merchant_id: string; mode: Mode; provider: string }>(sql`
    update integrations i set offers_due_at = now() + interval '1 minute'
      from (select merchant_id, mode, provider from integrations
             where enabled and offers_due_at <= now() limit ${limit} for update skip locked) due
     where (i.merchant_id, i.mode, i.provider) = (due.merchant_id, due.mode, due.provider)
    returning i.merchant_id, i.mode, i.provider`)
  return rows.map(({ merchant_id, mode, provider }) => ({
    owner: { merchantId: idOf('merchant', merchant_id), mode },
    provider,
  }))
}

/** `keysVersion`: of the account that was asked. When the keys were changed meanwhile, its answer is of no use. */
export async function saveOffers(
  db: Queries,
  { owner: { merchantId, mode }, provider }: AccountKey,
  keysVersion: number,
  offers: AccountOffers,
): Promise<void> {
  await db.rows(sql`
    update integrations set offers = ${JSON.stringify(offers)}::jsonb, offers_due_at = now() + interval '5 minutes'
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and account = ${keysVersion}`)
}
