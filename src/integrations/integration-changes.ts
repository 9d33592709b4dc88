import type { MerchantId } from '../kernel/ids.ts'

/** The channel on which a process announces that a merchant's integrations changed. The payload is the merchant's uuid. */
export const INTEGRATIONS_CHANNEL = 'manilla_integrations'

/** Tells the caches of a process which of their entries are out of date. */
export interface IntegrationChanges {
  changed(merchantId: MerchantId): void
  /** Changes may have been missed, so everything that was read before is out of date. */
  missed(): void
  isStale(merchantId: MerchantId, readAtMs: number): boolean
}

const MAX_KEPT = 10_000

/** `nowMs` is the monotonic clock of the caches. */
export function integrationChanges(nowMs: () => number = () => performance.now()): IntegrationChanges {
  const changedAtMs = new Map<MerchantId, number>()
  let allChangedAtMs = Number.NEGATIVE_INFINITY

  return {
    changed(merchantId) {
      if (changedAtMs.size >= MAX_KEPT) {
        changedAtMs.clear()
        allChangedAtMs = nowMs()
      }
      changedAtMs.set(merchantId, nowMs())
    },
    missed() {
      allChangedAtMs = nowMs()
    },
    isStale: (merchantId, readAtMs) =>
      readAtMs <= Math.max(allChangedAtMs, changedAtMs.get(merchantId) ?? Number.NEGATIVE_INFINITY),
  }
}
