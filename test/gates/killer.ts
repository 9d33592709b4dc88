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

/** Kills copies at the moments that matter to a refund: after its commit and before the provider is asked, or right after that. */
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

  /** Asked for every request that reaches the provider; says how the provider is to treat it. */
  look(method: string, path: string): 'silent before the work' | 'silent after the work' | undefined {
    if (!/refund/i.test(path) || !this.#random.chance(CHANCE)) return undefined
    const isLook = method === 'GET'
    if (isLook !== this.#random.chance(BETWEEN_COMMIT_AND_REQUEST) || !this.kill()) return undefined
    return isLook ? 'silent before the work' : 'silent after the work'
  }

  /** Whose call it is cannot be seen from the provider's side: mostly all copies die, else one at random. */
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
