import fastJsonStringify, { type AnySchema, type Options } from 'fast-json-stringify'

type Serialize = (value: unknown) => string

const compiled = new Map<string, Serialize>()

/**
 * Compiles each schema once in a process. Fastify itself starts anew for each route and status, and most of them answer with the
 * same schema, that of problems: a large part of every start. `named` are the schemas that a `$ref` may name.
 */
export function serializerOf(schema: unknown, named: unknown): Serialize {
  const key = JSON.stringify(schema)
  const known = compiled.get(key)
  if (known) return known
  const serialize: Serialize = fastJsonStringify(schema as AnySchema, { schema: named } as Options)
  compiled.set(key, serialize)
  return serialize
}
