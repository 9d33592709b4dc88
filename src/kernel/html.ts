/** Markup that needs no escaping. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const SPECIAL = /[&<>"']/

/** Most texts have nothing to escape, and the test takes a fifth of the time of the replacement. */
function escapeHtml(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '') : text
}

type Value = string | number | Html | null | undefined

/** Template tag that escapes every value, unless the value is itself `Html`. */
export function html(strings: TemplateStringsArray, ...values: Value[]): Html {
  let text = strings[0] as string
  for (let index = 0; index < values.length; index++) {
    const value = values[index]
    if (value !== undefined && value !== null) text += value instanceof Html ? value.text : escapeHtml(String(value))
    text += strings[index + 1]
  }
  return new Html(text)
}
