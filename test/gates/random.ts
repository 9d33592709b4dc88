/** Seeded random numbers: the same seed gives the same choices. */
export interface Random {
  /** 0 ≤ number < 1 */
  next(): number
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number
  pick<Item>(items: readonly Item[]): Item
  chance(probability: number): boolean
  bytes(length: number): Buffer
}

/**
 * mulberry32. `stream` gives each case of a run its own row of numbers, so that one case can be made without the
 * others.
 */
export function randomOf(seed: number, stream = 0): Random {
  let state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(stream + 1, 0xc2b2ae35)) >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)] as (typeof items)[number],
    chance: (probability) => next() < probability,
    bytes: (length) => Buffer.from(Array.from({ length }, () => between(0, 255))),
  }
}

export function newSeed(): number {
  return Math.floor(Math.random() * 2 ** 31)
}
