import type { Random } from './random.ts'

/** A process that is killed and restarted. */
export interface Killable {
  /** Undefined while it is down. */
  readonly copy: unknown
  crash(): Promise<void>
}

/** How often a kill is made while a copy looks for an earlier refund; else right after it asked for one. */
const BETWEEN_COMMIT_AND_REQUEST = 0.7
const CHANCE = 0.3

/** Kills copies during refunds: between the commit and the call to the provider, or right after the call. */
export class Killer {
  made = 0
  readonly #random: Random
  readonly #copies: readonly Killable[]
  readonly #most: number
  readonly #restarts: Promise<void>[] = []

  constructor(random: Random, copies: readonly Killable[], most: number) {
    this.#random = random
    this.#copies = copies
    this.#most = most
  }

  /** Called for every request that reaches the provider. Returns the fault to apply to it. */
  look(method: string, path: string): 'silent before the work' | 'silent after the work' | undefined {
    if (!/refund/i.test(path) || !this.#random.chance(CHANCE)) return undefined
    const isLook = method === 'GET'
    if (isLook !== this.#random.chance(BETWEEN_COMMIT_AND_REQUEST) || !this.kill()) return undefined
    return isLook ? 'silent before the work' : 'silent after the work'
  }

  /** The provider does not know which copy called: mostly all copies are killed, else a random one. */
  kill(): boolean {
    const up = this.#copies.filter(({ copy }) => copy)
    if (this.made >= this.#most || up.length === 0) return false
    this.made++
    const chosen = this.#random.chance(0.7) ? up : [this.#random.pick(up)]
    for (const copy of chosen) this.#restarts.push(copy.crash())
    return true
  }

  /** Waits until each killed process runs again. */
  async allBack(): Promise<void> {
    await Promise.all(this.#restarts)
  }
}
