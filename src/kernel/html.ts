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

type Value = string | number | Html | null | undefined

/** Every value is escaped, unless it is itself made by such a tag: forgetting is not possible. */
function tag(escapeText: (text: string) => string) {
  return (strings: TemplateStringsArray, ...values: Value[]): Html => {
    let text = strings[0] as string
    for (let index = 0; index < values.length; index++) {
      const value = values[index]
      if (value !== undefined && value !== null) text += value instanceof Html ? value.text : escapeText(String(value))
      text += strings[index + 1]
    }
    return new Html(text)
  }
}

export const html = tag(escapeHtml)

/**
 * For whole pages: signs such as \u20a6 and \u2019 become references as well, for then the page is ASCII, of which bytes are made four times faster. Other
 * scripts stay as they are, since references would make them three times as long.
 */
export const pageHtml = tag(escapeSigns)

const SIGN = /[&<>"'\u0080-\u024f\u2000-\u20cf]/
const SIGNS = new RegExp(SIGN, 'g')
const MOST_REMEMBERED = 1_000
const remembered = new Map<string, string>()

/** A page says the same few things with signs in them again and again. */
function escapeSigns(text: string): string {
  if (!SIGN.test(text)) return text
  const known = remembered.get(text)
  if (known !== undefined) return known
  const escaped = narrow(text.replaceAll(SIGNS, (sign) => ESCAPES[sign] ?? `&#${sign.charCodeAt(0)};`))
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  if (text.length < 200) remembered.set(text, escaped)
  return escaped
}

/** V8 keeps what comes of a text with wide letters as wide, though it has none any more, and then the whole page with it. */
function narrow(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? Buffer.from(text, 'latin1').toString('latin1') : text
}
