import type { EndpointId, EventId, MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Place } from '../kernel/place.ts'
import type { WebhookAnswer } from '../outbound/webhook-http.ts'

/** The delivery of one event to one URL. It has tries; the word attempt is reserved for payments. */
export interface Delivery {
  /** The id as the database stores it. It is never shown, so it is not converted. */
  uuid: string
  place: Place
  eventId: EventId
  merchantId: MerchantId
  mode: Mode
  endpointId: EndpointId | null
  url: string
  destination: string
  tries: number
  /** How many of the tries were made before the event was last redelivered on request. */
  triesBefore: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'exhausted' | 'disabled'

/** The consequence of a try. */
export interface Verdict {
  state: DeliveryState
  /** Until the next try. */
  waitSeconds: number
  /** The endpoint answered 410 Gone. */
  gone: boolean
}

const SECOND = 1
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Exponential backoff between tries: the first try is made at once, the tenth about 75 hours later. */
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
const MAX_RETRY_AFTER = HOUR

/**
 * `number`: which try this was, from 1. `chance`: 0 to 1, for the jitter that spreads the retries of deliveries that
 * failed together.
 */
export function judge(answer: WebhookAnswer, number: number, chance: number): Verdict {
  if (answer.kind === 'answer' && answer.status >= 200 && answer.status < 300) {
    return { state: 'delivered', waitSeconds: 0, gone: false }
  }
  const gone = answer.kind === 'answer' && answer.status === 410
  const wait = WAITS[number - 1]
  if (gone || wait === undefined) return { state: 'exhausted', waitSeconds: 0, gone }
  const withJitter = wait * (0.9 + 0.2 * chance)
  // Retry-After can lengthen a wait, not shorten it.
  const asked =
    answer.kind === 'answer' && (answer.status === 429 || answer.status === 503) ? (answer.retryAfterSeconds ?? 0) : 0
  return { state: 'waiting', waitSeconds: Math.max(withJitter, Math.min(asked, MAX_RETRY_AFTER)), gone: false }
}
