import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { openBrowser } from '../../support/browser.ts'
import { fillCard, NO_MONEY, newCustomer, providerFrame, reaches, transfer, VISA } from '../../support/customer.ts'
import { createDatabase } from '../../support/database.ts'
import { eventually, request } from '../../support/paying.ts'
import { startForTest } from '../../support/process.ts'

// The real program, on an empty database: what a newcomer has after the first start. Everything begins in the demo
// shop.
const folder = await mkdtemp(join(tmpdir(), 'manilla-journeys-'))
after(() => rm(folder, { recursive: true, force: true }))
const { url } = await createDatabase({ empty: true })
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64')
// Without limits: a fast machine orders more in the demo shop than the limit of an address allows.
const service = await startForTest({ DATABASE_URL: url, SECRET_KEY, DATA_DIR: folder, RATE_LIMIT: 'off' })
const SHOP = `${service.baseUrl}/demo`
const DESKTOP = { viewport: { width: 1280, height: 900 } }
const WITHIN_2_S = { timeout: 2_000 }
const browser = await openBrowser()

const merchant = {
  call: (method: string, path: string, body?: unknown) =>
    request(service.baseUrl + path, method, service.headers, body),
  payment: async (reference: string) => (await merchant.call('GET', `/payments/v1/payments/${reference}`)).body.data,
}

async function enterShop(options: BrowserContextOptions = {}) {
  const customer = await newCustomer(browser, options)
  await customer.page.goto(SHOP)
  return customer
}

const buy = (page: Page, way: RegExp) => page.getByRole('button', { name: way }).click()
const BY_LINK = /^Pay by link/
const IN_WIDGET = /^Pay in a widget/
const BY_TRANSFER = /^Pay by bank transfer/

/** The webhooks of the order that the shop's page is about, as the shop lists them. */
const webhooks = (page: Page) => page.locator('.webhooks')

async function listsWebhooks(page: Page, ...types: string[]): Promise<void> {
  for (const type of types) await webhooks(page).getByText(type, { exact: true }).waitFor()
  const text = await webhooks(page).innerText()
  assert.ok(!/refused|does not hold/.test(text), text)
}

/** Back in the shop, which has asked the service itself. */
async function isPaidInShop(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'Thank you! It is paid.' }).waitFor()
  assert.equal(await page.locator('.told .truth dd > code').innerText(), 'successful')
}

/** Counts what the shop's own script is told by the widget, and every address that the shop's window has. */
const COUNTING = `
  window.told = []
  let made
  Object.defineProperty(window, 'Pay', {
    get: () => made,
    set(Pay) {
      const open = (options) => {
        const counted = {}
        for (const name of ['onSuccess', 'onCancel', 'onClose', 'onError'])
          counted[name] = (about) => {
            told.push(name + ' ' + (about.code ?? about.status))
            options[name]?.(about)
          }
        const handle = Pay.open({ ...options, ...counted })
        handle.result.then(({ status }) => told.push('result ' + status))
        return handle
      }
      made = { ...Pay, open }
    },
  })`

async function enterShopWithWidget(options: BrowserContextOptions = {}) {
  const customer = await newCustomer(browser, options)
  const { page } = customer
  await page.addInitScript(COUNTING)
  await page.goto(SHOP)
  const addresses: string[] = []
  page.on('framenavigated', (frame) => frame === page.mainFrame() && addresses.push(frame.url()))
  return {
    ...customer,
    addresses,
    widget: page.frameLocator('dialog iframe'),
    told: () => page.evaluate<string[]>('told'),
  }
}

test('by link: declined, told why, paid with another card, and back in the shop, which has heard of both', async () => {
  const { page, complaints } = await enterShop()
  await buy(page, BY_LINK)
  await page.waitForURL(/\/pay\/chk_/)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await fillCard(providerFrame(page), NO_MONEY)
  await reaches(page, 'failed')
  assert.match(await page.locator('#panel').innerText(), /not have enough money.*You have not been charged\./)
  await page.getByRole('button', { name: 'Try again' }).click()
  await fillCard(providerFrame(page), VISA)
  await reaches(page, 'succeeded')
  await page.waitForURL(/\/demo\/thanks\?status=successful&reference=DEMO-\w{9}$/) // by itself, after five seconds
  await isPaidInShop(page)
  await listsWebhooks(page, 'attempt.failed', 'payment.successful')
  const reference = new URL(page.url()).searchParams.get('reference') as string
  const { attempts } = await merchant.payment(reference)
  assert.deepEqual(
    attempts.map(({ status }: { status: string }) => status),
    ['failed', 'successful'],
  )
  assert.deepEqual(complaints, [])
})

for (const [screen, options] of Object.entries({ 'a desktop': DESKTOP, 'a phone': {} }))
  test(`in the widget on ${screen}: declined, told why, paid with another card, without ever leaving the shop`, async () => {
    const { page, complaints, addresses, widget, told } = await enterShopWithWidget(options)
    await buy(page, IN_WIDGET)
    await widget.getByRole('button', { name: 'Pay ₦12,500.00' }).waitFor()
    // In one moment: the frame moves while it grows to the height of the page.
    const [header, logo, cross] = await widget
      .locator('header')
      .evaluate((element) =>
        [element, element.querySelector('.logo'), element.querySelector('.x')].map((each) =>
          each?.getBoundingClientRect(),
        ),
      )
    assert.ok(header && logo && cross)
    assert.equal(cross.y, logo.y, 'the × is in the first row')
    assert.ok(header.x + header.width - cross.x - cross.width < 12, 'at its end')
    await widget.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
    await fillCard(providerFrame(widget), NO_MONEY)
    await reaches(widget, 'failed')
    assert.match(await widget.locator('#panel').innerText(), /not have enough money.*You have not been charged\./)
    await widget.getByRole('button', { name: 'Try again' }).click()
    await fillCard(providerFrame(widget), VISA)
    await reaches(widget, 'succeeded')
    assert.deepEqual(await told(), ['onSuccess successful'])
    await widget.locator('#panel').getByRole('button', { name: 'Close' }).click()
    await isPaidInShop(page)
    const focused = page.locator(':focus')
    await eventually(
      () => focused.innerText(),
      (text) => text === 'Thank you! It is paid.',
    )
    await listsWebhooks(page, 'attempt.failed', 'payment.successful')
    assert.deepEqual((await told()).toSorted(), ['onClose successful', 'onSuccess successful', 'result successful'])
    assert.deepEqual(addresses, [], 'the shop stayed where it was')
    assert.deepEqual(complaints, [])
  })

test('by transfer, in the shop’s own page: it turns to partly paid and to paid by itself, each within 2 s', async () => {
  const { page, complaints } = await enterShop(DESKTOP)
  await buy(page, BY_TRANSFER)
  await page.waitForURL(/\/demo\/transfer\?reference=DEMO-\w{9}$/)
  await page.locator('.live').waitFor()
  const reference = new URL(page.url()).searchParams.get('reference') as string
  await transfer(merchant, reference, 1_000_000)
  await page.getByRole('heading', { name: 'Transfer ₦2,500.00' }).waitFor(WITHIN_2_S)
  await transfer(merchant, reference, 250_000)
  await page.getByRole('heading', { name: 'Thank you! It is paid.' }).waitFor(WITHIN_2_S)
  await listsWebhooks(page, 'payment.successful')
  assert.deepEqual(complaints, [])
})

test('by transfer, on the payment page and in the widget: money sent while it is open turns it to success within 2 s', async () => {
  const { page, complaints } = await enterShop()
  await buy(page, BY_LINK)
  await page.getByRole('tab', { name: 'Bank transfer' }).click()
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
  const reference = (await page.locator('header p bdi').first().innerText()).trim()
  await transfer(merchant, reference, 1_250_000)
  await page.locator('#panel[data-state=succeeded]').waitFor(WITHIN_2_S)
  await page.getByRole('link', { name: 'Return to Demo Store' }).click()
  await page.waitForURL(`${SHOP}/thanks?status=successful&reference=${reference}`)
  await isPaidInShop(page)
  await listsWebhooks(page, 'payment.successful')
  assert.deepEqual(complaints, [])

  const shop = await enterShopWithWidget(DESKTOP)
  await buy(shop.page, IN_WIDGET)
  await shop.widget.getByRole('tab', { name: 'Bank transfer' }).click()
  await shop.widget.getByRole('button', { name: 'Get account number' }).click()
  await reaches(shop.widget, 'awaiting')
  await transfer(merchant, (await shop.widget.locator('header p bdi').first().innerText()).trim(), 1_250_000)
  await shop.widget.locator('#panel[data-state=succeeded]').waitFor(WITHIN_2_S)
  await shop.widget.locator('#panel').getByRole('button', { name: 'Close' }).click()
  await isPaidInShop(shop.page)
  assert.deepEqual(shop.addresses, [])
  assert.deepEqual(shop.complaints, [])
})

test('by link without scripts: declined, told why, paid, and back in the shop with its webhooks', async () => {
  const { page, complaints } = await enterShop({ javaScriptEnabled: false })
  await buy(page, BY_LINK)
  await page.waitForURL(/\/pay\/chk_/)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await page.getByRole('link', { name: 'Continue to the secure page' }).click()
  await fillCard(page, NO_MONEY)
  assert.match(await page.getByRole('alert').innerText(), /not enough money.*You have not been charged\./)
  await fillCard(page, VISA)
  await page.waitForURL(/\/demo\/thanks\?status=successful&reference=DEMO-\w{9}$/)
  await isPaidInShop(page)
  const listed = async () => {
    await page.reload()
    return (await webhooks(page).isVisible()) ? webhooks(page).innerText() : ''
  }
  await eventually(listed, (text) => /payment\.successful sequence \d+, signature verified/.test(text))
  await listsWebhooks(page, 'attempt.failed')
  assert.deepEqual(complaints, [])
})

test('by transfer without scripts: the shop sends half, then the rest, and a look shows what has come', async () => {
  const { page } = await enterShop({ javaScriptEnabled: false })
  await buy(page, BY_TRANSFER)
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Send only half' }).click()])
  const look = async () => {
    await page.getByRole('link', { name: 'look again' }).click()
    return page.locator('h1').innerText()
  }
  await eventually(look, (heading) => heading === 'Transfer ₦6,250.00')
  await Promise.all([
    page.waitForEvent('load'),
    page.getByRole('button', { name: 'Send the transfer (sandbox)' }).click(),
  ])
  await eventually(
    async () => {
      await page.reload()
      return page.locator('h1').innerText()
    },
    (heading) => heading === 'Thank you! It is paid.',
  )
})

test('the widget takes the reference that initialize answered with: a card, and an account number', async () => {
  const { page, complaints, addresses, widget, told } = await enterShopWithWidget(DESKTOP)
  const initialize = async (provider: string) => {
    const { body } = await merchant.call('POST', '/payments/v1/payments/initialize', {
      provider,
      amount: 1_250_000,
      user: { email: 'ada@example.com' },
    })
    return body.data.reference as string
  }
  const open = (reference: string) => page.evaluate(`told = [], void Pay.open({ reference: '${reference}' })`)

  const card = await initialize('gateway')
  assert.notEqual((await merchant.payment(card)).reference, card, 'it is the attempt’s')
  await open(card)
  await reaches(widget, 'provider')
  await fillCard(providerFrame(widget), VISA)
  await reaches(widget, 'succeeded')
  await widget.locator('#panel').getByRole('button', { name: 'Close' }).click()
  await eventually(told, (all) => all.length === 3)
  assert.equal((await merchant.payment(card)).status, 'successful')

  const account = await initialize('gateway-virtual-bank-account')
  await open(account)
  await reaches(widget, 'awaiting')
  await transfer(merchant, account, 1_250_000)
  await widget.locator('#panel[data-state=succeeded]').waitFor(WITHIN_2_S)
  await page.keyboard.press('Escape')
  await eventually(told, (all) => all.length === 3)
  assert.deepEqual((await told()).toSorted(), ['onClose successful', 'onSuccess successful', 'result successful'])
  assert.deepEqual(addresses, [])
  assert.deepEqual(complaints, [])
})
