import assert from 'node:assert/strict'

/** A provider's fees as data. Amounts are in minor units, percentages in basis points (1.5 % is 150). */
export interface FeeSchedule {
  basisPoints: number
  flat?: number
  /** The flat fee is waived below this charge. */
  flatWaivedBelow?: number
  cap?: number
  minimum?: number
  /** A tax on the fee, not limited by the cap. */
  taxBasisPoints?: number
  /** A duty on charges above a limit, added to the fee without cap and tax. */
  duty?: { amount: number; above: number }
}

/**
 * The fee on a charge. Fractions are rounded up, in the provider's favour, so that a merchant never receives less than
 * we quote. A flat fee or a minimum may exceed a very small charge.
 */
export function feeOf(schedule: FeeSchedule, charge: number): number {
  assertAmount(charge)
  return Number(fee(read(schedule), BigInt(charge)))
}

/** The smallest charge that leaves at least `net` after the fee. */
export function chargeFor(schedule: FeeSchedule, net: number): number {
  assertAmount(net)
  const terms = read(schedule)
  const wanted = BigInt(net)
  const starts = segmentStarts(terms)
  for (const [i, start] of starts.entries()) {
    const end = starts[i + 1]
    let charge = max(start, leastWithoutRounding(terms, start, wanted))
    // Rounding adds less than one unit for the percentage and one for the tax, so this loop has few iterations.
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
  // A fee above half of the charge is a mistake in the schedule, and would make the rounding loop long.
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

/** Within a segment the net amount grows with the charge, except for rounding. */
function segmentStarts({ limits }: Terms): bigint[] {
  return [...new Set([0n, ...limits])].sort((a, b) => (a < b ? -1 : 1))
}

/**
 * A lower bound of the charge within the segment, without rounding.
 * Capped: net + taxed cap. Else the maximum of net + taxed minimum and (net + taxed flat) / (1 - taxed rate).
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
