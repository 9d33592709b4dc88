import { type MerchantId, uuidOf } from '../kernel/ids.ts'

const FIRST_UUID = '00000000-0000-0000-0000-000000000000'

/** The result of a claim. `idle`: destinations with nothing due. */
interface Claimed {
  deliveries: { merchantId: MerchantId; destination: string }[]
  idle: string[]
}

/**
 * Round robin over merchants, and over the destinations of each merchant, so that neither a merchant with many destinations nor a
 * destination with many deliveries delays the others.
 */
export class ClaimRounds {
  /** The next claim starts after this merchant, by uuid. */
  after = FIRST_UUID
  /** The next claim starts after this destination, for merchants with more destinations than one claim may take. */
  readonly past = new Map<string, string>()
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
    const byMerchant = new Map<string, Set<string>>()
    for (const { merchantId, destination } of deliveries) {
      const merchant = uuidOf(merchantId)
      byMerchant.set(merchant, (byMerchant.get(merchant) ?? new Set()).add(destination))
    }
    const count = [...byMerchant.values()].reduce((sum, { size }) => sum + size, idle.length)
    const isFull = count >= this.maxDestinations
    const last = [...byMerchant.keys()].sort().at(-1)
    const isMidway = this.after !== FIRST_UUID || this.past.size > 0
    for (const merchant of [...this.past.keys()])
      if (merchant > this.after && !(isFull && last && merchant > last)) this.past.delete(merchant)
    // Deliveries are in the order of their destinations.
    for (const [merchant, destinations] of byMerchant)
      if (destinations.size >= this.perMerchant) this.past.set(merchant, [...destinations].at(-1) as string)
    this.after = isFull && last ? last : FIRST_UUID
    this.maxDestinations = Math.min(this.maxDestinations * 2, this.#max)
    return isFull || isMidway || this.past.size > 0
  }

  /** After a failed claim, which may have reached the statement timeout, the next one is smaller. */
  shrink(): void {
    this.maxDestinations = Math.max(1, Math.floor(this.maxDestinations / 4))
  }
}
