// `25/07/2026 11:20:20 AM`, `2026-11-20 11:28:42.615`, `2026-06-27T09:11:14.596774984`; with a zone only if they ever add one.
const SLASHES = /^(\d\d?)\/(\d\d?)\/(\d{4}) (\d\d?):(\d\d):(\d\d) ?([AP]M)$/i
const DASHES = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?$/

// Their times have no zone. By the look of it they are Nigerian: an hour ahead of UTC, all year.
const ZONE = '+01:00'

/** A moment, as exactly as they tell it; null for what is none, for nothing that counts hangs on it. */
export function readTime(value: unknown): Date | null {
  if (typeof value !== 'string' || value.length > 40) return null
  const [, day = '', month = '', year, hour = '', minute, second, half = ''] = SLASHES.exec(value) ?? []
  if (year) {
    if (Number(hour) < 1 || Number(hour) > 12) return null
    const hours = (Number(hour) % 12) + (half.toUpperCase() === 'PM' ? 12 : 0)
    return moment(`${year}-${two(month)}-${two(day)}`, `${two(String(hours))}:${minute}:${second}`, '000', ZONE)
  }
  const parts = DASHES.exec(value)
  if (!parts) return null
  const [, y, m, d, h, min, s = '00', fraction = '', zone = ZONE] = parts
  return moment(`${y}-${m}-${d}`, `${h}:${min}:${s}`, fraction.slice(0, 3).padEnd(3, '0'), zone)
}

const two = (digits: string) => digits.padStart(2, '0')

/** JavaScript makes the 3rd of March of a 31st of February; we make nothing of it. */
function moment(date: string, time: string, ms: string, zone: string): Date | null {
  const asWritten = `${date}T${time}.${ms}Z`
  const read = new Date(asWritten)
  if (Number.isNaN(read.getTime()) || read.toISOString() !== asWritten) return null
  const at = new Date(`${date}T${time}.${ms}${zone.replace(/^([+-]\d\d)(\d\d)$/, '$1:$2')}`)
  return Number.isNaN(at.getTime()) ? null : at
}
