import { Problem, pointerPart, refuse } from './problem.ts'

/** PostgreSQL refuses U+0000, and a lone surrogate is not valid Unicode. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/**
 * Throws when the path or a parameter of a URL is not text: `%00`, `%ff`, `%ed%a0%80`, a `%` without two hexadecimal
 * digits.
 */
export function refuseUnstorableUrl(path: string, query: string): void {
  if (!isStorableInUrl(path)) throw new Problem('invalid_request', `The path ${NOT_TEXT}`)
  if (isStorableInUrl(query)) return
  const broken = query.split('&').find((pair) => !isStorableInUrl(pair)) ?? ''
  const name = broken.split('=', 1)[0] ?? ''
  const isNamed = /^[\w.-]{1,60}$/.test(name)
  const message = `The parameter${isNamed ? ` ${name}` : ''} ${NOT_TEXT}`
  refuse([{ pointer: isNamed ? `/${pointerPart(name)}` : '', code: 'invalid_text', message }])
}

const NOT_TEXT = 'is not text in UTF-8, or holds U+0000: check its percent-encoding.'

function isStorableInUrl(encoded: string): boolean {
  if (!encoded.includes('%')) return true
  try {
    return isStorable(decodeURIComponent(encoded))
  } catch {
    return false
  }
}
