import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { findings, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMerchant, checkout, startService } from '../../support/service.ts'

let base = ''
const { app, database } = await startService({ baseUrl: () => base })
await app.listen({ host: '127.0.0.1', port: 0 })
base = `http://localhost:${(app.server.address() as { port: number }).port}`
const shop = await addMerchant(database, { name: 'Adaeze <b>Kitchen</b>', provider: 'gateway' })
const browser: Browser = await openBrowser()

/** A fresh page, and all that went wrong or went elsewhere on it. */
async function newPage(options = {}): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url())
    if (protocol.startsWith('http') && host !== new URL(base).host) complaints.push(`asked ${host}`)
  })
  return { page, complaints }
}

test('a customer opens the short link and sees who asks for how much', async () => {
  const { data } = (await checkout(app, shop, { reference: 'ORD-1' })).body
  const { page, complaints } = await newPage({ javaScriptEnabled: false })
  await page.goto(data.shortURL)
  assert.equal(page.url(), data.url)
  assert.equal(await page.locator('h1').innerText(), 'Adaeze <b>Kitchen</b>')
  assert.equal(await page.locator('.price').innerText(), '₦12,500.00')
  assert.ok(await page.getByRole('button', { name: 'Pay ₦12,500.00' }).isVisible())
  assert.deepEqual(complaints, [])
  assert.deepEqual(await page.context().cookies(), [])
})

test('the page fits a phone of 320 px without horizontal scrolling, also with long words', async () => {
  const long = await addMerchant(database, { name: 'W'.repeat(200) })
  const { data } = (await checkout(app, long, { reference: 'x'.repeat(100), amount: 999_999_999_999 })).body
  const { page } = await newPage({ viewport: { width: 320, height: 640 } })
  await page.goto(data.url)
  const [content, screen] = (await page.evaluate(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )) as [number, number]
  assert.ok(content <= screen, `${content} > ${screen}`)
})

test('the page follows the device’s dark mode', async () => {
  const { data } = (await checkout(app, shop)).body
  const colours = []
  for (const colorScheme of ['light', 'dark']) {
    const { page } = await newPage({ colorScheme })
    await page.goto(data.url)
    colours.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
  }
  assert.notEqual(colours[0], colours[1])
})

test('/docs opens, lists the calls, and asks no other host for anything', async () => {
  const { page, complaints } = await newPage()
  await page.goto(`${base}/docs`)
  await page.getByText('Create a checkout').first().waitFor()
  assert.deepEqual(complaints, [])
})

test('/guides: a search finds headings and text and opens them; without scripts the pages are plain navigation', async () => {
  const { page, complaints } = await newPage()
  await page.goto(`${base}/guides`)
  await page.keyboard.press('/')
  await page.keyboard.type('strict mode')
  await page.getByRole('link', { name: 'The widget › Strict mode' }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`${base}/guides/widget#strict-mode`)
  await page.getByRole('searchbox').fill('xyzzy is in no guide')
  await page.getByText('Nothing found.').waitFor()
  await page.getByRole('searchbox').fill('orphaned\\ [')
  await page.getByText('Nothing found.').waitFor()
  assert.deepEqual(complaints, [])

  const offline = await newPage()
  let isDown = true
  await offline.page.route('**/search.json', (route) => (isDown ? route.abort() : route.continue()))
  await offline.page.goto(`${base}/guides`)
  await offline.page.getByRole('searchbox').fill('strict')
  await offline.page.getByText('Nothing found.').waitFor()
  isDown = false
  await offline.page.getByRole('searchbox').fill('strict mode')
  await offline.page.getByRole('link', { name: 'The widget › Strict mode' }).waitFor()

  const plain = await newPage({ javaScriptEnabled: false })
  await plain.page.goto(`${base}/guides`)
  assert.equal(await plain.page.getByRole('searchbox').count(), 0)
  await plain.page.getByRole('main').getByRole('link', { name: 'Errors by code' }).click()
  await plain.page.getByRole('heading', { name: 'Failure codes' }).waitFor()
})

test('/guides fits a phone of 320 px and has no accessibility findings, in light and dark', async () => {
  const { page } = await newPage({ viewport: { width: 320, height: 640 } })
  const found: string[] = []
  for (const path of ['', '/quickstart', '/errors', '/going-live', '/providers/stripe']) {
    for (const [colorScheme, width] of [
      ['light', 320],
      ['dark', 1280],
    ] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${base}/guides${path}`)
      await loadAxe(page)
      found.push(...(await findings(page)).map((finding) => `${path} ${colorScheme}: ${finding}`))
      const excess = await page.evaluate<number>(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      if (excess > 0) found.push(`${path} ${width}: ${excess} px too wide`)
    }
  }
  assert.deepEqual(found, [])
})
