import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from '../../support/browser.ts'
import { createDatabase } from '../../support/database.ts'
import { eventually } from '../../support/paying.ts'
import { startForTest } from '../../support/process.ts'

const folder = await mkdtemp(join(tmpdir(), 'manilla-demo-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url } = await createDatabase({ empty: true })
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64')
const service = await startForTest({ DATABASE_URL: url, SECRET_KEY, DATA_DIR: folder, RATE_LIMIT: 'off' })
const shop = `${service.baseUrl}/demo`
const browser = await openBrowser()
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  return page
}

const lines = (page: Page) => page.getByRole('list', { name: 'Requests, redirects and webhooks' })

test('by link, without scripts: from the shop to the payment page and back to a verified thank-you page', async () => {
  const page = await newPage({ javaScriptEnabled: false })
  await page.goto(shop)
  await page.getByLabel(/Talking drum/).check()
  await page.getByRole('button', { name: /^Pay by link/ }).click()
  await page.waitForURL(/\/pay\/chk_/)
  assert.match(await page.locator('body').innerText(), /₦38,000\.00/)

  await page.goto(shop)
  const line = lines(page).getByRole('listitem').filter({ hasText: 'Customer sent to' })
  assert.match(await line.innerText(), /\/pay\/chk_/)
  const reference = /DEMO-\w{9}/.exec(await lines(page).innerText())?.[0]
  await page.goto(`${shop}/thanks?status=successful&reference=${reference}`)
  await page.getByText('They differ. A shop believes the service.').waitFor()
})

test('the shop’s URL works with a trailing slash', async () => {
  const page = await newPage()
  await page.goto(`${shop}/`)
  await page.locator('.live').waitFor()
  await page.getByRole('button', { name: /^Pay by link/ }).click()
  await page.waitForURL(/\/pay\/chk_/)
})

test('a visitor of another host name is redirected to the payment page', async () => {
  const page = await newPage()
  await page.goto(shop.replace('localhost', '127.0.0.1'))
  await page.getByRole('button', { name: /^Pay by link/ }).click()
  await page.waitForURL(/^http:\/\/localhost:\d+\/pay\/chk_/)
})

test('by transfer: the account is shown, the money is sent, and the page turns to paid by itself', async () => {
  const page = await newPage()
  const [watcher, stranger] = [await page.context().newPage(), await newPage()]
  for (const other of [watcher, stranger]) {
    await other.goto(shop)
    await other.locator('.live').waitFor()
  }
  await page.goto(shop)
  await page.getByRole('button', { name: /^Pay by bank transfer/ }).click()
  await page.getByRole('heading', { name: 'Transfer ₦12,500.00' }).waitFor()
  assert.match(await page.locator('.account').innerText(), /Account number\s+\d{10}/)
  await page.locator('.live').waitFor()

  await page.getByRole('button', { name: 'Send the transfer (sandbox)' }).click()
  await page.getByRole('heading', { name: 'Thank you! It is paid.' }).waitFor()
  await page.locator('.webhooks').getByText('payment.successful').waitFor()
  assert.match(await page.locator('.webhooks').innerText(), /sequence \d+, signature verified/)
  const webhook = lines(watcher).getByRole('listitem').filter({ hasText: 'payment.successful' })
  await webhook.waitFor()
  await webhook.getByText('body').click()
  assert.match(await webhook.locator('pre').innerText(), /"status": "successful"/)
  const panel = await lines(watcher).textContent()
  assert.match(panel ?? '', /"email":"a•••@example\.com"/)
  assert.ok(!panel?.includes('ada@'), 'no e-mail address')
  assert.match(await lines(watcher).innerText(), /POST \/payments\/v1\/payments\/initialize/)
  assert.equal(await lines(stranger).getByRole('listitem').count(), 0)
})

test('the widget opens with the reference; its result is shown beside the verified status', async () => {
  const page = await newPage()
  // In place of the widget's own script: that it is asked in the right way is all that is looked at here.
  await page.route('**/widget/v1.js', (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: 'window.Pay = { open(options) { window.opened = options } }',
    }),
  )
  await page.goto(shop)
  assert.match((await page.locator('script[data-client-id]').getAttribute('data-client-id')) ?? '', /^cid_sandbox_/)
  await page.getByRole('button', { name: /^Pay in a widget/ }).click()
  await lines(page).getByText('Pay.open(').waitFor()
  const opened = () => page.evaluate('window.opened?.reference')
  assert.match(String(await eventually(opened, (reference) => reference !== undefined)), /^DEMO-/)
  await page.evaluate('window.opened.onSuccess({ reference: window.opened.reference, status: "successful" })')
  await page.getByText('The widget says (onSuccess)').waitFor()
  await page.getByText('They differ. A shop believes the service.').waitFor()
  assert.equal(page.url(), shop)
  await page.evaluate('window.opened.onClose({ reference: window.opened.reference, status: "pending" })')
  await page.getByText('The widget says (onClose)').waitFor()
  await lines(page).getByText('onSuccess({ reference, status: "successful" })').waitFor()
})

test('without the widget the customer is redirected to the link; a mistake is shown on the page', async () => {
  const page = await newPage()
  await page.route('**/widget/v1.js', (route) => route.abort())
  await page.goto(shop)
  await page.getByRole('button', { name: /^Pay in a widget/ }).click()
  await page.waitForURL(/\/pay\/chk_/)

  await page.route('**/widget/v1.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: 'window.Pay = { open() {} }' }),
  )
  await page.goto(shop)
  await page.getByLabel('Your e-mail').fill('ada@nowhere')
  await page.getByRole('button', { name: /^Pay in a widget/ }).click()
  await page.getByRole('alert').waitFor()
})

test('every page of the shop is accessible, light and dark, and fits a phone of 320 px', async () => {
  const maker = await newPage()
  await maker.goto(shop)
  await maker.getByRole('button', { name: /^Pay by bank transfer/ }).click()
  await maker.waitForURL(/reference=/)
  const transfer = maker.url()
  const thanks = `${transfer.replace('/transfer', '/thanks')}&status=successful`
  for (const [colorScheme, width] of [
    ['light', 320],
    ['light', 1280],
    ['dark', 320],
    ['dark', 1280],
  ] as const) {
    const page = await newPage({ colorScheme, viewport: { width, height: 800 }, reducedMotion: 'reduce' })
    for (const address of [shop, transfer, thanks]) {
      await page.goto(address)
      await page.locator('.live').waitFor()
      await page.evaluate(axe)
      const { violations } = (await page.evaluate('axe.run()')) as {
        violations: { id: string; nodes: { html: string }[] }[]
      }
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`)
      assert.deepEqual(found, [], `${colorScheme} ${width} ${address}`)
      const [content, screen] = (await page.evaluate(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )) as [number, number]
      assert.ok(content <= screen, `${content} > ${screen}`)
    }
  }
})
