import { isMisspellingOf } from '../../kernel/misspelling.ts'
import { type Mistake, pointerPart } from '../../kernel/problem.ts'

// Bounds the comparisons for a body with thousands of fields.
const MAX_FIELDS = 200

/**
 * Unknown fields are ignored, for forward compatibility. A likely misspelling such as `redirectUrl` is refused,
 * because ignoring it would lose the merchant's redirect.
 */
export function misspelledFields(body: Record<string, unknown>, known: readonly string[], pointer = ''): Mistake[] {
  return Object.keys(body)
    .slice(0, MAX_FIELDS)
    .flatMap((field) => {
      if (known.includes(field)) return []
      const meant = known.find((name) => isMisspellingOf(field, name))
      if (!meant) return []
      return [
        {
          pointer: `${pointer}/${pointerPart(field)}`,
          code: 'unknown_field',
          message: `There is no field \`${field}\`; did you mean \`${meant}\`?`,
        },
      ]
    })
}
