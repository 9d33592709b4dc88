import type { Database } from '../database/database.ts'
import type { MerchantId } from '../kernel/ids.ts'
import { MODES } from '../kernel/mode.ts'
import { refreshingCache } from '../kernel/refreshing-cache.ts'
import type { Owner } from '../kernel/scope.ts'
import { type EnabledIntegration, listEnabledIntegrations } from './integration-store.ts'

/** A scope's enabled integrations, at most 2 s old. A notification on INTEGRATIONS_CHANNEL invalidates them at once. */
export interface IntegrationCache {
  get(scope: Owner): Promise<EnabledIntegration[]> | EnabledIntegration[]
  invalidate(merchantId: MerchantId): void
  /** After a lost connection: notifications may have been missed. */
  invalidateAll(): void
}

/** `nowMs` is a monotonic clock. */
export function integrationCache(database: Database, nowMs?: () => number): IntegrationCache {
  const cache = refreshingCache<Owner, EnabledIntegration[]>({
    read: (scope) => listEnabledIntegrations(database, scope),
    nameOf: ({ merchantId, mode }) => `${mode} ${merchantId}`,
    nowMs,
  })
  return {
    get: cache.get,
    invalidate: (merchantId) => {
      for (const mode of MODES) cache.delete({ merchantId, mode })
    },
    invalidateAll: cache.clear,
  }
}
