import { Marked, type Token, type Tokens } from 'marked'
import { Html, html } from '../../kernel/html.ts'
import { highlight } from './highlight.ts'

export interface Heading {
  id: string
  text: string
  depth: number
}

/** A heading with the plain text below it, for the search. */
export interface Section extends Heading {
  body: string
}

export interface Rendered {
  title: string
  html: Html
  headings: Heading[]
  sections: Section[]
}

const LANGUAGES: Record<string, string> = {
  ...{ sh: 'Shell', ts: 'TypeScript', js: 'JavaScript', json: 'JSON', python: 'Python', php: 'PHP', html: 'HTML' },
}

/** `addressOf` gives the address of a relative link or picture, or undefined for a file that is not served. */
export function renderMarkdown(markdown: string, addressOf: (href: string) => string | undefined): Rendered {
  const headings: Heading[] = []
  const used = new Set<string>()
  const claim = (id: string) => {
    if (used.has(id)) return undefined
    used.add(id)
    return id
  }
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const content = this.parser.parseInline(tokens)
        const text = plainText(content)
        const id = claim(slug(text)) ?? `${slug(text)}-${headings.length}`
        headings.push({ id, text, depth })
        return `<h${depth} id="${id}">${content}</h${depth}>\n`
      },
      code: ({ text, lang = '' }) => codeBlock(text, lang).text,
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens)
        const address = /^(https?:|mailto:)/.test(href) ? href : addressOf(href)
        return address === undefined ? content : `<a href="${html`${address}`.text}">${content}</a>`
      },
      image({ href, text }) {
        const address = addressOf(href)
        return address === undefined ? '' : html`<img src="${address}" alt="${text}" loading="lazy">`.text
      },
      // On a narrow screen a wide table scrolls by itself.
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], wanted: string) =>
          row
            .map(({ text, tokens }) => {
              const tag = text === '' ? 'td' : wanted // a screen reader would read out an empty heading
              return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`
            })
            .join('')
        const isTitled = header.some(({ text }) => text !== '')
        const body = rows.map((row) => `<tr${rowId(row, claim)}>${cells(row, 'td')}</tr>`).join('\n')
        const head = isTitled ? `<thead><tr>${cells(header, 'th')}</tr></thead>\n` : ''
        return `<div class="table" tabindex="0"><table>${head}<tbody>\n${body}\n</tbody></table></div>\n`
      },
      checkbox: () => '<span class="box" aria-hidden="true">☐</span> ',
      // Comments say which test runs a snippet. Pages have no other HTML.
      html: () => '',
    },
  })
  const text = groupCode(marked.lexer(markdown))
    .map((group) => (group.length > 1 ? `<div class="languages">${marked.parser(group)}</div>` : marked.parser(group)))
    .join('')
  return { title: headings[0]?.text ?? '', html: new Html(text), headings, sections: sectionsOf(text, headings) }
}

/** A table of codes has an id in each row, so that `/guides/errors#rate_limited` shows that row. */
function rowId(row: Tokens.TableCell[], claim: (id: string) => string | undefined): string {
  const code = row.slice(0, 2).flatMap(({ text }) => /^`([a-z]+[._][a-z._]+)`$/.exec(text)?.[1] ?? [])[0]
  const id = code && claim(code)
  return id ? ` id="${id}"` : ''
}

/** In the order in which the languages of one step stand in a page. */
const STEP_LANGUAGES = ['curl', 'TypeScript', 'PHP', 'Python']

/** Code in these languages, one after the other, is the same step. The script shows the one that was chosen. */
function groupCode(tokens: Token[]): Token[][] {
  const groups: Token[][] = []
  let last = -1
  for (const token of tokens.filter(({ type }) => type !== 'space' && type !== 'html')) {
    const rank = token.type === 'code' ? STEP_LANGUAGES.indexOf(labelOf(token.text, token.lang) ?? '') : -1
    if (last >= 0 && rank > last) groups.at(-1)?.push(token)
    else groups.push([token])
    last = rank
  }
  return groups
}

function labelOf(text: string, language = ''): string | undefined {
  return /^curl /m.test(text) ? 'curl' : LANGUAGES[language]
}

function codeBlock(text: string, language: string): Html {
  const label = labelOf(text, language)
  return html`<figure class="code">${label ? html`<figcaption>${label}</figcaption>` : null}<pre tabindex="0"><code>${highlight(text, language)}</code></pre></figure>
`
}

/** The same as GitHub's, so that a link works in both places. */
function slug(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-')
}

/** The search index has each step in one language. */
const OTHER_LANGUAGES = /(?<=<\/figure>\s)(?:<figure[\s\S]*?<\/figure>\s)+(?=<\/div>)/g

function sectionsOf(text: string, headings: Heading[]): Section[] {
  const once = text.replaceAll(OTHER_LANGUAGES, '')
  const parts = once.split(/<h[1-6] id=[^>]*>.*?<\/h[1-6]>/s).slice(1)
  return headings.map((heading, index) => ({ ...heading, body: plainText(parts[index] ?? '') }))
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

function plainText(markup: string): string {
  return markup
    .replaceAll(/<span class="box".*?<\/span>/g, '')
    .replaceAll(/<\/?(?:p|li|td|th|tr|pre|h\d|figcaption|div|ul|ol)\b[^>]*>/g, ' ')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
