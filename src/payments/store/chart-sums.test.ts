import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addDays, startOfDay } from '../../kernel/time-zone.ts'
import { spansOf } from './chart-sums.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The days of March 2026 in a zone: in some of them clocks change. */
function march(zone: string): { starts: Date[]; to: Date } {
  const starts: Date[] = []
  let day = '2026-03-01'
  for (; day <= '2026-03-31'; day = addDays(day, 1)) starts.push(startOfDay(day, zone))
  return { starts, to: startOfDay(day, zone) }
}

/** How often the stored sums of each hour are counted for each part. */
function countsOf({ hours, days }: ReturnType<typeof spansOf>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { part, sign, from, to } of [...hours, ...days])
    for (let at = Math.ceil(from.getTime() / HOUR_MS) * HOUR_MS; at < to.getTime(); at += HOUR_MS) {
      const key = `${part} ${new Date(at).toISOString()}`
      counts.set(key, (counts.get(key) ?? 0) + sign)
    }
  return new Map([...counts].filter(([, count]) => count !== 0).sort())
}

const ZONES = [
  ...['UTC', 'Africa/Lagos', 'America/New_York', 'America/Los_Angeles', 'Asia/Kolkata', 'Australia/Lord_Howe'],
  ...['Pacific/Auckland', 'Pacific/Kiritimati', 'Etc/GMT+12'],
]

test('with daily sums each hour of a part counts once, in every zone and wherever the daily sums end', () => {
  for (const zone of ZONES) {
    const { starts, to } = march(zone)
    const exact = countsOf(spansOf(starts, to, null))
    for (const daysTo of ['2026-02-20', '2026-03-01', '2026-03-02', '2026-03-17', '2026-04-01', '2026-05-01']) {
      const spans = spansOf(starts, to, new Date(daysTo))
      assert.deepEqual(countsOf(spans), exact, `${zone}, daily sums until ${daysTo}`)
      for (const { from, to: end } of spans.days) {
        assert.ok(from.getTime() % DAY_MS === 0 && end.getTime() % DAY_MS === 0, 'whole days')
        assert.ok(end <= new Date(daysTo), 'days that are summed up')
      }
    }
  }
})

test('a month of days in Lagos reads two hours for each day beside the daily sums, and one in UTC none', () => {
  const hoursRead = (zone: string) => {
    const { starts, to } = march(zone)
    const { hours } = spansOf(starts, to, new Date('2026-05-01'))
    return hours.reduce((sum, span) => sum + (span.to.getTime() - span.from.getTime()) / HOUR_MS, 0)
  }
  assert.equal(hoursRead('Africa/Lagos'), 62)
  assert.equal(hoursRead('UTC'), 0)
})

test('a chart by hour reads hourly sums alone', () => {
  const starts = Array.from({ length: 48 }, (_, hour) => new Date(Date.UTC(2026, 2, 1, hour)))
  const { hours, days } = spansOf(starts, new Date('2026-03-03'), new Date('2026-05-01'))
  assert.deepEqual([hours.length, days.length], [48, 0])
})
