import { allOf, type Copy } from './copies.ts'
import type { Random } from './random.ts'

/** How often a kill is made while a copy looks for an earlier refund; else right after it asked for one. */
const BETWEEN_COMMIT_AND_REQUEST = 0.7
const CHANCE = 0.3
/** The provider does not know which copy called: mostly all copies are killed during a refund, else a random one. */
const ALL_DURING_REFUND = 0.7

/**
 * Kills copies: during refunds, between the commit and the call to the provider or right after the call, or on demand.
 */
export class Killer {
  made = 0
  /** Rejects as soon as a killed copy cannot be started again. */
  readonly failed: Promise<never>
  readonly #random: Random
  readonly #copies: readonly Copy[]
  readonly #most: number
  readonly #restarts: Promise<void>[] = []
  readonly #fail: (error: unknown) => void

  constructor(random: Random, copies: readonly Copy[], most: number) {
    this.#random = random
    this.#copies = copies
    this.#most = most
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {}) // also reported by `allBack`
    this.failed = promise
    this.#fail = reject
  }

  /** Called for every request that reaches the provider. Returns the fault to apply to it. */
  look(method: string, path: string): 'silent before the work' | 'silent after the work' | undefined {
    if (!/refund|reversal/i.test(path) || !this.#random.chance(CHANCE)) return undefined
    const isLook = method === 'GET'
    if (isLook !== this.#random.chance(BETWEEN_COMMIT_AND_REQUEST) || !this.kill(ALL_DURING_REFUND)) return undefined
    return isLook ? 'silent before the work' : 'silent after the work'
  }

  /**
   * Kills all copies that are up with the given probability, else a random one. False: enough were killed, or none is
   * up.
   */
  kill(probabilityOfAll: number): boolean {
    const up = this.#copies.filter(({ copy }) => copy)
    if (this.made >= this.#most || up.length === 0) return false
    this.made++
    const chosen = this.#random.chance(probabilityOfAll) ? up : [this.#random.pick(up)]
    for (const copy of chosen) {
      const restart = copy.crash()
      restart.catch(this.#fail)
      this.#restarts.push(restart)
    }
    return true
  }

  /** Waits until each killed process runs again. */
  async allBack(): Promise<void> {
    await allOf(this.#restarts)
  }
}
