import assert from 'node:assert/strict'

/** What a provider keeps of a charge, as data. All amounts in minor units, percentages in basis points (1.5 % is 150). */
export interface FeeSchedule {
  basisPoints: number
  flat?: number
  /** Below this charge the flat part is waived. */
  flatWaivedBelow?: number
  cap?: number
  minimum?: number
  /** A tax on the fee itself, beyond its cap. */
  taxBasisPoints?: number
  /** A duty on charges above a limit, beside the fee: no cap, no tax. */
  duty?: { amount: number; above: number }
}

/**
 * What the provider keeps of a charge. Every part of a unit is rounded up, in the provider's favour, so that a merchant
 * never gets less than we said. A flat fee or a minimum may be more than a very small charge: then this says so.
 */
export function feeOf(schedule: FeeSchedule, charge: number): number {
  assertAmount(charge)
  return Number(fee(read(schedule), BigInt(charge)))
}

/** The smallest charge of which at least `net` is left after the fee. */
export function chargeFor(schedule: FeeSchedule, net: number): number {
  assertAmount(net)
  const terms = read(schedule)
  const wanted = BigInt(net)
  const starts = segmentStarts(terms)
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1]
    let charge = max(start, leastWithoutRounding(terms, start, wanted))
    // Rounding up costs less than one unit for the percentage and one for the tax, so this ends after a few steps.
    while ((end === undefined || charge < end) && charge - fee(terms, charge) < wanted) charge++
    if (end === undefined || charge < end) return safe(charge)
  }
  throw new Error('unreachable: the last segment has no end')
}

interface Terms {
  rate: bigint
  taxed: bigint
  flatAt(charge: bigint): bigint
  cap: bigint | undefined
  minimum: bigint
  dutyAt(charge: bigint): bigint
  limits: bigint[]
}

const WHOLE = 10_000n

function read(schedule: FeeSchedule): Terms {
  const { basisPoints, flat = 0, flatWaivedBelow = 0, cap, minimum = 0, taxBasisPoints = 0, duty } = schedule
  for (const part of [basisPoints, flat, flatWaivedBelow, cap ?? 0, minimum, taxBasisPoints]) assertAmount(part)
  if (duty) [duty.amount, duty.above].forEach(assertAmount)
  // Nobody keeps half of a charge: a schedule that says so has a slip in it, and its steps of rounding would be many.
  assert(basisPoints * (10_000 + taxBasisPoints) <= 5_000 * 10_000, 'a fee of more than half of the charge')
  assert(taxBasisPoints <= 10_000, 'a tax of more than the fee')
  const waivedBelow = BigInt(flatWaivedBelow)
  const dutyAbove = BigInt(duty?.above ?? 0)
  return {
    rate: BigInt(basisPoints),
    taxed: WHOLE + BigInt(taxBasisPoints),
    flatAt: (charge) => (charge < waivedBelow ? 0n : BigInt(flat)),
    cap: cap === undefined ? undefined : BigInt(cap),
    minimum: BigInt(minimum),
    dutyAt: (charge) => (duty && charge > dutyAbove ? BigInt(duty.amount) : 0n),
    limits: [waivedBelow, ...(duty ? [dutyAbove + 1n] : [])],
  }
}

function fee(terms: Terms, charge: bigint): bigint {
  const uncapped = max(terms.minimum, ceilDivide(charge * terms.rate, WHOLE) + terms.flatAt(charge))
  const part = terms.cap === undefined ? uncapped : min(terms.cap, uncapped)
  return ceilDivide(part * terms.taxed, WHOLE) + terms.dutyAt(charge)
}

/** Between two of these nothing jumps: what is left of a charge grows with it, but for rounding. */
function segmentStarts({ limits }: Terms): bigint[] {
  return [...new Set([0n, ...limits])].sort((a, b) => (a < b ? -1 : 1))
}

/**
 * The least charge in the segment's own terms if nothing were rounded; with rounding it can only be more.
 * Capped: net + taxed cap. Else whichever asks for more: net + taxed minimum, or (net + taxed flat) / (1 - taxed rate).
 */
function leastWithoutRounding(terms: Terms, at: bigint, net: bigint): bigint {
  const { rate, taxed, cap, minimum } = terms
  const due = net + terms.dutyAt(at)
  const atMinimum = due + ceilDivide(minimum * taxed, WHOLE)
  const atRate = ceilDivide((due * WHOLE + terms.flatAt(at) * taxed) * WHOLE, WHOLE * WHOLE - rate * taxed)
  const uncapped = max(atMinimum, atRate)
  return cap === undefined ? uncapped : min(due + ceilDivide(cap * taxed, WHOLE), uncapped)
}

const ceilDivide = (a: bigint, b: bigint) => (a + b - 1n) / b
const max = (a: bigint, b: bigint) => (a > b ? a : b)
const min = (a: bigint, b: bigint) => (a < b ? a : b)

function safe(amount: bigint): number {
  assertAmount(Number(amount))
  return Number(amount)
}

function assertAmount(amount: number): void {
  assert(Number.isSafeInteger(amount) && amount >= 0, `not a whole number of minor units: ${amount}`)
}
