/** Days and times in a zone of the IANA database. */

export const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

const FORMATS = {
  moment: { dateStyle: 'medium', timeStyle: 'short' },
  exact: { dateStyle: 'full', timeStyle: 'long' },
  clock: { timeStyle: 'short' },
  day: { dateStyle: 'medium' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>

// A formatter takes about 50 µs to make, and a list has hundreds of times.
const made = new Map<string, Intl.DateTimeFormat>()

export function formatIn(timeZone: string, name: keyof typeof FORMATS): Intl.DateTimeFormat {
  const key = `${name} ${timeZone}`
  const format = made.get(key) ?? new Intl.DateTimeFormat('en-GB', { ...FORMATS[name], timeZone })
  made.set(key, format)
  return format
}

/** An old browser may lack a zone that the server knows. */
export function isKnownZone(timeZone: string): boolean {
  try {
    return formatIn(timeZone, 'moment') !== undefined
  } catch {
    return false
  }
}

const DAY_MS = 86_400_000

/** The first moment of a day like `2026-03-29`, or of a later one. Undefined when the text is not a day. */
export function startOfDay(day: string, timeZone: string, daysLater = 0): Date | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined
  const wanted = Date.parse(`${day}T00:00:00Z`) + daysLater * DAY_MS
  if (Number.isNaN(wanted)) return undefined
  // The offset at the wrong moment can be that of the other side of a change of clocks, so it is read again.
  const guess = wanted - offsetMs(wanted, timeZone)
  return new Date(wanted - offsetMs(guess, timeZone))
}

/** Local time minus UTC. */
function offsetMs(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(at)
  const part = (type: string) => Number(parts.find((each) => each.type === type)?.value)
  const local = Date.UTC(
    ...([part('year'), part('month') - 1, part('day')] as const),
    ...([part('hour'), part('minute'), part('second')] as const),
  )
  return local - Math.floor(at / 1_000) * 1_000
}
