import assert from 'node:assert/strict'

/**
 * The part of OpenAPI 3.0 schemas that the two descriptions use. An unknown keyword fails the check, so that no rule is
 * ignored.
 */
export interface Schema {
  $ref?: string
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  nullable?: boolean
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  enum?: unknown[]
  maxLength?: number
  format?: string
  allOf?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
}

const KEYWORDS: Record<keyof Schema, true> = {
  ...{ $ref: true, type: true, nullable: true, properties: true, required: true, additionalProperties: true },
  ...{ items: true, enum: true, maxLength: true, format: true, allOf: true, anyOf: true, oneOf: true },
}

export type Rule =
  | 'unknown call'
  | 'unknown field'
  | 'missing'
  | 'type'
  | 'enum'
  | 'length'
  | 'format'
  | 'one of'
  | 'content type'
  | 'key'

export interface Fault {
  rule: Rule
  /** `body.line_items[0].quantity` */
  field: string
  value?: unknown
}

/** In a form and in a query everything is text, and the schema says what it stands for. */
export type Written = 'json' | 'form'

export type FindFaults = (value: unknown, schema: Schema, field: string, written: Written) => Fault[]

/**
 * Stricter than JSON Schema in one point: an object with named members has no others, because an unnamed one is a
 * mistake of ours.
 */
export function faultFinder(schemas: Record<string, Schema>): FindFaults {
  function flatten(given: Schema): Schema {
    for (const word of Object.keys(given))
      assert(Object.hasOwn(KEYWORDS, word), `the schemas use ${word}: write its rule`)
    if (given.$ref) return flatten(schemas[given.$ref.replace('#/components/schemas/', '')] ?? assert.fail(given.$ref))
    const { allOf, ...own } = given
    return allOf ? [own, ...allOf.map(flatten)].reduce(both) : own
  }

  return function find(value, given, field, written): Fault[] {
    const schema = flatten(given)
    if (value === null && schema.nullable) return []
    const { anyOf, oneOf } = schema
    if (anyOf ?? oneOf) {
      const tries = (anyOf ?? oneOf ?? []).map((branch) => find(value, branch, field, written))
      const fitting = tries.filter((faults) => faults.length === 0)
      if (fitting.length > (oneOf ? 1 : Number.POSITIVE_INFINITY)) return [{ rule: 'one of', field, value }]
      return fitting[0] ?? tries.reduce((best, faults) => (faults.length < best.length ? faults : best))
    }
    const fault = schema.type === undefined ? undefined : faultOf(value, schema, written)
    if (fault) return [{ rule: fault, field, value }]
    if (Array.isArray(value)) {
      return value.flatMap((item, index) => find(item, schema.items ?? {}, `${field}[${index}]`, written))
    }
    return typeof value === 'object' && value !== null ? findInObject(Object.entries(value), schema) : []

    function findInObject(entries: [string, unknown][], { properties, required = [], additionalProperties }: Schema) {
      // An object without named members may have any: `metadata`.
      const others = additionalProperties ?? properties === undefined
      const missing = required.filter((name) => !entries.some(([given]) => given === name))
      return [
        ...missing.map((name): Fault => ({ rule: 'missing', field: `${field}.${name}` })),
        ...entries.flatMap(([name, member]): Fault[] => {
          const at = `${field}.${name}`
          const known = properties && Object.hasOwn(properties, name) ? properties[name] : others
          if (known === true) return []
          return known ? find(member, known, at, written) : [{ rule: 'unknown field', field: at, value: member }]
        }),
      ]
    }
  }
}

/** `allOf`: only objects are combined so, each with its own members. */
function both(one: Schema, other: Schema): Schema {
  for (const word of Object.keys({ ...one, ...other })) {
    assert(['type', 'properties', 'required'].includes(word), `allOf uses ${word}: write its rule`)
  }
  return {
    type: 'object',
    properties: { ...one.properties, ...other.properties },
    required: [...(one.required ?? []), ...(other.required ?? [])],
  }
}

function faultOf(value: unknown, schema: Schema, written: Written): Rule | undefined {
  if (!isOfType(value, schema.type, written)) return 'type'
  if (schema.enum && !schema.enum.includes(value)) return 'enum'
  if (typeof value !== 'string') return undefined
  if (value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY)) return 'length'
  return isOfFormat(value, schema.format) ? undefined : 'format'
}

function isOfType(value: unknown, type: Schema['type'], written: Written): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  if (type === 'string') return typeof value === 'string'
  if (written === 'json') return type === 'integer' ? Number.isSafeInteger(value) : typeof value === type
  if (typeof value !== 'string') return false
  if (type === 'boolean') return value === 'true' || value === 'false'
  return (type === 'integer' ? /^-?\d{1,19}$/ : /^-?\d+(\.\d+)?$/).test(value)
}

function isOfFormat(value: string, format: string | undefined): boolean {
  switch (format) {
    case undefined:
    case 'int64':
    case 'unix-time':
      return true // digits, by their type
    case 'decimal':
      return /^-?\d+(\.\d+)?$/.test(value)
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(value)
    case 'date-time':
      return /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
    default:
      return assert.fail(`the schemas use the format ${format}: write its rule`)
  }
}
