import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { Problem } from '../../kernel/problem.ts'

export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      description:
        'Makes the call safe to repeat: the same key with the same body answers what it answered first. 1 to 255 printable ASCII characters.',
    }),
  ),
})

/** The idempotency key and a digest of the request's body; undefined without a key. */
export function readIdempotencyKey(request: FastifyRequest): { key: string; digest: Buffer } | undefined {
  const key = request.headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new Problem(
      'invalid_request',
      'Idempotency-Key must be 1 to 255 printable ASCII characters. Leave the header out to do without one.',
    )
  }
  return { key, digest: createHash('sha256').update(canonical(request.body)).digest() }
}

/** JSON with sorted keys. It is made of the parsed body, so the compared value is the validated one. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
