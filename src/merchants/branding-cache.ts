import type { Database } from '../database/database.ts'
import { refreshingCache } from '../kernel/refreshing-cache.ts'
import type { Owner } from '../kernel/scope.ts'
import type { Branding } from './branding.ts'
import { findBranding } from './branding-store.ts'

export type FindBranding = (scope: Owner) => Promise<Branding | undefined> | Branding | undefined

/** Every page view needs the branding. A change is visible everywhere within 2 s. */
export function brandingCache(database: Database, nowMs?: () => number): FindBranding {
  const cache = refreshingCache<Owner, Branding | undefined>({
    read: ({ merchantId, mode }) => findBranding(database, merchantId, mode),
    nameOf: ({ merchantId, mode }) => `${mode} ${merchantId}`,
    nowMs,
  })
  return cache.get
}
