/** Markup that is safe to send as it is. Made by the `html` tag alone. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}

/** Every value is escaped, unless it is itself made by this tag: forgetting is not possible. */
export function html(strings: TemplateStringsArray, ...values: (string | number | Html | null | undefined)[]): Html {
  const parts = strings.map((part, index) => {
    const value = values[index]
    if (value === undefined || value === null) return part
    return part + (value instanceof Html ? value.text : escapeHtml(String(value)))
  })
  return new Html(parts.join(''))
}
