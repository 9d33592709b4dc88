import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { openBrowser } from '../../support/browser.ts'
import { openMerchantSite, VERVE, VISA } from '../../support/customer.ts'
import { AS_IN_PRODUCTION, eventually, startPaying } from '../../support/paying.ts'

const service = await startPaying({ providerHttp: AS_IN_PRODUCTION })
const shop = await service.addShop('Adaeze <b>Kitchen</b>')
const merchant = await openMerchantSite()
const browser = await openBrowser()

/** A page without scripts, and all that went wrong on it. */
async function newPage(options = {}): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(10_000)
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  return { page, complaints }
}

async function start(changes: Record<string, unknown> = {}) {
  const { data } = (await shop.initialize({ redirectURL: `${merchant}/thanks?cart=5#top`, ...changes })).body
  return { reference: String(data.reference), link: String(data.data.link) }
}

async function fill(
  page: Pick<Page, 'getByLabel' | 'getByRole'>,
  number: string,
  { save = false } = {},
): Promise<void> {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry date').fill('12 / 39')
  await page.getByLabel('Security code').fill('123')
  if (save) await page.getByLabel('Save this card for next time').check()
  await page.getByRole('button', { name: /^Pay/ }).click()
}

const alertOf = (page: Page) => page.getByRole('alert').innerText()

test('a customer is declined, reads why, pays with another card on the same page, and is back at the shop', async () => {
  const { link, reference } = await start()
  const { page, complaints } = await newPage()
  await page.goto(link)
  assert.equal(await page.locator('h1').innerText(), 'Adaeze <b>Kitchen</b>')
  assert.equal(await page.locator('.amount').innerText(), '₦12,500.00')
  await fill(page, '4000 0000 0000 9995')
  assert.equal(await alertOf(page), 'There is not enough money on this card or account. You have not been charged.')
  assert.equal(page.url(), link, 'the page stays open')
  assert.equal(await page.getByLabel('Card number').inputValue(), '', 'and forgets what was typed')
  await eventually(
    () => shop.payment(reference),
    ({ attempts }) => attempts[0].status === 'failed',
  )

  await fill(page, VISA)
  const { reference: order } = await shop.payment(reference)
  await page.waitForURL(`${merchant}/thanks?cart=5&status=successful&reference=${order}#top`)
  assert.equal(await page.locator('h1').innerText(), 'Thank you')
  const payment = await shop.payment(reference)
  assert.deepEqual([payment.status, payment.attempts[0].status], ['successful', 'successful'])
  assert.deepEqual(
    complaints.filter((text) => !/422/.test(text)),
    [],
  )
})

test('a card that needs a code is asked for it; a wrong one may be entered again', async () => {
  const { link, reference } = await start()
  const { page } = await newPage()
  await page.goto(link)
  await fill(page, VERVE)
  assert.equal(await page.locator('h2').innerText(), 'Confirm it is you')
  const code = page.getByLabel('One-time code')
  await code.fill('000000')
  await page.getByRole('button', { name: /^Pay/ }).click()
  assert.equal(await alertOf(page), 'The code was not right. You have not been charged.')
  await code.fill('123456')
  await page.getByRole('button', { name: /^Pay/ }).click()
  await page.waitForURL(/^http:\/\/localhost:\d+\/thanks\?.*status=successful/)
  assert.equal((await shop.payment(reference)).status, 'successful')
})

test('a customer who cancels on the card page returns to the payment page, not charged', async () => {
  const { link, reference } = await start()
  const { page } = await newPage()
  await page.goto(link)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForURL(/\/pay\/emr_/)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).waitFor()
  const payment = await eventually(
    () => shop.payment(reference),
    ({ attempts }) => attempts[0].status === 'failed',
  )
  assert.equal(payment.status, 'pending')
  assert.equal(payment.attempts[0].failure.code, 'customer_cancelled')
  await page.goto(link)
  assert.equal(await page.locator('h2').innerText(), 'Cancelled')
})

test('without a redirectURL the customer returns to the payment page, which shows the success', async () => {
  const { link, reference } = await start({ redirectURL: null })
  const { page } = await newPage()
  await page.goto(link)
  await fill(page, VISA)
  await page.waitForURL(`${(await shop.payment(reference)).url}?back=1`)
  assert.equal(await page.locator('h2').innerText(), 'Payment received')
})

test('a saved card is offered the next time; another card can still be used', async () => {
  const user = { email: 'returning@example.com' }
  const first = await start({ user })
  const { page } = await newPage()
  await page.goto(first.link)
  await fill(page, VISA, { save: true })
  await page.waitForURL(/^http:\/\/localhost:\d+\/thanks\?.*status=successful/)

  const second = await start({ user })
  await page.goto(second.link)
  const button = page.getByRole('button', { name: 'Pay ₦12,500.00 with Visa ending 4081' })
  await page.getByRole('link', { name: 'Use another card' }).click()
  await page.getByLabel('Card number').waitFor()
  await page.goto(second.link)
  await button.click()
  await page.waitForURL(/^http:\/\/localhost:\d+\/thanks\?.*status=successful/)
  assert.equal((await shop.payment(second.reference)).status, 'successful')
})

test('going back after paying shows that nothing is left to pay, with the way to the shop', async () => {
  const { link } = await start()
  const { page } = await newPage()
  await page.goto(link)
  await fill(page, VISA)
  await page.waitForURL(/thanks/)
  await page.goto(link)
  assert.equal(await page.locator('h2').innerText(), 'Paid')
  assert.equal(await page.getByLabel('Card number').count(), 0)
  await page.getByRole('link', { name: /^Return to/ }).click()
  await page.waitForURL(/^http:\/\/localhost:\d+\/thanks\?.*status=successful/)
})

test('a payment whose response was lost says that it is being processed', async () => {
  const { link } = await start()
  const { page } = await newPage()
  await page.goto(link)
  await fill(page, '4000 0000 0000 0119')
  assert.equal(await page.locator('h2').innerText(), 'Your payment is being processed')
  assert.equal(await page.getByRole('button').count(), 0)
})

test('a mistake in the form is shown beside its field and charges nothing', async () => {
  const { link, reference } = await start()
  const { page } = await newPage()
  await page.goto(link)
  await fill(page, '1234')
  assert.equal(await alertOf(page), 'Check the card number. One or more digits look wrong.')
  const field = page.getByLabel('Card number')
  assert.equal(await field.getAttribute('aria-invalid'), 'true')
  assert.equal(await page.locator(':focus').getAttribute('name'), 'number', 'the cursor is where the mistake is')
  assert.equal((await shop.payment(reference)).attempts[0].status, 'pending')
})

test('in a 390 by 400 frame on another site the button is visible, a decline is shown, and a paid customer continues in the frame', async () => {
  const { link, reference } = await start()
  const { page, complaints } = await newPage({ javaScriptEnabled: true, viewport: { width: 390, height: 400 } })
  await page.goto(`${merchant}/around?${link}`)
  const frame = page.frameLocator('iframe')
  const button = frame.getByRole('button', { name: /^Pay/ })
  const box = await button.boundingBox()
  assert.ok(box && box.y + box.height <= 400, `the button ends at ${box && box.y + box.height}`)
  await fill(frame, '4000 0000 0000 9995')
  assert.match(await frame.getByRole('alert').innerText(), /You have not been charged\.$/)
  await fill(frame, VISA)
  await frame.getByRole('heading', { name: 'Thank you' }).waitFor()
  assert.equal(page.url(), `${merchant}/around?${link}`)
  assert.equal((await shop.payment(reference)).status, 'successful')
  assert.deepEqual(
    complaints.filter((text) => !/422/.test(text)),
    [],
  )
})

test('the keyboard alone pays: Tab from field to field, Enter to send', async () => {
  const { link, reference } = await start()
  const { page } = await newPage()
  await page.goto(link)
  for (const text of [VISA, '12 / 39', '123']) {
    await page.keyboard.press('Tab')
    await page.keyboard.type(text)
  }
  await page.keyboard.press('Enter')
  await page.waitForURL(/^http:\/\/localhost:\d+\/thanks\?.*status=successful/)
  assert.equal((await shop.payment(reference)).status, 'successful')
})

test('it fits a phone of 320 px without scrolling sideways, with every card shown', async () => {
  const long = await service.addShop('W'.repeat(200))
  const { data } = (await long.initialize({ amount: 999_999_999_999 })).body
  const { page } = await newPage({ javaScriptEnabled: true, viewport: { width: 320, height: 640 } })
  await page.goto(data.data.link)
  await page.getByText('Test cards').click()
  const [content, screen] = (await page.evaluate(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )) as [number, number]
  assert.ok(content <= screen, `${content} > ${screen}`)
})
