import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProviderCall } from '../../src/providers/provider.ts'
import { readForm } from './form.ts'
import { type Fault, type FindFaults, faultFinder, type Schema, type Written } from './schema.ts'

/** A provider's OpenAPI description, reduced to the requests that we make. README.md names its source. */
export interface Description {
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export interface Operation {
  parameters?: { name: string; in: 'path' | 'query'; required?: boolean; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

export const readDescription = (file: string): Description =>
  JSON.parse(readFileSync(join(import.meta.dirname, file), 'utf8'))

/** `POST /charge`, for each call that is described. */
export const callsOf = ({ paths }: Description): string[] =>
  Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => nameOf(method, path)))

export interface Verdict {
  /** By its template: `GET /transaction/{id}`. */
  call: string
  faults: Fault[]
  findFaults: FindFaults
}

/** The mistakes of a request, according to the description. */
export function judge(description: Description, { method, url, headers = {}, body }: ProviderCall): Verdict {
  const { pathname, search } = new URL(url)
  const findFaults = faultFinder(description.components.schemas)
  const [path, operation, values] = findOperation(description, method, pathname) ?? []
  if (!path || !operation) {
    const call = nameOf(method, pathname)
    return { call, faults: [{ rule: 'unknown call', field: 'path', value: pathname }], findFaults }
  }
  const faults = [
    ...findFaults(values, parametersOf(operation, 'path'), 'path', 'form'),
    ...findFaults(readForm(search), parametersOf(operation, 'query'), 'query', 'form'),
    ...judgeBody(operation, headers['content-type'], body, findFaults),
  ]
  // Both describe the key as a bearer token.
  if (!/^Bearer \S+$/.test(headers.authorization ?? '')) faults.push({ rule: 'key', field: 'authorization' })
  return { call: nameOf(method, path), faults, findFaults }
}

const nameOf = (method: string, path: string) => `${method.toUpperCase()} ${path}`

/** A literal path comes before a path with a parameter: /transaction/totals is no transaction. */
export function findOperation({ paths }: Description, method: string, pathname: string) {
  const matches = Object.entries(paths).flatMap(([path, methods]) => {
    const operation = methods[method.toLowerCase()]
    const values = operation && matchPath(path, pathname)
    return values ? [[path, operation, values] as const] : []
  })
  return matches.sort(([, , a], [, , b]) => Object.keys(a).length - Object.keys(b).length)[0]
}

function matchPath(template: string, pathname: string): Record<string, string> | undefined {
  const [wanted, given] = [template.split('/'), pathname.split('/')]
  const values: Record<string, string> = {}
  if (wanted.length !== given.length) return undefined
  for (const [index, part] of wanted.entries()) {
    const name = /^\{(.+)\}$/.exec(part)?.[1]
    if (name && given[index]) values[name] = decodeURIComponent(given[index])
    else if (part !== given[index]) return undefined
  }
  return values
}

function parametersOf({ parameters = [] }: Operation, where: 'path' | 'query'): Schema {
  const ours = parameters.filter((parameter) => parameter.in === where)
  return {
    type: 'object',
    properties: Object.fromEntries(ours.map(({ name, schema }) => [name, schema])),
    required: ours.filter(({ required }) => required).map(({ name }) => name),
  }
}

const WRITTEN: Record<string, Written> = { 'application/json': 'json', 'application/x-www-form-urlencoded': 'form' }

export const readBody = (type: string | undefined, body: string): unknown =>
  type === 'application/json' ? JSON.parse(body) : readForm(body)

function judgeBody(
  { requestBody }: Operation,
  contentType: string | undefined,
  body: string | undefined,
  findFaults: FindFaults,
) {
  const { content = {} } = requestBody ?? {}
  const type = contentType ?? Object.keys(content)[0] ?? ''
  const [written, schema] = [WRITTEN[type], content[type]?.schema]
  if (body !== undefined && (!written || !schema || !contentType)) {
    return [{ rule: 'content type', field: 'body', value: contentType } satisfies Fault]
  }
  if (!written || !schema) return []
  // An absent body is checked like an empty one: required fields are missing.
  const value = body === undefined ? {} : readBody(type, body)
  return findFaults(value, schema, 'body', written)
}
