import type { FastifyRequest } from 'fastify'
import type { Mode } from '../../kernel/mode.ts'
import { type Mistake, refuse } from '../../kernel/problem.ts'
import { parseTarget } from '../../outbound/request-target.ts'
import { User } from '../contract/checkout.ts'
import { misspelledFields, unknownFields } from './unknown-fields.ts'
import { mistakesOf, NO_CUSTOM_FIELDS } from './validation-errors.ts'

export interface KnownFields {
  body: string[]
  user: string[]
  /** Whether every unknown field of this body is refused, not only a likely misspelling. */
  isExact?(body: Record<string, unknown>): boolean
}

export function knownFields(schema: { properties: Record<string, unknown> }): KnownFields {
  return { body: Object.keys(schema.properties), user: Object.keys(User.properties) }
}

/** Whether webhooks of a mode, or one webhook URL, may have a private address. */
export type AllowPrivate = (mode: Mode, url?: string) => boolean

/** Returns the validated body, or throws all its mistakes at once. For routes with `attachValidation`. */
export function readBody<Body>(request: FastifyRequest, known: KnownFields, allowPrivate?: AllowPrivate): Body {
  const mistakes = mistakesIn(request, known, allowPrivate)
  if (mistakes.length > 0) refuse(mistakes)
  return request.body as Body
}

/** The same list, for routes that add mistakes of their own. */
export function mistakesIn(request: FastifyRequest, known: KnownFields, allowPrivate?: AllowPrivate): Mistake[] {
  const { body } = request
  return [
    ...mistakesOf(request.validationError?.validation ?? [], body),
    ...(isObject(body) ? (known.isExact?.(body) ? unknownFields : misspelledFields)(body, known.body) : []),
    ...(isObject(body) && isObject(body.user) ? misspelledFields(body.user, known.user, '/user') : []),
    ...(isObject(body) && isObject(body.metadata) ? customFieldsAsText(body.metadata) : []),
    ...(isObject(body) ? plainAddresses(body, request.caller.mode) : []),
    ...(isObject(body) && allowPrivate ? privateAddresses(body, (url) => allowPrivate(request.caller.mode, url)) : []),
  ]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Paystack takes its list of custom fields as text, too. Anything else than text is a mistake of the schema. */
function customFieldsAsText({ custom_fields: fields }: Record<string, unknown>): Mistake[] {
  if (typeof fields !== 'string') return []
  return [{ pointer: '/metadata/custom_fields', code: 'unknown_field', message: NO_CUSTOM_FIELDS }]
}

/** Live mode requires HTTPS. */
function plainAddresses(body: Record<string, unknown>, mode: Mode): Mistake[] {
  if (mode !== 'live') return []
  return ['redirectURL', 'webhook', 'url']
    .filter((field) => /^http:/i.test(String(body[field])))
    .map((field) => ({ pointer: `/${field}`, code: 'https_required', message: `${field} must be https in live mode.` }))
}

/**
 * SSRF check 1 of 3, when a webhook URL is saved, without DNS. Each call checks it again: before DNS
 * (2: outbound/request-target.ts) and at connect time (3: outbound/connect.ts).
 */
function privateAddresses(body: Record<string, unknown>, isAllowed: (url: string) => boolean): Mistake[] {
  return ['webhook', 'url']
    .filter((field) => {
      const url = body[field]
      return typeof url === 'string' && !isAllowed(url) && isPrivate(url)
    })
    .map((field) => ({
      pointer: `/${field}`,
      code: 'blocked_address',
      message: `${field} must not lead into a private network, this machine included. The operator's setting WEBHOOK_ALLOW_PRIVATE=sandbox allows it for tests.`,
    }))
}

function isPrivate(url: string): boolean {
  const target = parseTarget(url, { allowPrivate: false })
  return 'because' in target && target.because === 'blocked_address'
}
