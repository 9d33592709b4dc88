import { pageHtml } from '../../kernel/html.ts'

/** What differs between two customers of one shop who open a page that nothing has happened to yet. */
export interface Words {
  path: string
  reference: string
  amount: string
  total: string
  token: string
  key: string
  shortLink: string
}

type Word = keyof Words

// No text of ours has these characters, and names lose them.
const [BEGIN, END] = ['\u0001', '\u0002']
const GAP = new RegExp(`${BEGIN}(\\w+)${END}`)

const gap = (word: Word) => BEGIN + word + END

/** In place of the words while a blank is drawn. */
export const GAPS: Words = {
  path: gap('path'),
  reference: gap('reference'),
  amount: gap('amount'),
  total: gap('total'),
  token: gap('token'),
  key: gap('key'),
  shortLink: gap('shortLink'),
}

interface Blank<Page> {
  page: Page
  first: string
  parts: { word: Word; after: string }[]
}

const MOST_KEPT = 500 // of some 6 KB each

/** Pages with gaps, drawn once for each look and then only filled in, at a seventh of the cost of drawing each anew. */
export class Blanks<Page extends { rest: string }> {
  readonly #blanks = new Map<string, Blank<Page>>()

  /** `look` says everything that the page depends on beside the words. */
  fill(look: string, words: Words, draw: () => Page): Page {
    const { page, first, parts } = this.#blanks.get(look) ?? this.#keep(look, blankOf(draw()))
    const escaped = escapedWords(words)
    let rest = first
    for (const { word, after } of parts) rest += escaped[word] + after
    return { ...page, rest }
  }

  #keep(look: string, blank: Blank<Page>): Blank<Page> {
    if (this.#blanks.size >= MOST_KEPT) this.#blanks.clear()
    this.#blanks.set(look, blank)
    return blank
  }
}

function blankOf<Page extends { rest: string }>(page: Page): Blank<Page> {
  const [first = '', ...others] = page.rest.split(GAP)
  const parts: Blank<Page>['parts'] = []
  for (let index = 0; index < others.length; index += 2)
    parts.push({ word: others[index] as Word, after: others[index + 1] as string })
  return { page, first, parts }
}

function escapedWords({ path, reference, amount, total, token, key, shortLink }: Words): Words {
  const safe = (word: string) => pageHtml`${word}`.text
  return {
    path: safe(path),
    reference: safe(reference),
    amount: safe(amount),
    total: safe(total),
    token: safe(token),
    key: safe(key),
    shortLink: safe(shortLink),
  }
}
