import { Html, html } from '../../kernel/html.ts'

const KEYWORDS =
  'import|from|export|const|let|new|await|async|function|return|if|else|for|of|throw|try|catch|type|interface|def|in|not|is'
const C_LIKE = /(?<comment>\/\/.*|\/\*[\s\S]*?\*\/)/
const HASH = /(?<comment>(?<=^|\s)#.*)/
const STRING = /(?<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`)/
const COMMENTS: Record<string, RegExp> = { ts: C_LIKE, js: C_LIKE, php: C_LIKE, python: HASH, sh: HASH }

/** Marks comments, strings and keywords. It is not a parser: an unknown language stays plain. */
export function highlight(text: string, language: string): Html {
  const comment = COMMENTS[language]
  if (!comment && language !== 'json') return html`${text}`
  const keyword =
    language === 'sh' || language === 'json' ? '(?<keyword>\\bcurl\\b)' : `(?<keyword>\\b(?:${KEYWORDS})\\b)`
  const pattern = new RegExp([comment?.source, STRING.source, keyword].filter(Boolean).join('|'), 'gm')
  let marked = ''
  let end = 0
  for (const match of text.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0]
    marked += html`${text.slice(end, match.index)}<span class="${kind}">${match[0]}</span>`.text
    end = match.index + match[0].length
  }
  return new Html(marked + html`${text.slice(end)}`.text)
}
