import { Type } from 'typebox'
import { API_PROBLEMS, PROBLEMS, type ProblemCode } from '../../../kernel/problem.ts'
import { STATUS } from '../../server/problems.ts'
import { ref } from './schema.ts'

export const ProblemAnswer = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String({ enum: Object.keys(API_PROBLEMS) }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON pointer to the field.' }),
          code: Type.String(),
          message: Type.String(),
        }),
      ),
    ),
    retryable: Type.Boolean({ description: 'The same request may succeed later.' }),
    requestId: Type.String(),
  },
  { $id: 'Problem', additionalProperties: true, description: 'The error format of RFC 9457.' },
)

const EVERY_CALL: ProblemCode[] = [
  ...(['invalid_request', 'unknown_field'] as const),
  ...(['invalid_credentials', 'credential_expired', 'address_not_allowed', 'insufficient_scope'] as const),
  ...(['merchant_suspended', 'rate_limited', 'unavailable'] as const),
]

/** Errors of each call with a JSON body. */
export const BODY_PROBLEMS: ProblemCode[] = [
  'malformed_json',
  'invalid_request',
  'unknown_field',
  'body_too_large',
  'unsupported_media_type',
]

/** The error responses of an operation, one per status, each with its codes. */
export function problems(...codes: ProblemCode[]): Record<number, unknown> {
  const byStatus = Map.groupBy(new Set([...codes, ...EVERY_CALL]), (code) => STATUS[code])
  return Object.fromEntries([...byStatus].map(([status, each]) => [status, problemResponse(each)]))
}

export function problemResponse(codes: ProblemCode[]) {
  const examples = Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }]))
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    content: { 'application/problem+json': { schema: ref(ProblemAnswer), examples } },
  }
}

/** One example per error code, for `components` of the OpenAPI document. */
export const problemExamples = Object.fromEntries(
  (Object.keys(API_PROBLEMS) as ProblemCode[]).map((code) => {
    const { title, retryable } = PROBLEMS[code]
    const value = {
      ...{ type: `urn:manilla:problem:${code}`, title, status: STATUS[code], detail: `${title}.` },
      ...{ instance: '/payments/v1/payments', code, retryable, requestId: 'k3v9q2-0001' },
    }
    return [code, { summary: title, value }]
  }),
)
