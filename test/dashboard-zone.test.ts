import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatIn, isKnownZone, startOfDay } from '../web/dashboard/zone.ts'

test('a day starts at midnight of its zone, also on the days on which clocks change', () => {
  const start = (day: string, zone: string, later = 0) => startOfDay(day, zone, later)?.toISOString()
  assert.equal(start('2026-11-16', 'Africa/Lagos'), '2026-11-15T23:00:00.000Z')
  assert.equal(start('2026-11-16', 'UTC', 1), '2026-11-17T00:00:00.000Z')
  assert.equal(start('2026-03-29', 'Europe/Berlin'), '2026-03-28T23:00:00.000Z')
  assert.equal(start('2026-03-29', 'Europe/Berlin', 1), '2026-03-29T22:00:00.000Z')
  assert.equal(start('2026-10-25', 'Europe/Berlin', 1), '2026-10-25T23:00:00.000Z')
  assert.equal(start('2026-03-08', 'America/New_York', 1), '2026-03-09T04:00:00.000Z')
  assert.equal(start('2026-01-01', 'Pacific/Kiritimati'), '2025-12-31T10:00:00.000Z')
  for (const wrong of ['', '2026-13-01', 'yesterday']) assert.equal(start(wrong, 'UTC'), undefined)
})

test('a moment is written in its zone; an unknown zone is known as one', () => {
  assert.equal(formatIn('Africa/Lagos', 'moment').format(new Date('2026-11-16T23:30:00Z')), '17 Nov 2026, 00:30')
  assert.deepEqual(['Africa/Lagos', 'Mars/Olympus'].map(isKnownZone), [true, false])
})
