import type { Document, Schema } from './client-types.ts'

/** A type of the API under a name, for languages whose types need one: parameters, bodies, answers and events. */
export type NamedTypes = [name: string, schema: Schema][]

/** A header to each emitted file, in the language's comments. */
export const EMITTED = 'Emitted from docs/openapi.json by `npm run openapi`. Do not edit.'

/** The schemas of the document, and under names of their own what its operations have inline. */
export function namedTypes({ components, paths, webhooks }: Document): NamedTypes {
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith('/payments/v1/'))
    .flatMap(([, methods]) => Object.values(methods))
  const ofOperations = operations.flatMap(({ operationId, parameters = [], requestBody, responses }): NamedTypes => {
    const name = capital(operationId)
    const query = parameters.filter((each) => each.in === 'query')
    const [, answered] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? []
    const answer = schemaIn(answered)
    const { data = {}, ...others } = answer.properties ?? {}
    const hasMore = Object.keys(others).some((each) => each !== 'nextCursor')
    return [
      ...(query.length > 0
        ? [[`${name}Query`, objectOf(query.map((each) => [each.name, each.required ?? false, each.schema]))] as const]
        : []),
      ...inline(`${name}Body`, schemaIn(requestBody)),
      ...(hasMore ? ([[`${name}Answer`, answer]] as const) : inline(`${name}Data`, data)),
    ].map(([each, schema]): NamedTypes[number] => [each, schema])
  })
  const events = Object.entries(webhooks).map(([type, { post }]): NamedTypes[number] => [
    `${type.split(/[._]/).map(capital).join('')}Event`,
    schemaIn(post.requestBody),
  ])
  const event: Schema = { anyOf: events.map(([name]) => ({ $ref: name })) }
  return [...Object.entries(components.schemas), ...ofOperations, ...events, ['WebhookEvent', event]]
}

/** An object without a name of its own, or a list of such objects. */
function inline(name: string, schema: Schema): NamedTypes {
  if (schema.properties) return [[name, schema]]
  return schema.items?.properties ? [[`${name}Item`, schema.items]] : []
}

function objectOf(members: [string, boolean, Schema][]): Schema {
  return {
    type: 'object',
    required: members.filter(([, required]) => required).map(([name]) => name),
    properties: Object.fromEntries(members.map(([name, , schema]) => [name, schema])),
  }
}

export function schemaIn(message: { content?: Record<string, { schema: Schema }> } | undefined): Schema {
  return Object.values(message?.content ?? {})[0]?.schema ?? {}
}

export const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)

/** The name after the last slash of a reference. */
export const nameOf = (reference: string) => reference.split('/').at(-1) as string
