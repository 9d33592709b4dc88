import { setTimeout as pause } from 'node:timers/promises'
import { Visit } from '../provider-chaos/customers.ts'
import { type Random, randomOf } from '../random.ts'
import type { Market } from '../whole-payments/market.ts'

const PROBE_EVERY_MS = 250
const REFUNDED = 0.3
const STEADY_MS = 3_000
/** Longer than the target: a slow round is measured to its end, and fails. */
const GIVE_UP_AFTER_MS = 120_000

/**
 * Customers who pay without a pause, and one merchant who creates payments all the time, to see when writes are
 * possible.
 */
export class Load {
  /** When a write of the probe was acknowledged. */
  readonly #acknowledged: number[] = []
  readonly #market: Market
  readonly #seed: number
  readonly #running: Promise<void>[]
  #next = 0
  #stopped = false

  constructor(market: Market, seed: number, clients: number) {
    this.#market = market
    this.#seed = seed
    this.#running = [this.#probe(), ...Array.from({ length: clients }, () => this.#customers())]
  }

  get payments(): number {
    return this.#next
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  /** The longest time without an acknowledged write since then. */
  longestGapMs(since: number): number {
    const times = [since, ...this.#acknowledged.filter((at) => at >= since), performance.now()]
    return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)))
  }

  /** Resolves when writes have been possible for some seconds, all of them after `since`. */
  async untilWriting(since: number): Promise<void> {
    for (
      const deadline = performance.now() + GIVE_UP_AFTER_MS;
      performance.now() < deadline;
      await pause(PROBE_EVERY_MS)
    ) {
      const start = performance.now() - STEADY_MS
      if (start >= since && this.longestGapMs(start) < STEADY_MS / 2) return
    }
    throw new Error(`no writes for ${GIVE_UP_AFTER_MS} ms`)
  }

  async #probe(): Promise<void> {
    const asked: Promise<void>[] = []
    for (let number = 0; !this.#stopped; number++) {
      const visit = new Visit(this.#market.world, randomOf(this.#seed, 2_000_000 + number), 2_000_000 + number)
      const answered = visit.checkout().then((payment) => {
        if (payment) this.#acknowledged.push(performance.now())
      })
      asked.push(answered)
      // Does not wait for an answer: a request that hangs says nothing about the next one.
      await Promise.race([answered, pause(PROBE_EVERY_MS)])
      await pause(PROBE_EVERY_MS)
    }
    await Promise.all(asked)
  }

  async #customers(): Promise<void> {
    while (!this.#stopped) {
      const number = this.#next++
      const random = randomOf(this.#seed, 1_000_000 + number)
      await this.#serve(this.#market.visit(number), random)
      await pause(random.between(200, 800))
    }
  }

  async #serve(visit: Visit, random: Random): Promise<void> {
    if (random.chance(0.5)) {
      await visit.pay(await visit.initialize())
    } else {
      await visit.checkout()
      await visit.pay(await visit.press())
    }
    if (!random.chance(REFUNDED)) return
    await visit.untilSuccessful()
    await visit.refund()
  }
}
