// Fastify compiles the schemas of every route at start: half a second of CPU time for some hundred schemas, of which
// most processes need a few. Here each schema is compiled when the first request needs it.
import ajvCompiler, { type BuildCompilerFromPool } from '@fastify/ajv-compiler'
import fastJsonStringify, { type AnySchema, type Options } from 'fast-json-stringify'

type Serialize = (value: unknown) => string

const buildAjv = ajvCompiler()

const buildValidator: BuildCompilerFromPool = (named, options) => {
  const compile = buildAjv(named, options)
  return (route) => {
    let compiled: ReturnType<typeof compile> | undefined
    const validate = (value: unknown) => {
      compiled ??= compile(route)
      const isValid = compiled(value)
      validate.errors = compiled.errors // where Fastify looks for them, as Ajv's own functions leave them
      return isValid
    }
    validate.errors = undefined as ReturnType<typeof compile>['errors']
    return validate as ReturnType<typeof compile>
  }
}

const buildSerializer = (named: unknown) => (route: { schema?: unknown }) => {
  let compiled: Serialize | undefined
  return (value: unknown) => {
    compiled ??= serializerOf(route.schema, named)
    return compiled(value)
  }
}

export const schemaCompilers = { buildValidator, buildSerializer }

const serializers = new Map<string, Serialize>()

/**
 * Most routes and statuses answer with the same schema, that of problems; it is compiled once. `named`: what a `$ref`
 * may name.
 */
function serializerOf(schema: unknown, named: unknown): Serialize {
  const key = JSON.stringify(schema)
  const known = serializers.get(key)
  if (known) return known
  const serialize: Serialize = fastJsonStringify(schema as AnySchema, { schema: named } as Options)
  serializers.set(key, serialize)
  return serialize
}
