/** The types of clients/typescript, emitted from the OpenAPI document. `npm run openapi` writes them. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  format?: string
  description?: string
  required?: string[]
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  items?: Schema
}

interface Message {
  content?: Record<string, { schema: Schema }>
}

interface Operation {
  operationId: string
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[]
  requestBody?: Message
  responses: Record<string, Message>
}

export interface Document {
  components: { schemas: Record<string, Schema> }
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, { post: Operation }>
}

const HEADER = '// Emitted from docs/openapi.json by `npm run openapi`. Do not edit.\n'

export function clientTypes({ components, paths, webhooks }: Document): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `${comment(schema.description)}export interface ${name} ${typeOf(schema)}\n`,
  )
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith('/payments/v1/'))
    .flatMap(([, methods]) => Object.values(methods))
  const events = Object.entries(webhooks).map(([type, { post }]) => [type, schemaIn(post.requestBody)] as const)
  return [
    HEADER,
    ...schemas,
    `export type ProblemCode = Problem['code']\n`,
    `/** Query, body and answer of each operation, by its id. */\nexport interface Operations ${block(operations.map((each) => `${each.operationId}: ${operationOf(each)}`))}\n`,
    `/** The body of each webhook, by its type. */\nexport interface WebhookEvents ${block(events.map(([type, schema]) => `'${type}': ${typeOf(schema)}`))}\n`,
    '/** Discriminated by `type`. More types will be added: accept one that you do not know. */\nexport type WebhookEvent = WebhookEvents[keyof WebhookEvents]\n',
  ].join('\n')
}

/** The widget's types without its exports: the package loads the widget by a script tag. */
export function widgetTypes(declarations: string): string {
  const header = '// Emitted from web/widget/types.d.ts by `npm run openapi`. Do not edit.\n'
  return header + declarations.replaceAll(/^export declare const .*\n/gm, '')
}

function operationOf({ parameters = [], requestBody, responses }: Operation): string {
  const query = parameters.filter((each) => each.in === 'query')
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  return block([
    ...(query.length > 0
      ? [
          `query: ${block(query.map(({ name, required, description, schema }) => member(name, { ...schema, description }, required ?? false)))}`,
        ]
      : []),
    ...(requestBody ? [`body: ${typeOf(schemaIn(requestBody))}`] : []),
    `answer: ${typeOf(schemaIn(answer))}`,
  ])
}

function schemaIn(message: Message | undefined): Schema {
  return Object.values(message?.content ?? {})[0]?.schema ?? {}
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return [...schema.enum.map(literal), ...(isNullable(schema) ? ['null'] : [])].join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  // A query parameter: the client writes the number as text.
  if (schema.format === 'page-size') return 'number'
  return (
    [schema.type ?? []]
      .flat()
      .map((type) => plainType(type, schema))
      .join(' | ') || 'unknown'
  )
}

function plainType(type: string, schema: Schema): string {
  if (type === 'integer') return 'number'
  if (type === 'array') {
    const items = typeOf(schema.items ?? {})
    return / \| /.test(items) && !items.startsWith('{') ? `(${items})[]` : `${items}[]`
  }
  return type === 'object' ? objectType(schema) : type
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema): string {
  const members = Object.entries(properties)
  if (members.length > 0) return block(members.map(([name, each]) => member(name, each, required.includes(name))))
  return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'}>`
}

function member(name: string, schema: Schema, isRequired: boolean): string {
  return `${comment(schema.description)}${name}${isRequired ? '' : '?'}: ${typeOf(schema)}`
}

/** Leaves room for the indentation of members in members. */
const COMMENT_COLUMNS = 110

function comment(text: string | undefined): string {
  if (!text) return ''
  const plain = text.replaceAll('*/', '* /')
  if (plain.length <= COMMENT_COLUMNS - 7) return `/** ${plain} */\n`
  const lines = plain.replaceAll(new RegExp(`(?! )(.{1,${COMMENT_COLUMNS - 3}})( +|$)`, 'g'), ' * $1\n')
  return `/**\n${lines} */\n`
}

function block(lines: string[]): string {
  return `{\n${lines.map((line) => line.replaceAll(/^/gm, '  ')).join('\n')}\n}`
}

function isNullable({ type }: Schema): boolean {
  return Array.isArray(type) && type.includes('null')
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
