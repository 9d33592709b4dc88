import { Html, html } from '../../kernel/html.ts'
import { CONTENTS, type Entry, PAGES } from './contents.ts'
import type { Heading, Rendered } from './markdown.ts'

export const GUIDES = '/guides'

export const addressOfPage = (name: string) => `${GUIDES}/${name}`

export function guidePage(entry: Entry, { title, html: text, headings }: Rendered): string {
  const sections = headings.filter(({ depth }) => depth === 2)
  const index = PAGES.indexOf(entry)
  const article = html`<article>
${sections.length > 2 ? html`<details class="sections"><summary>On this page</summary>${links(sections)}</details>` : null}
${text}
<nav class="neighbours" aria-label="Neighbours">
${neighbour('prev', 'Previous', PAGES[index - 1])}
${neighbour('next', 'Next', PAGES[index + 1])}
</nav>
</article>`
  return layout(title, article, { entry, sections })
}

function neighbour(rel: string, word: string, page: Entry | undefined): Html {
  if (!page) return html`<span></span>`
  return html`<a rel="${rel}" href="${addressOfPage(page.name)}"><small>${word}</small> ${page.label}</a>`
}

/** The first page: all guides with their summaries. */
export function contentsPage(): string {
  const item = ({ name, label, summary }: Entry) =>
    html`<li><a href="${addressOfPage(name)}">${label}</a><br><small>${summary}</small></li>`
  const parts = CONTENTS.map(
    ({ heading, pages }) => html`<section><h2>${heading}</h2><ul>${join(pages.map(item))}</ul></section>`,
  )
  return layout(
    'Guides',
    html`<article>
<h1>Guides</h1>
<p>Learn Manilla by doing. All calls are in the <a href="/docs">API reference</a>.</p>
<div class="contents">${join(parts)}</div>
</article>`,
  )
}

function layout(title: string, article: Html, current?: { entry: Entry; sections: Heading[] }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} · Manilla guides</title>
${current ? html`<meta name="description" content="${current.entry.summary}">` : null}
<link rel="icon" href="/favicon.ico">
<link rel="stylesheet" href="${GUIDES}/style.css">
<script type="module" src="${GUIDES}/script.js"></script>
</head>
<body>
<a class="skip" href="#text">Skip to the text</a>
<header>
<a class="home" href="${GUIDES}">Manilla <small>guides</small></a>
<form role="search" hidden>
<input type="search" placeholder="Search" aria-label="Search the guides" autocomplete="off" spellcheck="false">
<div class="results" hidden></div>
</form>
<a class="all" href="#contents">Contents</a>
<a href="/docs">API<span> reference</span></a>
</header>
<div class="columns">
<main id="text" tabindex="-1">${article}</main>
<nav id="contents" aria-label="Guides"${current ? null : html` class="spare"`}>${join(CONTENTS.map((part) => navigation(part, current)))}</nav>
</div>
</body>
</html>
`.text
}

function navigation(
  { heading, pages }: (typeof CONTENTS)[number],
  current: { entry: Entry; sections: Heading[] } | undefined,
): Html {
  const item = (page: Entry) => {
    if (page !== current?.entry) return html`<li><a href="${addressOfPage(page.name)}">${page.label}</a></li>`
    return html`<li><a href="${addressOfPage(page.name)}" aria-current="page">${page.label}</a>${links(current.sections)}</li>`
  }
  return html`<h2>${heading}</h2><ul>${join(pages.map(item))}</ul>`
}

function links(headings: Heading[]): Html | null {
  if (headings.length === 0) return null
  return html`<ul>${join(headings.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`))}</ul>`
}

function join(parts: Html[]): Html {
  return new Html(parts.map(({ text }) => text).join('\n'))
}
