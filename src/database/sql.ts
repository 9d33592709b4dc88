import { createHash } from 'node:crypto'

/** A parameterized statement. Values are sent separately and never become part of the text (no SQL injection). */
export interface Statement {
  /** Prepared by this name. Without one, it is planned at each run. */
  readonly name: string | undefined
  readonly text: string
  readonly values: unknown[]
}

/** Constant SQL text inside a statement, such as a list of columns. Never use it for input. */
export class Fixed {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

// The strings of a template literal are one object per call site, so text and name are computed once per site.
const seen = new WeakMap<TemplateStringsArray, { name: string; text: string }>()

/** `sql\`select … where id = ${id}\``. Prepared by name: PostgreSQL parses and plans each one once per connection. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  let known = seen.get(strings)
  if (!known) {
    const text = textOf(strings, values)
    known = { name: createHash('sha1').update(text).digest('base64url'), text }
    seen.set(strings, known)
  }
  return { name: known.name, text: known.text, values: values.filter((value) => !(value instanceof Fixed)) }
}

/**
 * As `sql`, but planned for its values at each run. A prepared statement gets one plan for all values after a few runs,
 * and PostgreSQL then takes a range such as `id >= $1 and id < $2` for a few rows: it would read a merchant's whole
 * history and sort it.
 */
export function freshSql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  return { ...sql(strings, ...values), name: undefined }
}

const named = new Map<string, string>()

/**
 * A statement that is put together from constant texts. `text` has `$1`, `$2` … for the values, and few different
 * values itself.
 */
export function statementOf(text: string, values: unknown[]): Statement {
  const name = named.get(text) ?? createHash('sha1').update(text).digest('base64url')
  named.set(text, name)
  return { name, text, values }
}

/** As `freshSql`, of a constant text. */
export function freshStatementOf(text: string, values: unknown[]): Statement {
  return { name: undefined, text, values }
}

function textOf(strings: TemplateStringsArray, values: unknown[]): string {
  let number = 0
  const filled = values.map((value) => (value instanceof Fixed ? value.text : `$${++number}`))
  return strings.map((part, index) => part + (filled[index] ?? '')).join('')
}
