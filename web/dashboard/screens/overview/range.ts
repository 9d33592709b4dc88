import { useFilters } from '../../components/filters.ts'

export const RANGES = [
  ['today', 'Today'],
  ['7', 'Last 7 days'],
  ['30', 'Last 30 days'],
  ['90', 'Last 90 days'],
  ['custom', 'Custom'],
] as const
export type RangeName = (typeof RANGES)[number][0]

const DAY_MS = 86_400_000
const DEFAULT: RangeName = '30'
const MAX_DAYS = 366

/** The days of the charts, kept in the address. */
export function useRange(zone: string) {
  const { values, set } = useFilters('range', 'from', 'to', 'currency')
  const name = RANGES.find(([each]) => each === values.range)?.[0] ?? DEFAULT
  const today = dayOf(Date.now(), zone)
  return {
    name,
    days: name === 'custom' ? customDays(values, today) : { from: daysBefore(today, daysIn(name) - 1), to: today },
    currency: values.currency,
    set: (changes: Partial<typeof values>) => set({ ...values, ...changes }),
  }
}

const daysIn = (name: Exclude<RangeName, 'custom'>) => (name === 'today' ? 1 : Number(name))

/** What was typed, put in order and cut to what the server takes. */
function customDays({ from, to }: { from: string; to: string }, today: string): { from: string; to: string } {
  const [first = '', last = ''] = [isDay(from) ? from : daysBefore(today, 29), isDay(to) ? to : today].sort()
  const earliest = daysBefore(last, MAX_DAYS - 1)
  return { from: first < earliest ? earliest : first, to: last }
}

const isDay = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text))

/** The day in the zone, like `2026-01-31`. */
function dayOf(time: number, zone: string): string {
  return new Intl.DateTimeFormat('en-CA', {
    ...{ timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' },
  }).format(time)
}

function daysBefore(day: string, count: number): string {
  return new Date(Date.parse(day) - count * DAY_MS).toISOString().slice(0, 10)
}
