import type { AnnouncedType } from '../events/event.ts'
import type { EndpointId, MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'

/** A webhook endpoint that a merchant configured. Payments can name a `webhook` of their own besides. */
export interface Endpoint {
  id: EndpointId
  merchantId: MerchantId
  mode: Mode
  url: string
  /** Empty: all event types. */
  events: AnnouncedType[]
  enabled: boolean
  disabledReason: string | null
  failingSince: Date | null
  createdAt: Date
}

export const MAX_ENDPOINTS = 16

/** How long both secrets sign after a rotation. */
export const ROTATION_HOURS = 24

/** The fields that a merchant may see. The secret is shown only when it is created or rotated. */
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
