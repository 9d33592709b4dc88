import type { Queries, Transaction } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import type { Country } from '../kernel/country.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Currency } from '../kernel/money.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import {
  type Channel,
  type Integration,
  type IntegrationOwner,
  type IntegrationRecord,
  MAX_PRIORITY,
} from './integration.ts'

/** What can take money for the `owner` (merchant_id, mode) of the statement around it, first come first. */
export const OWNERS_INTEGRATIONS = new Fixed(`(select coalesce(json_agg(json_build_object(
            'provider', i.provider, 'channels', i.channels, 'countries', i.countries,
            'currencies', i.currencies, 'priority', i.priority) order by i.priority, i.provider), '[]')
     from integrations i
    where i.merchant_id = owner.merchant_id and i.mode = owner.mode and i.enabled)`)

/** For a provider that needs no settings, and so moves no money. It comes last: whoever sets up another means to use that. False when it is already there; it is then left as it is. */
export async function addIntegration(
  tx: Transaction,
  { merchantId, mode }: IntegrationOwner,
  { provider, channels, countries, currencies }: Integration,
): Promise<boolean> {
  const added = await tx.row(sql`
    insert into integrations (merchant_id, mode, provider, channels, countries, currencies, priority)
    values (${uuidOf(merchantId)}, ${mode}, ${provider}, ${channels}, ${countries}, ${currencies}, ${MAX_PRIORITY})
    on conflict (merchant_id, mode, provider) do nothing returning provider`)
  return added !== undefined
}

const COLUMNS = new Fixed(`i.provider, i.channels, i.countries, i.currencies, i.priority, i.sealed_settings, i.base_url,
  i.enabled, i.version, i.created_at, i.updated_at`)

interface IntegrationRow {
  provider: string
  channels: Channel[]
  countries: Country[]
  currencies: Currency[]
  priority: number
  sealed_settings: Buffer | null
  base_url: string | null
  enabled: boolean
  version: number
  created_at: Date
  updated_at: Date
}

/** Where settings are sealed for: copied to another merchant, mode or provider they do not open. */
const settingsPlace = ({ merchantId, mode }: IntegrationOwner, provider: string) =>
  `integrations.sealed_settings:${merchantId}:${mode}:${provider}`

function recordOf(secrets: SecretBox, owner: IntegrationOwner, row: IntegrationRow): IntegrationRecord {
  const { provider, channels, countries, currencies, priority, enabled, version } = row
  const opened = row.sealed_settings && secrets.open(row.sealed_settings, settingsPlace(owner, provider))
  return {
    provider,
    channels,
    countries,
    currencies,
    priority,
    settings: opened === null ? null : JSON.parse(opened),
    baseURL: row.base_url,
    enabled,
    version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Asked before each use of a connection, so it is one look into the primary key. */
export async function findIntegrationVersion(
  db: Queries,
  { merchantId, mode }: IntegrationOwner,
  provider: string,
): Promise<number | undefined> {
  const row = await db.row<{ version: number }>(sql`
    select version from integrations
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}`)
  return row?.version
}

/** Removed ones, too. */
export async function findIntegration(
  db: Queries,
  secrets: SecretBox,
  owner: IntegrationOwner,
  provider: string,
): Promise<IntegrationRecord | undefined> {
  const row = await db.row<IntegrationRow>(sql`
    select ${COLUMNS} from integrations i
     where i.merchant_id = ${uuidOf(owner.merchantId)} and i.mode = ${owner.mode} and i.provider = ${provider}`)
  return row && recordOf(secrets, owner, row)
}

/** In the order in which they are asked; removed ones are last. */
export async function listIntegrations(
  db: Queries,
  secrets: SecretBox,
  owner: IntegrationOwner,
): Promise<IntegrationRecord[]> {
  const rows = await db.rows<IntegrationRow>(sql`
    select ${COLUMNS} from integrations i
     where i.merchant_id = ${uuidOf(owner.merchantId)} and i.mode = ${owner.mode}
     order by not i.enabled, i.priority, i.provider`)
  return rows.map((row) => recordOf(secrets, owner, row))
}

/** Two changes of one merchant's integrations come one after the other, also when there is nothing yet to lock. False: no such merchant. */
export async function lockIntegrations(tx: Transaction, { merchantId }: IntegrationOwner): Promise<boolean> {
  const locked = await tx.row(sql`select id from merchants where id = ${uuidOf(merchantId)} for update`)
  return locked !== undefined
}

/** Whoever calls this holds the lock. */
export async function saveIntegration(
  tx: Transaction,
  secrets: SecretBox,
  owner: IntegrationOwner,
  wanted: Omit<IntegrationRecord, 'version' | 'createdAt' | 'updatedAt'>,
): Promise<IntegrationRecord> {
  const { provider, channels, countries, currencies, priority, settings, baseURL, enabled } = wanted
  const sealed = settings && secrets.seal(JSON.stringify(settings), settingsPlace(owner, provider))
  const row = await tx.row<IntegrationRow>(sql`
    insert into integrations as i
      (merchant_id, mode, provider, channels, countries, currencies, priority, sealed_settings, base_url, enabled)
    values (${uuidOf(owner.merchantId)}, ${owner.mode}, ${provider}, ${channels}, ${countries}, ${currencies},
            ${priority}, ${sealed}, ${baseURL}, ${enabled})
    on conflict (merchant_id, mode, provider) do update
       set channels = excluded.channels, countries = excluded.countries, currencies = excluded.currencies,
           priority = excluded.priority, sealed_settings = excluded.sealed_settings, base_url = excluded.base_url,
           enabled = excluded.enabled, version = i.version + 1, updated_at = now()
    returning ${COLUMNS}`)
  return recordOf(secrets, owner, row as IntegrationRow)
}
