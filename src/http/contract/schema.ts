import { type TSchema, Type } from 'typebox'

/**
 * An optional field of a request: absent and null mean the same. A type list, not a union, gives one error per mistake.
 */
export function optional<Schema extends TSchema>(schema: Schema) {
  const type = (schema as { type?: string }).type
  return Type.Optional(Type.Unsafe<Type.Static<Schema> | null>({ ...schema, type: [type, 'null'] }))
}

/** A field of an answer that is always present and may be null. */
export function nullable<Schema extends TSchema>(schema: Schema) {
  const type = (schema as { type?: string }).type
  return Type.Unsafe<Type.Static<Schema> | null>({ ...schema, type: [type, 'null'] })
}

export function oneOf<Value extends string>(values: readonly Value[], description?: string) {
  return Type.Unsafe<Value>({ type: 'string', enum: [...values], ...(description && { description }) })
}

/** A reference to a schema that `describeApi` registers by its `$id`. */
export function ref<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Type.Static<Schema>>({ $ref: `${(schema as { $id?: string }).$id}#` })
}

export function dataOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: schema })
}

export function listOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({
    data: Type.Array(schema),
    nextCursor: nullable(Type.String({ examples: ['YWZ0ZXI6Y2hrXzFDaDRKYQ'] })),
  })
}

/** A list without further pages. */
export function wholeListOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: Type.Array(schema), nextCursor: Type.Null() })
}
