import { createHash } from 'node:crypto'

/** A statement and its values, kept apart all the way to PostgreSQL: no value is ever part of the text. */
export interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

// A template's strings are one object per place in the source, so text and name are made once per place.
const seen = new WeakMap<TemplateStringsArray, { name: string; text: string }>()

/** `sql\`select … where id = ${id}\``. Prepared by name: PostgreSQL parses and plans each one once per connection. */
export function sql(strings: TemplateStringsArray, ...values: unknown[]): Statement {
  let known = seen.get(strings)
  if (!known) {
    const text = strings.reduce((before, part, index) => `${before}$${index}${part}`)
    known = { name: createHash('sha1').update(text).digest('base64url'), text }
    seen.set(strings, known)
  }
  return { ...known, values }
}
