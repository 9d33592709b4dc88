import type { MerchantId } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Place } from '../../kernel/place.ts'
import type { Facts, NoticeReading } from '../../providers/provider.ts'

/** A stored, verified notice (webhook) of a provider. */
export interface Notice {
  id: number
  place: Place
  merchantId: MerchantId
  mode: Mode
  provider: string
  /** The keys that signed it. */
  keysVersion: number
  receivedAt: Date
  /** The content as the adapter parsed it after the signature check. */
  reading: Exclude<NoticeReading, { kind: 'forged' | 'hint' | 'question' }>
}

export function factsOfReading(reading: Notice['reading']): Facts | undefined {
  if (reading.kind !== 'notice' || !(reading.facts ?? reading.personalFacts)) return undefined
  return { ...reading.facts, ...reading.personalFacts }
}

/** `waiting`: not processed yet. `unmatched`: it names no known order, and a person has to review it. */
export type NoticeState = 'waiting' | 'done' | 'ignored' | 'unmatched'

/** Unless the capabilities of the provider allow more. */
export const MAX_NOTICE_BYTES = 256 * 1024
