import { isUtf8 } from 'node:buffer'
import { type Mistake, Problem, pointerPart } from '../../kernel/problem.ts'
import { isStorable } from '../../kernel/storable-text.ts'

const MAX_DEPTH = 10
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

/**
 * Parses a JSON body. Beyond JSON.parse it refuses invalid UTF-8 (which would be replaced silently), deep nesting,
 * prototype keys and text that PostgreSQL cannot store. The last of duplicate keys counts.
 */
export function parseJsonBody(body: Buffer): unknown {
  if (!isUtf8(body)) throw new Problem('malformed_json', 'The body is not UTF-8. JSON is always sent as UTF-8.')
  const text = body.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
    if (UNUSUAL_NUMBER.test(text)) refuseRounding(text)
  } catch (error) {
    if (error instanceof Problem) throw error
    throw new Problem('malformed_json', `The body is not JSON: ${describe(error)}.`)
  }
  if (isSound(value, 1, text.includes('\\u'))) return value
  const mistakes: Mistake[] = []
  inspect(value, '', 1, mistakes)
  throw new Problem('invalid_request', mistakes.map(({ message }) => message).join(' '), { mistakes })
}

// Only fractions and exponents can be rounded to a whole number. A string with such text in it, such as "1:2.5", costs
// a second parse.
const UNUSUAL_NUMBER = /(?:^|[:[,])\s*-?\d+(?:\.\d|[eE])/
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** 100.000000000000000001 is parsed as 100, and 1.00000000000000001e2, too. Amounts are never rounded. */
function refuseRounding(text: string): void {
  const reviver = (_: string, value: unknown, { source = '' }: { source?: string }) => {
    const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? []
    const places = fraction.length - Number(exponent)
    const behindPoint = places > 0 ? (whole + fraction).slice(-places) : ''
    // What is rounded to 0 is refused with the field that it is in, as any amount of 0.
    if (/[1-9]/.test(behindPoint) && Number.isInteger(value) && value !== 0) {
      throw new Problem(
        'invalid_request',
        `${source.slice(0, 40)} would be rounded to ${value}. Send whole numbers as they are.`,
      )
    }
    return value
  }
  JSON.parse(text, reviver as (key: string, value: unknown) => unknown)
}

/** The parser's message without its excerpt of the body, which may contain private data. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return /at position \d+|end of JSON input/.exec(message)?.[0] ?? 'it cannot be parsed'
}

/**
 * The rules of `inspect` without messages: nearly every body is valid. In valid UTF-8 only an escape can produce text
 * that cannot be stored.
 */
function isSound(value: unknown, depth: number, escaped: boolean): boolean {
  if (typeof value === 'string') return !escaped || isStorable(value)
  if (typeof value !== 'object' || value === null) return true
  if (depth > MAX_DEPTH) return false
  for (const key of Object.keys(value)) {
    if (FORBIDDEN_KEYS.has(key) || (escaped && !isStorable(key))) return false
    if (!isSound((value as Record<string, unknown>)[key], depth + 1, escaped)) return false
  }
  return true
}

function inspect(value: unknown, pointer: string, depth: number, mistakes: Mistake[]): void {
  if (mistakes.length >= 50) return
  if (typeof value === 'string') {
    if (!isStorable(value)) mistakes.push(notStorable(pointer))
  } else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) {
      mistakes.push({ pointer, code: 'too_deep', message: `${pointer} is nested more than ${MAX_DEPTH} levels deep.` })
      return
    }
    for (const key of Object.keys(value)) {
      const below = `${pointer}/${pointerPart(key)}`
      if (FORBIDDEN_KEYS.has(key)) {
        mistakes.push({ pointer: below, code: 'forbidden_key', message: `The key "${key}" is not allowed.` })
      } else if (!isStorable(key)) {
        mistakes.push(notStorable(pointer))
      } else {
        inspect((value as Record<string, unknown>)[key], below, depth + 1, mistakes)
      }
    }
  }
}

function notStorable(pointer: string): Mistake {
  const message = `${pointer || 'The body'} holds a character that is not text (U+0000 or half of a surrogate pair).`
  return { pointer, code: 'invalid_text', message }
}
