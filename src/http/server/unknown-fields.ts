import { isMisspellingOf } from '../../kernel/misspelling.ts'
import { type Mistake, pointerPart } from '../../kernel/problem.ts'

// Nobody misspells one field among thousands; comparing them all would only cost us time.
const MAX_FIELDS = 200

/**
 * Fields that we do not know are ignored, so that clients may send more than we need. But `redirectUrl` is surely meant as
 * `redirectURL`, and ignoring it would cost the merchant their redirect: such a one is pointed out.
 */
export function nearMisses(body: Record<string, unknown>, known: readonly string[], pointer = ''): Mistake[] {
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
