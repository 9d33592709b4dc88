import { type TSchema, Type } from 'typebox'

/** An optional member of a request: absent and null mean the same. One type list instead of a union keeps one mistake one error. */
export function optional<Schema extends TSchema>(schema: Schema) {
  const type = (schema as { type?: string }).type
  return Type.Optional(Type.Unsafe<Type.Static<Schema> | null>({ ...schema, type: [type, 'null'] }))
}

/** A member of an answer that is always there, if only as null. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  const type = (schema as { type?: string }).type
  return Type.Unsafe<Type.Static<Schema> | null>({ ...schema, type: [type, 'null'] })
}

export function dataOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: schema })
}

export function listOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: Type.Array(schema), nextCursor: nullable(Type.String()) })
}
