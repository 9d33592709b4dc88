import { Type } from 'typebox'
import { PROBLEMS } from '../../../kernel/problem.ts'

export const ProblemAnswer = Type.Object(
  {
    type: Type.String({ format: 'uri' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String(),
    code: Type.String({ enum: Object.keys(PROBLEMS) }),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ description: 'JSON pointer to the member at fault.' }),
          code: Type.String(),
          message: Type.String(),
        }),
      ),
    ),
    retryable: Type.Boolean({ description: 'The same request may succeed later.' }),
    requestId: Type.String(),
  },
  { $id: 'Problem', additionalProperties: true, description: 'RFC 9457. Every refusal has this shape.' },
)
