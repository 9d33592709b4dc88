import type { DeliveryId, EndpointId, EventId, MerchantId } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'

/** One event on its way to one place. It has tries; attempts are for payments. */
export interface Delivery {
  id: DeliveryId
  eventId: EventId
  merchantId: MerchantId
  mode: Mode
  endpointId: EndpointId | null
  url: string
  destination: string
  tries: number
  /** Of these, in rounds before somebody asked for it to be sent again. */
  triesBefore: number
}

export type DeliveryState = 'waiting' | 'delivered' | 'exhausted' | 'disabled'

export type Answer =
  | { kind: 'answer'; status: number; retryAfterSeconds: number | null; excerpt: string; tookMs: number }
  | { kind: 'failed'; because: string; detail: string; tookMs: number }

/** What follows from a try. */
export interface Verdict {
  state: DeliveryState
  /** Until the next try. */
  waitSeconds: number
  /** The endpoint said that it is gone for good. */
  gone: boolean
}

const SECOND = 1
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** Waits between tries: the first try at once, the tenth about 75 hours after it. */
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
const MOST_RETRY_AFTER = HOUR

/** `number`: which try this was, from 1. `chance`: 0 to 1, spreads the next tries of many who failed together. */
export function judge(answer: Answer, number: number, chance: number): Verdict {
  if (answer.kind === 'answer' && answer.status >= 200 && answer.status < 300) {
    return { state: 'delivered', waitSeconds: 0, gone: false }
  }
  const gone = answer.kind === 'answer' && answer.status === 410
  const wait = WAITS[number - 1]
  if (gone || wait === undefined) return { state: 'exhausted', waitSeconds: 0, gone }
  const spread = wait * (0.9 + 0.2 * chance)
  // It may ask for more patience, not for less.
  const asked =
    answer.kind === 'answer' && (answer.status === 429 || answer.status === 503) ? (answer.retryAfterSeconds ?? 0) : 0
  return { state: 'waiting', waitSeconds: Math.max(spread, Math.min(asked, MOST_RETRY_AFTER)), gone: false }
}
