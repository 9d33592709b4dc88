import { createHash } from 'node:crypto'

/** A statement and its values, kept apart all the way to PostgreSQL: no value is ever part of the text. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** Text of ours, the same at each call, to be part of a statement: a list of columns, say. Never anything that came from outside. */
export class Fixed {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

// A template's strings are one object per place in the source, so text and name are made once per place.
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

function textOf(strings: TemplateStringsArray, values: unknown[]): string {
  let number = 0
  const filled = values.map((value) => (value instanceof Fixed ? value.text : `$${++number}`))
  return strings.map((part, index) => part + (filled[index] ?? '')).join('')
}
