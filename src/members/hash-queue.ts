import { Problem } from '../kernel/problem.ts'

/**
 * Who waits for a password hash. `known`: has proved something already, by a session, a one-time link, or the device
 * cookie of the account. `name` is what the places are counted by: a member, a merchant or a network.
 */
export interface HashClient {
  known: boolean
  name: string
}

/** Places in the queue, for all and for one name. Guesses from many networks fill the places of strangers only. */
export const PLACES = { known: { all: 100, each: 2 }, strangers: { all: 30, each: 5 } }

type Line = keyof typeof PLACES

/**
 * One job at a time. The two lines take turns, and in a line the names: nobody waits longer because another name sends
 * more. With all places taken, the last one waits for about 10 s.
 */
export class HashQueue {
  /** Those who wait, by name. The first name is the next one. */
  readonly #waiting = { known: new Map<string, (() => void)[]>(), strangers: new Map<string, (() => void)[]>() }
  /** Those who wait or run. */
  readonly #taken = new Map<string, number>()
  #isBusy = false
  #next: Line = 'known'

  async run<Result>({ known, name }: HashClient, job: () => Promise<Result>): Promise<Result> {
    const line: Line = known ? 'known' : 'strangers'
    const places = [
      { key: line, most: PLACES[line].all },
      { key: `${line} ${name}`, most: PLACES[line].each },
    ]
    const [all, own] = places.map(({ key, most }) => (this.#taken.get(key) ?? 0) >= most)
    if (own) throw busy('rate_limited', 'Too many passwords are checked for you at once.')
    if (all) throw busy('unavailable', 'Too many people sign in at once.')
    this.#count(places, 1)
    try {
      if (this.#isBusy) await new Promise<void>((start) => this.#wait(line, name, start))
      this.#isBusy = true
      return await job()
    } finally {
      this.#count(places, -1)
      this.#startNext()
    }
  }

  #wait(line: Line, name: string, start: () => void): void {
    const waiting = this.#waiting[line]
    const own = waiting.get(name)
    if (own) own.push(start)
    else waiting.set(name, [start])
  }

  #startNext(): void {
    const lines: Line[] = this.#next === 'known' ? ['known', 'strangers'] : ['strangers', 'known']
    const line = lines.find((each) => this.#waiting[each].size > 0)
    if (!line) {
      this.#isBusy = false
      return
    }
    this.#next = line === 'known' ? 'strangers' : 'known'
    const waiting = this.#waiting[line]
    const [name, own] = waiting.entries().next().value as [string, (() => void)[]]
    const start = own.shift()
    waiting.delete(name)
    if (own.length > 0) waiting.set(name, own) // at the end: the other names come first
    start?.()
  }

  #count(places: { key: string }[], change: 1 | -1): void {
    for (const { key } of places) {
      const now = (this.#taken.get(key) ?? 0) + change
      if (now > 0) this.#taken.set(key, now)
      else this.#taken.delete(key)
    }
  }
}

function busy(code: 'rate_limited' | 'unavailable', why: string): Problem {
  return new Problem(code, `${why} Try again in 2 s.`, { retryAfterSeconds: 2 })
}
