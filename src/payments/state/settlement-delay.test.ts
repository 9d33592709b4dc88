import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectedOn, overdueBefore, settledBefore, usualDays } from './settlement-delay.ts'

// 2026-05-01 is a Friday.
const at = (day: string) => new Date(`${day}T12:00:00Z`)

for (const [taken, days, expected] of [
  ['2026-05-04', 1, '2026-05-05'],
  ['2026-05-01', 1, '2026-05-04'],
  ['2026-05-02', 1, '2026-05-05'],
  ['2026-05-01', 0, '2026-05-01'],
  ['2026-05-01', 7, '2026-05-12'],
] as const) {
  test(`money of ${taken} is settled after ${days} working days, on ${expected}, and late after that`, () => {
    assert.equal(expectedOn(at(taken), days), expected)
    const isLate = (day: string) => at(taken).getTime() < settledBefore(at(day), days).getTime()
    const later = new Date(at(expected).getTime() + 3 * 86_400_000).toISOString().slice(0, 10)
    assert.ok(!isLate(taken) && isLate(later))
  })
}

test('a case waits three working days more', () => {
  assert.deepEqual(overdueBefore(at('2026-05-08'), 1), at('2026-05-04'))
})

test('the delay may differ by country, and is two days where the provider names none', () => {
  const settles = { workingDays: 1, byCountry: { GH: 3 } }
  assert.deepEqual([usualDays(settles, 'NG'), usualDays(settles, 'GH'), usualDays(undefined, 'NG')], [1, 3, 2])
})
