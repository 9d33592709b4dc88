/**
 * A column of values as PostgreSQL writes an array. The driver would do it too, at several times the cost: it treats every
 * element as if it might be a nested array, a date or a buffer.
 */
export function textArray(values: readonly (string | null)[]): string {
  let literal = '{'
  for (const [index, value] of values.entries()) {
    if (index > 0) literal += ','
    literal += value === null ? 'NULL' : `"${NEEDS_ESCAPE.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`
  }
  return `${literal}}`
}

const NEEDS_ESCAPE = /["\\]/
