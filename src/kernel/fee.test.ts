import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chargeFor, type FeeSchedule, feeOf } from './fee.ts'
import { MAX_AMOUNT } from './money.ts'

const paystackNigeria: FeeSchedule = { basisPoints: 150, flat: 10_000, flatWaivedBelow: 250_000, cap: 200_000 }

/** As published; the sheets behind them name their sources. */
const REAL: Record<string, FeeSchedule> = {
  'Paystack NG local': paystackNigeria,
  'Paystack NG international': { basisPoints: 390, flat: 10_000 },
  'Paystack NG dedicated account': { basisPoints: 100, cap: 30_000 },
  'Paystack GH': { basisPoints: 195 },
  'Paystack KE local': { basisPoints: 290 },
  'Paystack KE M-PESA': { basisPoints: 150 },
  'Paystack KE international': { basisPoints: 380 },
  'Paystack ZA local': { basisPoints: 290, flat: 100 },
  'Paystack ZA international': { basisPoints: 310, flat: 100 },
  'Flutterwave NG local': {
    basisPoints: 140,
    cap: 200_000,
    taxBasisPoints: 750,
    duty: { amount: 5_000, above: 1_000_000 },
  },
  'Monnify NG': { basisPoints: 150, cap: 200_000 },
  'Stripe US': { basisPoints: 290, flat: 30 },
  'Stripe US, international card': { basisPoints: 440, flat: 30 },
}

/** The definition once more, in plain numbers: exact while amount times 20 000 is below 2^53. */
function plainFee(schedule: FeeSchedule, charge: number): number {
  const { basisPoints, flat = 0, flatWaivedBelow = 0, cap = Infinity, minimum = 0, taxBasisPoints = 0, duty } = schedule
  const percentage = Math.ceil((charge * basisPoints) / 10_000)
  const part = Math.min(cap, Math.max(minimum, percentage + (charge < flatWaivedBelow ? 0 : flat)))
  return part + Math.ceil((part * taxBasisPoints) / 10_000) + (duty && charge > duty.above ? duty.amount : 0)
}

/** No fee makes a larger charge leave less by as much as this. */
const LARGEST_DROP = 15_000

/** Counts up, and tells for each net the first charge that leaves as much. */
function* firstCharges(schedule: FeeSchedule, upTo: number, from = 0): Generator<{ net: number; charge: number }> {
  let best = -1
  for (let charge = Math.max(0, from - LARGEST_DROP); charge <= upTo; charge++) {
    const left = charge - plainFee(schedule, charge)
    if (charge < from) best = Math.max(best, left)
    else while (best < left) yield { net: ++best, charge }
  }
}

const amount = fc.integer({ min: 0, max: 400 })
const anySchedule: fc.Arbitrary<FeeSchedule> = fc.record(
  {
    basisPoints: fc.integer({ min: 0, max: 2_500 }),
    flat: amount,
    flatWaivedBelow: amount,
    cap: amount,
    minimum: amount,
    taxBasisPoints: fc.integer({ min: 0, max: 10_000 }),
    duty: fc.record({ amount, above: amount }),
  },
  { requiredKeys: ['basisPoints'] },
)

test('the charge for a net is known to the kobo', () => {
  assert.equal(chargeFor(paystackNigeria, 1_000_000), 1_025_381)
  assert.equal(chargeFor(REAL['Stripe US'] as FeeSchedule, 10_000), 10_330)
  assert.equal(feeOf(paystackNigeria, 1_025_381), 25_381)
  assert.equal(feeOf(paystackNigeria, 249_999), 3_750)
  assert.equal(feeOf(paystackNigeria, 250_000), 13_750)
  assert.equal(feeOf(paystackNigeria, 100_000_000), 200_000)
})

test('where a flat fee sets in, the charge jumps and no smaller one would do', () => {
  assert.equal(chargeFor(paystackNigeria, 246_249), 249_999)
  assert.equal(chargeFor(paystackNigeria, 246_250), 260_153)
})

test('tax is on the fee beyond its cap, and a duty is beside both', () => {
  const nigeria = REAL['Flutterwave NG local'] as FeeSchedule
  assert.equal(feeOf(nigeria, 250_000), 3_500 + 263)
  assert.equal(feeOf(nigeria, 1_000_000), 14_000 + 1_050)
  assert.equal(feeOf(nigeria, 1_000_001), 14_001 + 1_051 + 5_000)
  assert.equal(feeOf(nigeria, 100_000_000), 200_000 + 15_000 + 5_000)
})

test('a minimum holds until the percentage passes it, and a cap below it wins', () => {
  assert.equal(feeOf({ basisPoints: 100, minimum: 50 }, 4_999), 50)
  assert.equal(feeOf({ basisPoints: 100, minimum: 50 }, 5_001), 51)
  assert.equal(feeOf({ basisPoints: 100, minimum: 50, cap: 20 }, 5_001), 20)
  assert.equal(chargeFor({ basisPoints: 100, minimum: 50 }, 1), 51)
})

test('the fee is as defined, for any schedule and charge', () => {
  fc.assert(
    fc.property(anySchedule, fc.integer({ min: 0, max: 1_000_000 }), (schedule, charge) => {
      assert.equal(feeOf(schedule, charge), plainFee(schedule, charge))
    }),
    { numRuns: 2_000 },
  )
})

test('for any schedule, each small net has the charge that counting up finds', () => {
  fc.assert(
    fc.property(anySchedule, (schedule) => {
      for (const { net, charge } of firstCharges(schedule, 2_500)) assert.equal(chargeFor(schedule, net), charge)
    }),
    { numRuns: 150 },
  )
})

for (const [name, schedule] of Object.entries(REAL)) {
  test(`${name}: counting up finds the same charge around every limit`, () => {
    const { basisPoints, flat = 0, cap, duty, flatWaivedBelow } = schedule
    const capped = cap === undefined ? [] : [Math.round(((cap - flat) * 10_000) / basisPoints)]
    const limits = [0, flat, duty?.above, flatWaivedBelow, ...capped].filter((limit) => limit !== undefined)
    for (const limit of limits) {
      for (const { net, charge } of firstCharges(schedule, limit + LARGEST_DROP, Math.max(0, limit - LARGEST_DROP)))
        assert.equal(chargeFor(schedule, net), charge, `net ${net}`)
    }
  })

  test(`${name}: a charge leaves the net, and none of the two hundred below it would`, () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 0, max: 3_000_000 }), fc.integer({ min: 0, max: MAX_AMOUNT })), (net) => {
        const charge = chargeFor(schedule, net)
        assert.ok(charge - feeOf(schedule, charge) >= net)
        for (let less = Math.max(0, charge - 200); less < charge; less++) {
          assert.ok(less - feeOf(schedule, less) < net, `${less} would do`)
        }
      }),
      { numRuns: 100 },
    )
  })
}

test('a fee never takes more than the charge that was made for a net', () => {
  fc.assert(
    fc.property(anySchedule, fc.integer({ min: 0, max: MAX_AMOUNT }), (schedule, net) => {
      const charge = chargeFor(schedule, net)
      assert.ok(feeOf(schedule, charge) <= charge)
    }),
  )
})

test('an invalid amount or fee schedule is refused', () => {
  for (const wrong of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => feeOf({ basisPoints: 150 }, wrong))
    assert.throws(() => chargeFor({ basisPoints: 150 }, wrong))
    assert.throws(() => chargeFor({ basisPoints: wrong }, 100))
    assert.throws(() => chargeFor({ basisPoints: 150, duty: { amount: wrong, above: 0 } }, 100))
  }
  assert.throws(() => chargeFor({ basisPoints: 10_000 }, 100))
  assert.throws(() => chargeFor({ basisPoints: 1, taxBasisPoints: 10_001 }, 100))
  assert.throws(() => chargeFor({ basisPoints: 150 }, Number.MAX_SAFE_INTEGER))
})
