import { createHash } from 'node:crypto'

/** How often things go wrong: rates from 0 to 1, and the seed that makes one run like the next. */
export interface Faults extends Record<FaultKind, number> {
  seed: number
}

export const FAULT_KINDS = [
  ...(['timeout', 'serverError', 'lost', 'doubled', 'reordered', 'late', 'wrongAmount'] as const),
  ...(['shortSettlement', 'lateSettlement'] as const),
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

export const NO_FAULTS: Faults = {
  seed: 0,
  timeout: 0,
  serverError: 0,
  lost: 0,
  doubled: 0,
  reordered: 0,
  late: 0,
  wrongAmount: 0,
  shortSettlement: 0,
  lateSettlement: 0,
}

/** A number from 0 up to 1 that follows from its seed, what it is for, and how many were drawn before it. */
export function draw(seed: number, kind: string, counter: number): number {
  return createHash('sha256').update(`${seed}:${kind}:${counter}`).digest().readUIntBE(0, 6) / 2 ** 48
}

/** The dice of one merchant. */
export interface Chance {
  happens(kind: FaultKind): boolean
  /** From 0 up to 1. */
  draw(kind: string): number
}

export function chanceOf(faults: Faults, counters: Map<string, number> = new Map()): Chance {
  function next(kind: string): number {
    const counter = counters.get(kind) ?? 0
    counters.set(kind, counter + 1)
    return draw(faults.seed, kind, counter)
  }
  return { draw: next, happens: (kind) => faults[kind] > 0 && next(kind) < faults[kind] }
}

export type CallFault = { when: 'before' | 'after' } & ({ kind: 'timeout' } | { kind: 'error'; status: 500 | 503 })

/** What becomes of a call to the provider's API: undefined is an ordinary answer. */
export function callFault(chance: Chance): CallFault | undefined {
  if (chance.happens('timeout')) return { kind: 'timeout', when: half(chance, 'timeout:when', 'before', 'after') }
  if (!chance.happens('serverError')) return undefined
  const status = half(chance, 'serverError:status', 500 as const, 503 as const)
  return { kind: 'error', status, when: half(chance, 'serverError:when', 'before', 'after') }
}

/** How long each copy of a notice is held back. None: it is lost. */
export function noticeDelaysMs(chance: Chance): number[] {
  if (chance.happens('lost')) return []
  const delayMs = chance.happens('late')
    ? between(5_000, 20_000, chance.draw('late:delay'))
    : chance.happens('reordered')
      ? between(200, 3_000, chance.draw('reordered:delay'))
      : 0
  return chance.happens('doubled') ? [delayMs, delayMs] : [delayMs]
}

/** What a charge takes: what was asked, unless the fault strikes; then 1 to 50 % less or more, and never nothing. */
export function amountTaken(chance: Chance, asked: number): number {
  if (!chance.happens('wrongAmount')) return asked
  const basisPoints = between(100, 5_000, chance.draw('wrongAmount:by'))
  // In BigInt: the product of an amount and basis points may be beyond what a number holds exactly.
  const by = Math.max(1, Number((BigInt(asked) * BigInt(basisPoints)) / 10_000n))
  const less = half(chance, 'wrongAmount:direction', true, false)
  return less && asked > by ? asked - by : asked + by
}

function half<Choice>(chance: Chance, kind: string, one: Choice, other: Choice): Choice {
  return chance.draw(kind) < 0.5 ? one : other
}

function between(least: number, most: number, drawn: number): number {
  return least + Math.floor(drawn * (most - least + 1))
}
