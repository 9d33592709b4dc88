/**
 * Encodes a column of values as a PostgreSQL array literal. The driver's own encoder costs several times as much: it
 * handles nested arrays, dates and buffers in every element.
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
