import type { Random } from '../../random.ts'
import { DAY } from './clock.ts'
import type { Posted, WeeksProvider } from './sale.ts'

const LOST = 0.2
const DOUBLED = 0.2
const LATE = 0.15
const LATE_BY_MS = [DAY, 21 * DAY] as const
const RETRY_MS = DAY / 4

interface Waiting extends Posted {
  at: number
}

/** Delivers the notices of the fake in simulated time: some are lost, doubled, or weeks late. */
export class Post {
  readonly counts = { delivered: 0, lost: 0, doubled: 0, late: 0, refused: 0 }
  readonly #random: Random
  readonly #fake: WeeksProvider
  readonly #url: string
  readonly #now: () => number
  #waiting: Waiting[] = []

  constructor(random: Random, fake: WeeksProvider, url: string, now: () => number) {
    this.#random = random
    this.#fake = fake
    this.#url = url
    this.#now = now
  }

  async collect(): Promise<void> {
    for (const posted of await this.#fake.takeNotices()) {
      if (this.#random.chance(LOST)) {
        this.counts.lost++
        continue
      }
      const isDoubled = this.#random.chance(DOUBLED)
      if (isDoubled) this.counts.doubled++
      for (let copy = 0; copy < (isDoubled ? 2 : 1); copy++) this.#waiting.push({ ...posted, at: this.#dueAt() })
    }
  }

  /** The notices of what is done meanwhile are lost, or arrive at once. */
  async during(fate: 'lost' | 'delivered', act: () => Promise<unknown>): Promise<void> {
    await this.collect()
    await act()
    for (const posted of await this.#fake.takeNotices()) {
      if (fate === 'lost') this.counts.lost++
      else this.#waiting.push({ ...posted, at: this.#now() })
    }
  }

  /** What is due. A provider signs again when it sends again. */
  async deliver(): Promise<void> {
    await this.collect()
    const due = this.#waiting.filter(({ at }) => at <= this.#now())
    this.#waiting = this.#waiting.filter(({ at }) => at > this.#now())
    for (const { body, url, headersTo } of due) {
      const address = url ?? this.#url
      const signed = headersTo?.(address) ?? (this.#fake.sign(body) as Record<string, string>)
      const { status } = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...signed },
        body: new Uint8Array(body),
      })
      if (status < 400) this.counts.delivered++
      else this.counts.refused++
      if (status >= 500) this.#waiting.push({ body, url, headersTo, at: this.#now() + RETRY_MS })
    }
  }

  #dueAt(): number {
    if (!this.#random.chance(LATE)) return this.#now()
    this.counts.late++
    return this.#now() + this.#random.between(...LATE_BY_MS)
  }
}
