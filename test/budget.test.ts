import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliCompressSync, gunzipSync } from 'node:zlib'
import { PAGES } from '../src/http/guides/contents.ts'
import { LANGUAGES } from '../src/merchants/brand.ts'
import { buildAssets } from '../web/build.ts'
import { startPaying } from './support/paying.ts'

/** Size budgets of the page, the widget and the dashboard, in compressed bytes. */
const KB = 1024
const BUDGET = {
  page: 10 * KB,
  pageScript: 8 * KB,
  widget: 3 * KB,
  status: 300,
  dashboard: 60 * KB,
  dashboardScreen: 30 * KB,
  guide: 10 * KB,
  guideAssets: 4 * KB,
  guideSearch: 96 * KB,
}

const { addShop, baseUrl } = await startPaying()
const shop = await addShop('Adaeze Kitchen and Everything That Grows There')
const assets = await buildAssets()

async function newPayment(changes = {}): Promise<string> {
  const { body } = await shop.call('POST', '/payments/v1/checkouts', {
    amount: 1_250_000,
    country: 'NG',
    customerBearsCharge: true,
    user: { email: 'ada@example.com' },
    ...changes,
  })
  return String(body.data.url)
}

/** The bytes as sent: fetch would decompress them. */
async function bytesOf(url: string, codings = 'gzip, br'): Promise<{ sent: Buffer; html: string; headers: Headers }> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    request(url, { headers: { 'accept-encoding': codings } }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const sent = Buffer.concat(chunks)
      const html = gunzipSync(sent).toString()
      resolve({ sent, html, headers: new Headers(response.headers as Record<string, string>) })
    })
      .on('error', reject)
      .end()
  })
}

test('the page is at most 10 KB in one response, with all methods, in every language', async () => {
  const nigeria = await newPayment()
  const ghana = await newPayment({
    country: 'GH',
    currency: 'GHS',
    user: { email: 'ama@example.com', phoneNumber: '0551234987' },
  })
  for (const language of LANGUAGES) {
    for (const [country, url, methods] of [
      ['Nigeria', nigeria, 5],
      ['Ghana', ghana, 6],
    ] as const) {
      const { sent, html } = await bytesOf(`${url}?lang=${language}`)
      assert.equal(html.match(/ data-method="/g)?.length, methods)
      const brotli = brotliCompressSync(html).length
      console.log(`page in ${language}, ${country}: ${sent.length} bytes as sent, ${brotli} with brotli`)
      assert.ok(sent.length <= BUDGET.page && brotli <= BUDGET.page)
    }
  }
})

test('its script is at most 8 KB, the widget at most 3 KB', () => {
  for (const [name, text, limit] of [
    ['page script', assets.checkoutScript, BUDGET.pageScript],
    ['widget', assets.widgetScript, BUDGET.widget],
    ['widget as a module', assets.widgetModule, BUDGET.widget],
  ] as const) {
    const size = brotliCompressSync(text).length
    console.log(`${name}: ${size} bytes`)
    assert.ok(size <= limit, `${name}: ${size} bytes`)
  }
})

test('the page names no other host, sets no cookie and has a strict CSP', async () => {
  const { html, headers } = await bytesOf(await newPayment())
  const hosts = [...html.matchAll(/(?:src|href|action)="(https?:\/\/[^"/]+)/g)].map(([, host]) => host)
  assert.deepEqual(
    [...new Set(hosts)].filter((host) => host !== baseUrl),
    [],
  )
  assert.equal(headers.get('set-cookie'), null)
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(
    policy,
    /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+' 'sha256-[\w+/=]+';/,
  )
  assert.doesNotMatch(policy, /unsafe|\*|https?:|nonce/)
})

test('the dashboard: the first screen is at most 60 KB, every further screen at most 30 KB', () => {
  const { script, style, files, imports } = assets.dashboard
  const withImports = (name: string): string[] => [name, ...(imports[name]?.atOnce ?? []).flatMap(withImports)]
  const sizes = Object.fromEntries(Object.entries(files).map(([name, text]) => [name, brotliCompressSync(text).length]))
  const sizeOf = (names: string[]) => [...new Set(names)].reduce((sum, name) => sum + (sizes[name] ?? Number.NaN), 0)
  const shell = [style, ...withImports(script)]
  const screens = imports[script]?.onDemand ?? []
  assert.ok(screens.length >= 7 && shell.length >= 3, 'the reader of imports works')
  for (const name of ['overview', 'sign-in', 'welcome']) {
    const screen = screens.find((each) => each.startsWith(`${name}-`)) ?? ''
    const size = sizeOf([...shell, ...withImports(screen)])
    console.log(`dashboard, first screen ${name}: ${size} bytes`)
    assert.ok(screen && size <= BUDGET.dashboard, `${name}: ${size} bytes`)
  }
  const onDemand = (name: string): string[] =>
    (imports[name]?.onDemand ?? []).flatMap((each) => [each, ...onDemand(each)])
  for (const screen of new Set(withImports(script).flatMap(onDemand))) {
    const size = sizeOf(withImports(screen).filter((name) => !shell.includes(name)))
    console.log(`dashboard, screen ${screen}: ${size} bytes`)
    assert.ok(size <= BUDGET.dashboardScreen, `${screen}: ${size} bytes`)
  }
})

test('the dashboard names no other host, has a strict CSP, and its assets are immutable', async () => {
  const { html, headers } = await bytesOf(`${baseUrl}/dashboard`, 'gzip')
  assert.match(
    headers.get('content-security-policy') ?? '',
    /^default-src 'none'; script-src 'self'; style-src 'self';/,
  )
  assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe|\*|https?:|nonce/)
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => String(link))
  assert.ok(links.every((link) => link.startsWith('/')) && links.length >= 3, links.join(' '))
  for (const link of links.filter((each) => each.startsWith('/dashboard/'))) {
    const asset = await fetch(baseUrl + link)
    assert.equal(asset.status, 200)
    assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.doesNotMatch(await asset.text(), /\bstyle:\{/, 'no inline style attributes')
  }
  assert.equal((await fetch(`${baseUrl}/dashboard/assets/main-OLD.js`)).status, 404)
})

test('a guide is at most 10 KB, its style and script 4 KB, and the search index, loaded on demand, 96 KB', async () => {
  const read = async (path: string) => (await fetch(baseUrl + path)).text()
  const sizeOf = async (path: string) => brotliCompressSync(await read(path)).length
  const pages = await Promise.all(PAGES.map(async ({ name }) => ({ name, text: await read(`/guides/${name}`) })))
  // Compressing takes a second for ten pages: the longest five have the largest among them.
  const longest = pages.toSorted((a, b) => b.text.length - a.text.length).slice(0, 5)
  const sizes = longest.map(({ name, text }) => [name, brotliCompressSync(text).length] as const)
  const [largest, size] = sizes.reduce((most, each) => (each[1] > most[1] ? each : most))
  const shared = (await sizeOf('/guides/style.css')) + (await sizeOf('/guides/script.js'))
  const search = await sizeOf('/guides/search.json')
  console.log(`guides: largest ${largest} ${size} bytes, style and script ${shared}, search index ${search}`)
  assert.ok(size <= BUDGET.guide && shared <= BUDGET.guideAssets && search <= BUDGET.guideSearch)
})
