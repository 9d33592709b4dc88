/** Seconds of a Retry-After header: a number, or a date in one of HTTP's three formats. Null for anything else. */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | null {
  if (!value) return null
  if (/^\d+$/.test(value)) return Math.min(Number(value), Number.MAX_SAFE_INTEGER)
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(value)) return null // Date.parse accepts more than HTTP dates.
  const at = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000))
}
