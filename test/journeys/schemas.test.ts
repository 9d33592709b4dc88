import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastJsonStringify, { type AnySchema, type Options } from 'fast-json-stringify'
import { schemaCompilers } from '../../src/http/server/schema-compilers.ts'
import { startService } from '../support/service.ts'

// A schema is compiled when the first request needs it, so a mistake in one does not stop the start. Here all of them
// are compiled.

const compiled = { validators: 0, serializers: 0 }
const mistakes: string[] = []

function tryCompile(route: unknown, compile: () => unknown): void {
  try {
    compile()
  } catch (error) {
    const { method, url } = route as { method: string; url: string }
    mistakes.push(`${method} ${url}: ${(error as Error).message}`)
  }
}

const { buildValidator, buildSerializer } = schemaCompilers
schemaCompilers.buildValidator = (named, options) => {
  const compile = buildValidator(named, options)
  return (route) => {
    const validate = compile(route)
    compiled.validators++
    tryCompile(route, () => validate({}))
    return validate
  }
}
schemaCompilers.buildSerializer = (named) => {
  const compile = buildSerializer(named)
  return (route) => {
    compiled.serializers++
    tryCompile(route, () => fastJsonStringify(route.schema as AnySchema, { schema: named } as Options))
    return compile(route)
  }
}
const { app } = await startService()
await app.ready()

test('every schema of every route can be compiled', () => {
  assert.deepEqual(mistakes, [])
  assert.ok(compiled.validators > 30 && compiled.serializers > 100, JSON.stringify(compiled))
})
