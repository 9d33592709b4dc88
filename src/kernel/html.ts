/** Markup that is safe to send as it is. Made by the `html` tag alone. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const SPECIAL = /[&<>"']/

function escapeHtml(text: string): string {
  // Most have nothing to escape, and looking costs less than replacing.
  return SPECIAL.test(text) ? text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '') : text
}

/** Every value is escaped, unless it is itself made by this tag: forgetting is not possible. */
export function html(strings: TemplateStringsArray, ...values: (string | number | Html | null | undefined)[]): Html {
  let text = strings[0] as string
  for (const [index, value] of values.entries()) {
    if (value !== undefined && value !== null) text += value instanceof Html ? value.text : escapeHtml(String(value))
    text += strings[index + 1]
  }
  return new Html(text)
}
