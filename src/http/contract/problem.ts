import { Type } from 'typebox'
import { API_PROBLEMS, PROBLEMS, type ProblemCode } from '../../kernel/problem.ts'
import { ref } from './schema.ts'

export const STATUS: Record<ProblemCode, number> = {
  malformed_json: 400,
  invalid_request: 400,
  unknown_field: 400,
  unknown_network: 400,
  invalid_credentials: 401,
  credential_expired: 401,
  not_signed_in: 401,
  sign_in_refused: 401,
  address_not_allowed: 403,
  insufficient_scope: 403,
  merchant_suspended: 403,
  forbidden: 403,
  step_up_required: 403,
  second_factor_required: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  duplicate_reference: 409,
  duplicate_refund: 409,
  refund_needs_no_account: 409,
  too_many_refunds: 409,
  reference_conflict: 409,
  attempt_in_progress: 409,
  too_many_attempts: 409,
  too_many_endpoints: 409,
  too_many_links: 409,
  idempotency_in_progress: 409,
  input_not_expected: 409,
  payment_not_completed: 409,
  payment_already_completed: 409,
  payment_cancelled: 409,
  payment_expired: 409,
  body_too_large: 413,
  unsupported_media_type: 415,
  no_integration_available: 422,
  unknown_provider: 422,
  provider_not_configured: 422,
  currency_not_supported: 422,
  amount_out_of_range: 422,
  input_refused: 422,
  refund_account_required: 422,
  refund_exceeds_payment: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  provider_error: 502,
  unavailable: 503,
  provider_timeout: 504,
}

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
