import type { Database } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { AnnouncedType } from '../events/event.ts'
import { newWebhookSecret, type WebhookSecret } from '../events/webhook-secret.ts'
import { findDefaultSecret, replaceDefaultSecret } from '../events/webhook-secret-store.ts'
import type { Clock } from '../kernel/clock.ts'
import { type EndpointId, newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { Owner, Scope } from '../kernel/scope.ts'
import type { SecretBox } from '../kernel/secret-box.ts'
import { type Endpoint, MAX_ENDPOINTS, ROTATION_HOURS } from './endpoint.ts'
import {
  endpointSecretContext,
  findEndpoint,
  insertEndpoint,
  lockEndpoints,
  markDeleted,
  replaceEndpointSecret,
  saveEndpoint,
} from './endpoint-store.ts'
import { notifyChanged } from './held-delivery-store.ts'
import { holdDeliveries } from './hold-deliveries.ts'

interface Parts {
  database: Database
  clock: Clock
  secrets: SecretBox
}

/** Its secret is shown only here and after a rotation. */
export function createEndpoint(
  parts: Parts,
  actor: string,
  owner: Owner,
  wanted: { url: string; events: AnnouncedType[]; enabled: boolean },
): Promise<{ endpoint: Endpoint; secret: WebhookSecret }> {
  const { database, clock, secrets } = parts
  return database.transaction(async (tx) => {
    const known = await lockEndpoints(tx, owner)
    if (known.length >= MAX_ENDPOINTS) {
      throw new Problem(
        'too_many_endpoints',
        `You have ${MAX_ENDPOINTS} webhook endpoints in this mode. Delete one first.`,
      )
    }
    const endpoint: Endpoint = {
      id: newId('endpoint', clock.now()),
      merchantId: owner.merchantId,
      mode: owner.mode,
      ...wanted,
      disabledReason: null,
      failingSince: null,
      createdAt: clock.now(),
    }
    const secret = newWebhookSecret()
    await insertEndpoint(tx, endpoint, secrets.seal(secret, endpointSecretContext(endpoint.id)))
    await recordAct(tx, { actor, act: 'webhook_endpoint.created', merchantId: owner.merchantId, subject: endpoint.id })
    return { endpoint, secret }
  })
}

export function changeEndpoint(
  parts: Parts,
  actor: string,
  owner: Scope,
  id: EndpointId,
  changes: Partial<Pick<Endpoint, 'url' | 'events' | 'enabled'>>,
): Promise<Endpoint> {
  return parts.database.transaction(async (tx) => {
    await lockEndpoints(tx, owner)
    const before = await own(findEndpoint(tx, owner, id))
    const enabled = changes.enabled ?? before.enabled
    const isNewStart = enabled && (!before.enabled || (changes.url !== undefined && changes.url !== before.url))
    const after: Endpoint = {
      ...before,
      ...changes,
      enabled,
      disabledReason: enabled ? null : (before.disabledReason ?? 'Switched off by the merchant.'),
      failingSince: isNewStart ? null : before.failingSince,
    }
    await saveEndpoint(tx, after)
    if (before.enabled && !after.enabled) await holdDeliveries(tx, owner.place, id)
    else if (before.url !== after.url) await notifyChanged(tx, id)
    await recordAct(tx, { actor, act: 'webhook_endpoint.changed', merchantId: owner.merchantId, subject: id })
    return after
  })
}

export function deleteEndpoint(parts: Parts, actor: string, owner: Scope, id: EndpointId): Promise<Endpoint> {
  return parts.database.transaction(async (tx) => {
    const endpoint = await own(findEndpoint(tx, owner, id))
    await markDeleted(tx, id)
    await holdDeliveries(tx, owner.place, id)
    await recordAct(tx, { actor, act: 'webhook_endpoint.deleted', merchantId: owner.merchantId, subject: id })
    return { ...endpoint, enabled: false }
  })
}

/** Both secrets sign for a day, so that a shop can change its secret at any time of that day. */
export function rotateEndpointSecret(
  parts: Parts,
  actor: string,
  owner: Owner,
  id: EndpointId,
): Promise<WebhookSecret> {
  const secret = newWebhookSecret()
  return parts.database.transaction(async (tx) => {
    await own(findEndpoint(tx, owner, id))
    await replaceEndpointSecret(tx, id, parts.secrets.seal(secret, endpointSecretContext(id)), ROTATION_HOURS)
    await recordAct(tx, { actor, act: 'webhook_endpoint.secret_rotated', merchantId: owner.merchantId, subject: id })
    return secret
  })
}

/** Rotates the secret for the `webhook` URLs that this merchant names in its requests. */
export function rotateDefaultSecret(parts: Parts, actor: string, owner: Owner): Promise<WebhookSecret> {
  const secret = newWebhookSecret()
  return parts.database.transaction(async (tx) => {
    await replaceDefaultSecret(tx, parts.secrets, owner, secret, { overlapHours: ROTATION_HOURS })
    await recordAct(tx, { actor, act: 'webhook_secret.rotated', merchantId: owner.merchantId, subject: owner.mode })
    return secret
  })
}

/** Sets a secret that an operator chose. The previous one signs as well for a day. */
export async function setDefaultSecret(parts: Parts, owner: Owner, secret: WebhookSecret): Promise<void> {
  if ((await findDefaultSecret(parts.database, parts.secrets, owner)) === secret) return
  await replaceDefaultSecret(parts.database, parts.secrets, owner, secret, { overlapHours: ROTATION_HOURS })
}

async function own(found: Promise<Endpoint | undefined>): Promise<Endpoint> {
  const endpoint = await found
  if (!endpoint) throw new Problem('not_found', 'You have no webhook endpoint with this id in this mode.')
  return endpoint
}
