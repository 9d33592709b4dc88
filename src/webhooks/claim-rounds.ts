import { type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'

/** Place and uuid of a merchant as one text, in the order in which merchants are claimed. */
export type MerchantKey = string

export function merchantKey(place: Place, uuid: string): MerchantKey {
  return `${String(place).padStart(4, '0')} ${uuid}`
}

export function splitKey(key: MerchantKey): { place: Place; uuid: string } {
  return { place: Number(key.slice(0, 4)), uuid: key.slice(5) }
}

const FIRST = merchantKey(0, '00000000-0000-0000-0000-000000000000')

/** The result of a claim. `idle`: destinations with nothing due. */
interface Claimed {
  deliveries: { place: Place; merchantId: MerchantId; destination: string }[]
  idle: unknown[]
}

/**
 * Round robin over merchants, and over the destinations of each merchant, so that neither a merchant with many destinations nor a
 * destination with many deliveries delays the others.
 */
export class ClaimRounds {
  /** The next claim starts after this merchant. */
  after: MerchantKey = FIRST
  /** The next claim starts after this destination, for merchants with more destinations than one claim may take. */
  readonly past = new Map<MerchantKey, string>()
  maxDestinations: number
  readonly #max: number
  readonly #perMerchant: number

  constructor(limits: { maxDestinations: number; perMerchant: number }) {
    this.maxDestinations = limits.maxDestinations
    this.#max = limits.maxDestinations
    this.#perMerchant = limits.perMerchant
  }

  get perMerchant(): number {
    return Math.min(this.#perMerchant, this.maxDestinations)
  }

  /** Returns whether another claim may find more. */
  advance({ deliveries, idle }: Claimed): boolean {
    const byMerchant = new Map<MerchantKey, Set<string>>()
    for (const { place, merchantId, destination } of deliveries) {
      const merchant = merchantKey(place, uuidOf(merchantId))
      byMerchant.set(merchant, (byMerchant.get(merchant) ?? new Set()).add(destination))
    }
    const count = [...byMerchant.values()].reduce((sum, { size }) => sum + size, idle.length)
    const isFull = count >= this.maxDestinations
    const last = [...byMerchant.keys()].sort().at(-1)
    const isMidway = this.after !== FIRST || this.past.size > 0
    for (const merchant of [...this.past.keys()])
      if (merchant > this.after && !(isFull && last && merchant > last)) this.past.delete(merchant)
    // Deliveries are in the order of their destinations.
    for (const [merchant, destinations] of byMerchant)
      if (destinations.size >= this.perMerchant) this.past.set(merchant, [...destinations].at(-1) as string)
    this.after = isFull && last ? last : FIRST
    this.maxDestinations = Math.min(this.maxDestinations * 2, this.#max)
    return isFull || isMidway || this.past.size > 0
  }

  /** After a failed claim, which may have reached the statement timeout, the next one is smaller. */
  shrink(): void {
    this.maxDestinations = Math.max(1, Math.floor(this.maxDestinations / 4))
  }
}
