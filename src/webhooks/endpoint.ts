import type { AnnouncedType } from '../events/event.ts'
import type { EndpointId, MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'

/** Where a merchant wants to hear of its payments, besides each payment's own `webhook`. */
export interface Endpoint {
  id: EndpointId
  merchantId: MerchantId
  mode: Mode
  url: string
  /** Empty: all of them. */
  events: AnnouncedType[]
  enabled: boolean
  disabledReason: string | null
  failingSince: Date | null
  createdAt: Date
}

export const MAX_ENDPOINTS = 16

/** How long both secrets sign after a rotation. */
export const ROTATION_HOURS = 24

/** What a merchant may see of an endpoint; its secret is shown when it is made or rotated, and never again. */
export function endpointView({ id, url, events, enabled, disabledReason, failingSince, createdAt }: Endpoint) {
  return {
    id,
    url,
    events,
    enabled,
    disabledReason,
    failingSince: failingSince?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  }
}
