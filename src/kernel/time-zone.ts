const HOUR_MS = 3_600_000

/** The beginning of a day (2026-01-31) in a zone, to the hour before it: the sums of charts are per hour. */
export function startOfDay(day: string, zone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  // The offset of a time near the day, then of the time that it gives: they differ around a change of the clocks.
  const near = midnight - offsetAt(midnight, zone)
  const start = midnight - offsetAt(near, zone)
  return new Date(Math.floor(start / HOUR_MS) * HOUR_MS)
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

export function nextDay(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 24 * HOUR_MS).toISOString().slice(0, 10)
}
