import type { FastifySchemaValidationError } from 'fastify'
import { DEFAULT_CURRENCY, lowestDenomination, MAX_AMOUNT, parseCurrency } from '../../kernel/money.ts'
import { type Mistake, pointerPart } from '../../kernel/problem.ts'
import { FORMATS } from '../contract/formats.ts'
import { unknownField } from './unknown-fields.ts'

// Bounds the size of the response.
const MAX_MISTAKES = 100

/** Translates schema errors into sentences. */
export function mistakesOf(errors: readonly FastifySchemaValidationError[], body: unknown): Mistake[] {
  // A wrong type also fails other rules; the first message per field is enough.
  const byPointer = new Map<string, Mistake>()
  for (const error of errors) {
    for (const mistake of explain(error, body)) {
      if (!byPointer.has(mistake.pointer)) byPointer.set(mistake.pointer, mistake)
    }
    if (byPointer.size >= MAX_MISTAKES) break
  }
  return [...byPointer.values()]
}

function explain(error: FastifySchemaValidationError, body: unknown): Mistake[] {
  const { keyword, params, instancePath } = error
  const name = nameOf(instancePath)
  const at = (code: string, message: string, pointer = instancePath): Mistake[] => [{ pointer, code, message }]
  // the rule above it reports this
  if (keyword !== 'propertyNames' && error.schemaPath.includes('/propertyNames/')) return []
  if (instancePath === '/amount' && keyword !== 'required')
    return at(`invalid_${keyword}`, explainAmount(keyword, body))
  switch (keyword) {
    case 'required': {
      const missing = String(params.missingProperty)
      const pointer = `${instancePath}/${pointerPart(missing)}`
      return at('required', `${nameOf(pointer)} is required.`, pointer)
    }
    case 'type':
      if (instancePath === '/metadata/custom_fields') return at('unknown_field', NO_CUSTOM_FIELDS)
      if (Array.isArray((body as Record<string, unknown> | undefined)?.[name]))
        return at('repeated', `${name} must be given once, as ${article(typesOf(params.type))}.`)
      return at('invalid_type', `${name} must be ${article(typesOf(params.type))}.`)
    case 'format': {
      const format = FORMATS[String(params.format)]
      return at('invalid_format', `${name} ${format?.sentence ?? 'is not valid'}.`)
    }
    case 'enum':
      return at('invalid_value', `${name} must be one of ${(params.allowedValues as string[]).join(', ')}.`)
    case 'maxLength':
      return at('too_long', `${name} must have at most ${params.limit} characters.`)
    case 'minLength':
      return at('too_short', `${name} must not be empty.`)
    case 'minimum':
    case 'maximum':
      return at('out_of_range', `${name} must be ${keyword === 'minimum' ? 'at least' : 'at most'} ${params.limit}.`)
    case 'maxProperties':
      return at('too_many', `${name} must have at most ${params.limit} keys.`)
    case 'propertyNames':
      return at(
        'invalid_key',
        `Keys of ${name} must have 1 to 40 characters.`,
        `${instancePath}/${pointerPart(String(params.propertyName))}`,
      )
    case 'additionalProperties': {
      const { properties = {} } = (error as { parentSchema?: { properties?: object } }).parentSchema ?? {}
      const kind = instancePath === '' ? 'parameter' : 'field'
      return [unknownField(kind, String(params.additionalProperty), Object.keys(properties), instancePath)]
    }
    default:
      return at('invalid_value', `${name} is not valid (${keyword}).`)
  }
}

/** Of Paystack's API. */
export const NO_CUSTOM_FIELDS =
  'There is no field `metadata.custom_fields`; give each custom field as a key of `metadata`, with a string as its value.'

function explainAmount(keyword: string, body: unknown): string {
  const { amount, currency } = (body ?? {}) as { amount?: unknown; currency?: unknown }
  const code = (typeof currency === 'string' && parseCurrency(currency)) || DEFAULT_CURRENCY
  const unit = lowestDenomination(code)
  if (typeof amount === 'string') return `amount must be a JSON number, without quotes: it is in ${unit}.`
  if (typeof amount !== 'number') return `amount must be a JSON number: it is in ${unit}.`
  if (keyword === 'minimum') return `amount must be at least 1: it is in ${unit}.`
  if (keyword === 'maximum' || !Number.isFinite(amount))
    return `amount must be at most ${MAX_AMOUNT}: it is in ${unit}.`
  return `amount is in ${unit}, so it has no fraction.`
}

function nameOf(pointer: string): string {
  if (pointer === '') return 'The body'
  return pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}

function typesOf(type: unknown): string {
  return [type]
    .flat()
    .flatMap((each) => String(each).split(','))
    .filter((each) => each !== 'null')
    .join(' or ')
}

function article(word: string): string {
  if (word === 'integer') return 'a whole number, as a JSON number'
  return /^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`
}
