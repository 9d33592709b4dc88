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

/** Another schema by its name. The app knows it by its `$id`, and the description lists it once. */
export function ref<Schema extends TSchema>(schema: Schema) {
  return Type.Unsafe<Type.Static<Schema>>({ $ref: `${(schema as { $id?: string }).$id}#` })
}

export function dataOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: schema })
}

export function listOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: Type.Array(schema), nextCursor: nullable(Type.String()) })
}

/** A list that has no second page. */
export function wholeListOf<Schema extends TSchema>(schema: Schema) {
  return Type.Object({ data: Type.Array(schema), nextCursor: Type.Null() })
}
