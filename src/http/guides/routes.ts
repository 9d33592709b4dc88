import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import type { Assets } from '../../../web/build.ts'
import { Problem } from '../../kernel/problem.ts'
import type { App } from '../server/framework.ts'
import { pathOf } from '../server/problems.ts'
import { prepareLater } from '../server/static-text.ts'
import { type Entry, PAGES } from './contents.ts'
import type { Rendered } from './markdown.ts'
import { addressOfPage, contentsPage, GUIDES, guidePage } from './page.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
/** Beside the pages that show them. */
const PICTURES = ['images', 'channels/images'].flatMap((folder) =>
  readdirSync(join(DOCS, folder)).map((name) => `${folder}/${name}`),
)
/** The address that the Markdown files use for the service. */
const SAMPLE_ADDRESS = 'http://localhost:3000'

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'cache-control': 'no-cache', // the ETag answers whether the copy is current
}

const headersOf = (type: string) => ({
  ...HEADERS,
  'content-type': type.startsWith('image/') ? type : `${type}; charset=utf-8`,
})

/** The Markdown files of `docs/` as pages with navigation and search, each rendered for its first reader. */
export function guideRoutes(app: App, { assets, baseUrl }: { assets: Assets; baseUrl: () => string }): void {
  const read = async (entry: Entry) => render(entry, baseUrl())
  const served = new Map<string, ReturnType<typeof prepareLater>>()
  const serve = (path: string, type: string, text: Parameters<typeof prepareLater>[0]) =>
    served.set(path, prepareLater(text, headersOf(type)))
  serve(GUIDES, 'text/html', contentsPage)
  for (const entry of PAGES)
    serve(addressOfPage(entry.name), 'text/html', async () => guidePage(entry, await read(entry)))
  serve(`${GUIDES}/style.css`, 'text/css', () => assets.guidesStyle)
  serve(`${GUIDES}/script.js`, 'text/javascript', () => assets.guidesScript)
  for (const name of PICTURES) serve(`${GUIDES}/${name}`, 'image/webp', () => readFile(join(DOCS, name)))
  serve(`${GUIDES}/search.json`, 'application/json', async () => JSON.stringify(await searchIndex(read)))

  for (const url of [GUIDES, `${GUIDES}/*`]) {
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      const answer = served.get(pathOf(request).replace(/\/$/, ''))
      if (!answer) throw new Problem('not_found', `There is nothing at ${pathOf(request)}.`)
      return answer(request, reply)
    })
  }
}

async function render({ name }: Entry, address: string): Promise<Rendered> {
  const { renderMarkdown } = await import('./markdown.ts')
  const markdown = await readFile(join(DOCS, `${name}.md`), 'utf8')
  return renderMarkdown(markdown.replaceAll(SAMPLE_ADDRESS, address), (href) => addressOf(name, href))
}

/** `webhooks.md#endpoints` is served, `../SECURITY.md` is not. */
function addressOf(from: string, href: string): string | undefined {
  const [file = '', anchor] = href.split('#')
  if (file === '') return href
  const target = posix.join(posix.dirname(from), file)
  if (target === 'openapi.json') return '/openapi.json'
  if (PICTURES.includes(target)) return `${GUIDES}/${target}`
  const page = PAGES.find(({ name }) => `${name}.md` === target)
  return page && addressOfPage(page.name) + (anchor ? `#${anchor}` : '')
}

/** Rows of [address, page, heading, text]. */
async function searchIndex(read: (entry: Entry) => Promise<Rendered>): Promise<string[][]> {
  const rows: string[][] = []
  for (const entry of PAGES) {
    for (const { id, text, depth, body } of (await read(entry)).sections) {
      const isTop = depth === 1
      rows.push([addressOfPage(entry.name) + (isTop ? '' : `#${id}`), entry.label, isTop ? '' : text, body])
    }
  }
  return rows
}
