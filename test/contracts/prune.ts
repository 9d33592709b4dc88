// `node test/contracts/prune.ts`: reduces the descriptions to what the requests of our adapters, and those that the
// checks are tried with, touch. A field that no request has goes, unless the provider requires it; README.md says when.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProviderCall } from '../../src/providers/provider.ts'
import { CONTRACTS } from './check.ts'
import { type Description, findOperation, type Operation, readBody, readDescription } from './description.ts'
import { driveEveryCall, type Made } from './drive.ts'
import { readForm } from './form.ts'
import { REQUESTS } from './requests.ts'
import { type FindFaults, faultFinder, type Schema } from './schema.ts'

type Values = unknown[]
type Fields = Record<string, unknown>

class Pruner {
  readonly #schemas: Record<string, Schema>
  readonly #find: FindFaults
  /** What stands where a named schema is used. */
  readonly #valuesOf = new Map<string, Values>()

  constructor(schemas: Record<string, Schema>) {
    this.#schemas = schemas
    this.#find = faultFinder(schemas)
  }

  reduce(schema: Schema, values: Values): Schema {
    if (schema.$ref) {
      const name = schema.$ref.replace('#/components/schemas/', '')
      this.#valuesOf.set(name, [...(this.#valuesOf.get(name) ?? []), ...values])
      this.reduce(this.#schemas[name] as Schema, values) // for the names in it
      return schema
    }
    const { properties, items, allOf, anyOf, oneOf, required = [] } = schema
    const groups = values.filter((value) => typeof value === 'object' && value !== null) as Fields[]
    return {
      ...schema,
      ...(properties && {
        properties: Object.fromEntries(
          Object.entries(properties).flatMap(([name, member]) => {
            const found = groups.flatMap((group) => (Object.hasOwn(group, name) ? [group[name]] : []))
            return found.length > 0 || required.includes(name) ? [[name, this.reduce(member, found)]] : []
          }),
        ),
      }),
      ...(items && { items: this.reduce(items, values.filter(Array.isArray).flat()) }),
      ...(allOf && { allOf: allOf.map((part) => this.reduce(part, values)) }),
      ...(anyOf && { anyOf: this.#branches(anyOf, values) }),
      ...(oneOf && { oneOf: this.#branches(oneOf, values) }),
    }
  }

  /** Those that a value fits, in a form or as JSON; all of them if none does. */
  #branches(branches: Schema[], values: Values): Schema[] {
    const fits = (value: unknown, branch: Schema) =>
      (['form', 'json'] as const).some((written) => this.#find(value, branch, '', written).length === 0)
    const used = branches.filter((branch) => values.some((value) => fits(value, branch)))
    return (used.length > 0 ? used : branches).map((branch) => this.reduce(branch, values))
  }

  /** The named schemas that are used. */
  named(): Record<string, Schema> {
    const reduced = [...this.#valuesOf].map(([name, values]) => {
      return [name, this.reduce(this.#schemas[name] as Schema, values)] as const
    })
    return Object.fromEntries(reduced.sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

/** The operations, with the parameters and fields that a request touches. */
function prune(description: Description, requests: ProviderCall[]): Description {
  const { paths, components } = description
  const pruner = new Pruner(components.schemas)
  const valuesOf = new Map<Operation, { path: Values; query: Values; body: Values }>()
  for (const { method, url, headers = {}, body } of requests) {
    const { pathname, search } = new URL(url)
    const [, operation, path] = findOperation(description, method, pathname) ?? []
    if (!operation) continue
    const all = valuesOf.get(operation) ?? { path: [], query: [], body: [] }
    valuesOf.set(operation, all)
    all.path.push(path)
    all.query.push(readForm(search))
    if (body !== undefined) all.body.push(readBody(headers['content-type'], body))
  }
  const reduced = (operation: Operation): Operation => {
    const values = valuesOf.get(operation) ?? { path: [], query: [], body: [] }
    const { parameters, requestBody, ...rest } = operation
    const content = Object.entries(requestBody?.content ?? {})
    return {
      ...rest,
      ...(parameters && {
        parameters: parameters.flatMap((parameter) => {
          const found = (values[parameter.in] as Fields[]).flatMap((group) => group[parameter.name] ?? [])
          const schema = pruner.reduce(parameter.schema, found)
          return found.length > 0 || parameter.required ? [{ ...parameter, schema }] : []
        }),
      }),
      ...(requestBody && {
        requestBody: {
          ...requestBody,
          content: Object.fromEntries(
            content.map(([type, { schema }]) => [type, { schema: pruner.reduce(schema, values.body) }]),
          ),
        },
      }),
    }
  }
  const operations = Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, reduced(operation)])),
    ]),
  )
  return { ...description, paths: operations, components: { ...components, schemas: pruner.named() } }
}

for (const { file, startFake, channels } of CONTRACTS) {
  const ends: (() => Promise<void>)[] = []
  const made: Made[] = []
  await driveEveryCall(await startFake({ after: (end) => ends.push(end) }), made, channels)
  for (const end of ends) await end()
  const calls = [...made.map(({ call }) => call), ...REQUESTS.map(([, , call]) => call)]
  const text = JSON.stringify(prune(readDescription(file), calls), null, 2)
  writeFileSync(join(import.meta.dirname, file), `${text}\n`)
}
