/** The small words of their JSON. Nothing here throws, and nothing comes out that a database would not take. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function decode(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return ''
  }
}

export function fields(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

export function all<T>(value: unknown, read: (one: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined
  const parts = value.map(read)
  return parts.includes(undefined) ? undefined : (parts as T[])
}

/** An id, a code, a status: something that can be stored and compared. */
export function word(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
}

/** The id of what may be there whole, or by its id alone. */
export function idOf(value: unknown): string | undefined {
  return word(value) ?? word(fields(value)?.id)
}

/** Our note on an object of theirs. */
export function noteOf(object: Record<string, unknown>, name: string): string | null {
  return word(fields(object.metadata)?.[name]) ?? null
}

/** Epoch seconds, until the year 9999. */
export function date(value: unknown): Date | undefined {
  const isTime = Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 253_402_300_800
  return isTime ? new Date((value as number) * 1000) : undefined
}

/** Customers are sent there, so it is a web page or nothing. */
export function webAddress(value: unknown): string | null {
  const url = typeof value === 'string' && value.length <= 5_000 ? URL.parse(value) : null
  return url && /^https?:$/.test(url.protocol) ? url.href : null
}
