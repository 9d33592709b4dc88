import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDays, beginsWithDay, startOfDay } from './time-zone.ts'

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
  const next = ['2026-02-28', '2028-02-28', '2026-12-31'].map((day) => addDays(day, 1))
  assert.deepEqual(next, ['2026-03-01', '2028-02-29', '2027-01-01'])
})

test('only real days between 2000 and 2100 are days', () => {
  const days = ['2000-01-01', '2028-02-29', '2100-12-31', '2026-01-31T12:00:00Z']
  const others = [
    ...['1999-12-31', '2101-01-01', '9999-12-31', '0000-01-01', '+010000-01-01', '-000001-01-01'],
    ...['2026-02-29', '2026-00-10', '2026-13-01', '2026-01-00', '2026-01-32', '', '2026-1-1'],
  ]
  assert.deepEqual(
    [...days, ...others].filter((text) => beginsWithDay(text)),
    days,
  )
})
