import type { Queries, Transaction } from '../database/database.ts'
import { Fixed, sql } from '../database/sql.ts'
import type { AnnouncedType } from '../events/event.ts'
import { type EndpointId, idOf, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Owner } from '../kernel/scope.ts'
import type { Endpoint } from './endpoint.ts'

const COLUMNS = new Fixed(
  'e.id, e.merchant_id, e.mode, e.url, e.events, e.enabled, e.disabled_reason, e.failing_since, e.created_at',
)

interface EndpointRow {
  id: string
  merchant_id: string
  mode: Mode
  url: string
  events: AnnouncedType[]
  enabled: boolean
  disabled_reason: string | null
  failing_since: Date | null
  created_at: Date
}

function endpointOf(row: EndpointRow): Endpoint {
  return {
    id: idOf('endpoint', row.id),
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    url: row.url,
    events: row.events,
    enabled: row.enabled,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since,
    createdAt: row.created_at,
  }
}

export const endpointSecretContext = (id: EndpointId) => `webhook_endpoints.sealed_secret:${id}`

export async function listEndpoints(db: Queries, owner: Owner): Promise<Endpoint[]> {
  const rows = await db.rows<EndpointRow>(sql`
    select ${COLUMNS} from webhook_endpoints e
     where merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode} and deleted_at is null order by id`)
  return rows.map(endpointOf)
}

/** Locked, so that changes of one merchant's endpoints are serialized. */
export async function lockEndpoints(tx: Transaction, owner: Owner): Promise<Endpoint[]> {
  await tx.rows(sql`select id from merchants where id = ${uuidOf(owner.merchantId)} for update`)
  return listEndpoints(tx, owner)
}

export async function findEndpoint(db: Queries, owner: Owner, id: EndpointId): Promise<Endpoint | undefined> {
  const row = await db.row<EndpointRow>(sql`
    select ${COLUMNS} from webhook_endpoints e
     where id = ${uuidOf(id)} and merchant_id = ${uuidOf(owner.merchantId)} and mode = ${owner.mode} and deleted_at is null`)
  return row && endpointOf(row)
}

export async function insertEndpoint(tx: Transaction, endpoint: Endpoint, sealedSecret: Buffer): Promise<void> {
  await tx.rows(sql`
    insert into webhook_endpoints (id, merchant_id, mode, url, events, enabled, sealed_secret, created_at)
    values (${uuidOf(endpoint.id)}, ${uuidOf(endpoint.merchantId)}, ${endpoint.mode}, ${endpoint.url}, ${endpoint.events},
            ${endpoint.enabled}, ${sealedSecret}, ${endpoint.createdAt})`)
}

export async function saveEndpoint(tx: Transaction, endpoint: Endpoint): Promise<void> {
  await tx.rows(sql`
    update webhook_endpoints
       set url = ${endpoint.url}, events = ${endpoint.events}, enabled = ${endpoint.enabled},
           disabled_reason = ${endpoint.disabledReason}, failing_since = ${endpoint.failingSince}
     where id = ${uuidOf(endpoint.id)}`)
}

export async function markDeleted(tx: Transaction, id: EndpointId): Promise<void> {
  await tx.rows(sql`update webhook_endpoints set deleted_at = now(), enabled = false where id = ${uuidOf(id)}`)
}

export async function replaceEndpointSecret(
  tx: Transaction,
  id: EndpointId,
  sealedSecret: Buffer,
  overlapHours: number,
): Promise<void> {
  await tx.rows(sql`
    update webhook_endpoints
       set sealed_previous_secret = sealed_secret, sealed_secret = ${sealedSecret},
           previous_until = now() + ${overlapHours}::double precision * interval '1 hour'
     where id = ${uuidOf(id)}`)
}

export async function findEndpointSecret(db: Queries, id: EndpointId): Promise<Buffer | undefined> {
  const row = await db.row<{ sealed_secret: Buffer }>(sql`
    select sealed_secret from webhook_endpoints where id = ${uuidOf(id)} and deleted_at is null`)
  return row?.sealed_secret
}

/**
 * A success ends a series of failures, a failure starts one. Returns the endpoints that have only failed for `maxDays`.
 */
export async function recordHealth(
  tx: Transaction,
  { healthy, failing, maxDays }: { healthy: EndpointId[]; failing: EndpointId[]; maxDays: number },
): Promise<EndpointId[]> {
  if (healthy.length > 0) {
    await tx.rows(sql`
      update webhook_endpoints set failing_since = null
       where id = any(${healthy.map(uuidOf)}::uuid[]) and failing_since is not null`)
  }
  if (failing.length === 0) return []
  const rows = await tx.rows<{ id: string; failing_since: Date; too_long: boolean }>(sql`
    update webhook_endpoints set failing_since = coalesce(failing_since, now())
     where id = any(${failing.map(uuidOf)}::uuid[]) and enabled
    returning id, failing_since, failing_since < now() - ${maxDays}::integer * interval '1 day' as too_long`)
  return rows.filter(({ too_long }) => too_long).map(({ id }) => idOf('endpoint', id))
}

/** Disables an endpoint with a reason. Returns its merchant, or undefined when it was disabled already. */
export async function disableEndpoint(
  tx: Transaction,
  id: EndpointId,
  reason: string,
): Promise<MerchantId | undefined> {
  const row = await tx.row<{ merchant_id: string }>(sql`
    update webhook_endpoints set enabled = false, disabled_reason = ${reason}
     where id = ${uuidOf(id)} and enabled returning merchant_id`)
  return row && idOf('merchant', row.merchant_id)
}
