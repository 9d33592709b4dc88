// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is walked by name
type Json = Record<string, any>

/**
 * Adds an example to the request body and the 2xx responses of each operation, built from the examples of its schemas.
 */
export function addExamples(document: Json): void {
  for (const operation of Object.values<Json>(document.paths).flatMap((methods) => Object.values<Json>(methods))) {
    const answers = Object.entries<Json>(operation.responses ?? {}).filter(([status]) => status.startsWith('2'))
    for (const [, answer] of answers) answer.description = 'Success'
    for (const { content } of [operation.requestBody ?? {}, ...answers.map(([, answer]) => answer)])
      for (const media of Object.values<Json>(content ?? {})) media.example ??= exampleOf(document, media.schema)
  }
}

function exampleOf(document: Json, schema: Json): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.$ref) return exampleOf(document, document.components.schemas[schema.$ref.split('/').at(-1)])
  if (schema.items) return [exampleOf(document, schema.items)]
  if (schema.properties) {
    const entries = Object.entries<Json>(schema.properties)
    return Object.fromEntries(entries.map(([name, member]) => [name, exampleOf(document, member)]))
  }
  return null
}
