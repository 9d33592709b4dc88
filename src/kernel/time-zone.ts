const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const FIRST_YEAR = 2000
const LAST_YEAR = 2100

/**
 * Whether a text begins with a real day like 2026-01-31, between 2000 and 2100. `Date` turns February 30 into March 2,
 * and writes years after 9999 with a sign, which breaks the order of texts.
 */
export function beginsWithDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || year < FIRST_YEAR || year > LAST_YEAR) return false
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day && month >= 1 && month <= 12
}

/** The beginning of a day (2026-01-31) in a zone, to the hour before it: the sums of charts are per hour. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // The offset of a time near the day, then of the time that it gives: they differ around a change of the clocks.
  const near = midnight - offsetAt(midnight, zone)
  const start = midnight - offsetAt(near, zone)
  return new Date(Math.floor(start / HOUR_MS) * HOUR_MS)
}

/** The day of that time in a zone: 2026-01-31. */
export function dayIn(at: Date, zone: string): string {
  return new Date(at.getTime() + offsetAt(at.getTime(), zone)).toISOString().slice(0, 10)
}

/** The zone of a country that has one; of others, UTC. */
export function zoneOfCountry(country: string): string {
  const [zone, ...others] = new Intl.Locale(`und-${country}`).getTimeZones?.() ?? []
  return zone && others.length === 0 ? zone : 'UTC'
}

/** Local time minus UTC, in milliseconds. */
function offsetAt(time: number, zone: string): number {
  const parts = formatOf(zone).formatToParts(time)
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = (
    ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
  ).map((type) => Number(parts.find((part) => part.type === type)?.value))
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1_000) * 1_000
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making a format takes longer than using it a hundred times. There are about 400 zones. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const number = 'numeric'
  const made = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
    ...{ year: number, month: number, day: number, hour: number, minute: number, second: number },
  })
  formats.set(zone, made)
  return made
}

/** That many days later. */
export function addDays(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10)
}
