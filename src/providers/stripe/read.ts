import { type Fields, fields, webAddress, word } from '../json-parsers.ts'

/** The id of what may be there whole, or by its id alone. */
export function idOf(value: unknown): string | undefined {
  return word(value) ?? word(fields(value)?.id)
}

/** Our note on an object of theirs. */
export function noteOf(object: Fields, name: string): string | null {
  return word(fields(object.metadata)?.[name]) ?? null
}

/** Epoch seconds, until the year 9999. */
export function dateOfSeconds(value: unknown): Date | undefined {
  const isTime = Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 253_402_300_800
  return isTime ? new Date((value as number) * 1000) : undefined
}

/** Theirs end in a fragment of hundreds of characters, so they may be longer than others'. */
export const linkOf = (value: unknown) => webAddress(value, 5_000)
