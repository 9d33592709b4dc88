/** Search over headings and text, and a button that copies code. Without this script the pages are plain navigation. */
type Row = [address: string, page: string, heading: string, text: string]

const MAX_RESULTS = 12
const AROUND = 70

const form = document.querySelector('form') as HTMLFormElement
const input = form.querySelector('input') as HTMLInputElement
const results = form.querySelector('.results') as HTMLElement
let index: Promise<Row[]> | undefined

form.hidden = false
form.addEventListener('submit', (event) => {
  event.preventDefault()
  results.querySelector('a')?.click()
})
input.addEventListener('focus', () => void rows())
input.addEventListener('input', () => void search())
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault()
    input.focus()
  }
  if (event.key === 'Escape') results.hidden = true
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') move(event)
})
document.addEventListener('click', ({ target }) => {
  if (!form.contains(target as Node) || (target as Element).closest('a')) results.hidden = true
})

function rows(): Promise<Row[]> {
  index ??= fetch('/guides/search.json')
    .then((answer) => answer.json())
    .catch(() => {
      index = undefined // the next key tries again
      return []
    })
  return index
}

async function search(): Promise<void> {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  const all = await rows()
  const found = all
    .map((row) => ({ row, score: scoreOf(row, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_RESULTS)
  results.hidden = words.length === 0
  results.replaceChildren(...found.map(({ row }) => resultOf(row, words)))
  if (found.length === 0) results.textContent = 'Nothing found.'
}

/** Every word must occur. A heading counts more than text, and the beginning of a word more than its middle. */
function scoreOf([, page, heading, text]: Row, words: string[]): number {
  let score = 0
  for (const word of words) {
    const of = (where: string, weight: number) => {
      const at = where.toLowerCase().indexOf(word)
      if (at < 0) return 0
      return /\w/.test(where[at - 1] ?? ' ') ? weight : 2 * weight
    }
    const gained = of(heading, 8) + of(page, heading ? 2 : 8) + of(text, 1)
    if (gained === 0) return 0
    score += gained
  }
  return score
}

function resultOf([address, page, heading, text]: Row, words: string[]): HTMLElement {
  const link = document.createElement('a')
  link.href = address
  const title = document.createElement('strong')
  title.textContent = heading ? `${page} › ${heading}` : page
  const at = Math.max(0, ...words.map((word) => text.toLowerCase().indexOf(word)))
  const excerpt = document.createElement('small')
  // Whole words only.
  const start = at > AROUND ? text.indexOf(' ', at - AROUND) + 1 : 0
  const end = text.lastIndexOf(' ', at + 2 * AROUND)
  excerpt.append(...withMarks(text.slice(start, text.length > at + 2 * AROUND ? end : undefined), words))
  link.append(title, excerpt)
  return link
}

function withMarks(text: string, words: string[]): (string | Node)[] {
  const pattern = words.map((word) => word.replaceAll(/[^\w\s]/g, '\\$&')).join('|')
  return text.split(new RegExp(`(${pattern})`, 'i')).map((part, place) => {
    if (place % 2 === 0) return part
    const mark = document.createElement('mark')
    mark.textContent = part
    return mark
  })
}

/** The arrow keys move between the field and the results. */
function move(event: KeyboardEvent): void {
  const stops = [input, ...results.querySelectorAll('a')]
  const now = stops.indexOf(document.activeElement as HTMLInputElement)
  if (results.hidden || now < 0) return
  event.preventDefault()
  stops[now + (event.key === 'ArrowDown' ? 1 : -1)]?.focus()
}

/** The languages of a step are one after the other; the switch shows one of them, here and on the next page. */
const CHOSEN = 'manilla-language'

function choose(language: string | null): void {
  for (const group of document.querySelectorAll('.languages')) {
    const blocks = [...group.querySelectorAll<HTMLElement>('figure')]
    const shown = blocks.find((block) => labelOf(block) === language) ?? blocks[0]
    for (const block of blocks) block.hidden = block !== shown
    for (const button of group.querySelectorAll('.switch button'))
      button.setAttribute('aria-pressed', String(button.textContent === (shown && labelOf(shown))))
  }
}

function labelOf(block: HTMLElement): string {
  return block.querySelector('figcaption')?.textContent ?? ''
}

for (const group of document.querySelectorAll('.languages')) {
  const buttons = document.createElement('div')
  buttons.className = 'switch'
  buttons.role = 'group'
  buttons.ariaLabel = 'Language'
  for (const block of group.querySelectorAll('figure')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = labelOf(block)
    button.addEventListener('click', () => {
      // The blocks above may get another height: the button stays where it was pressed.
      const { top } = button.getBoundingClientRect()
      choose(button.textContent)
      scrollBy({ top: button.getBoundingClientRect().top - top, behavior: 'instant' })
      try {
        localStorage.setItem(CHOSEN, button.textContent ?? '')
      } catch {
        // A browser without storage chooses again on the next page.
      }
    })
    buttons.append(button, ' ')
  }
  group.prepend(buttons)
}

function remembered(): string | null {
  try {
    return localStorage.getItem(CHOSEN)
  } catch {
    return null
  }
}

choose(remembered())

for (const block of document.querySelectorAll('figure.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const code = block.querySelector('code') as HTMLElement
    // Browsers have no clipboard without https: the code is selected instead.
    if (!navigator.clipboard) return getSelection()?.selectAllChildren(code)
    await navigator.clipboard.writeText(code.textContent ?? '')
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  block.append(button)
}
