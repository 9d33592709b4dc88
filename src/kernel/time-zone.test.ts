import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextDay, startOfDay } from './time-zone.ts'

test('a day begins at its local midnight, also when the clocks change', () => {
  const starts: [day: string, zone: string, start: string][] = [
    ['2026-11-16', 'UTC', '2026-11-16T00:00:00.000Z'],
    ['2026-11-16', 'Africa/Lagos', '2026-11-15T23:00:00.000Z'],
    ['2026-11-16', 'Pacific/Auckland', '2026-11-15T11:00:00.000Z'],
    ['2026-11-16', 'America/Los_Angeles', '2026-11-16T08:00:00.000Z'],
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
    ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z'],
    ['2026-10-26', 'Europe/Berlin', '2026-10-25T23:00:00.000Z'],
  ]
  for (const [day, zone, start] of starts) assert.equal(startOfDay(day, zone).toISOString(), start, `${day} ${zone}`)
})

test('in a zone with half hours it begins at the full hour before', () => {
  assert.equal(startOfDay('2026-11-16', 'Asia/Kolkata').toISOString(), '2026-11-15T18:00:00.000Z')
})

test('the next day crosses months and years', () => {
  assert.deepEqual(['2026-02-28', '2028-02-28', '2026-12-31'].map(nextDay), ['2026-03-01', '2028-02-29', '2027-01-01'])
})
