import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { findings, loadAxe } from '../../support/axe.ts'
import { focusedOn, newCheckout, newCustomer, reaches, spokenOn, stateOf, stopTime } from '../../support/customer.ts'
import { PROMPT } from '../../support/every-state.ts'
import { openShop } from '../../support/open-shop.ts'
import { eventually } from '../../support/paying.ts'
import { letPass } from '../../support/payment-records.ts'

// Mobile money, USSD and QR in a browser with scripts. Without them: test/journeys/paying-by-phone.test.ts.

const { service, shop, browser } = await openShop()
const { database } = service
const GHANA = { country: 'GH', currency: 'GHS' }

async function open(
  changes: Record<string, unknown> = GHANA,
  query = '',
): Promise<{ page: Page; id: string; complaints: string[] }> {
  const { url, id } = await newCheckout(shop, changes)
  const { page, complaints } = await newCustomer(browser)
  await page.goto(url + query)
  return { page, id, complaints }
}

const send = (page: Page) => page.getByRole('button', { name: /^Pay GH/ }).click()

async function askPhone(page: Page, number: string): Promise<void> {
  await page.getByLabel('Mobile money number').fill(number)
  await send(page)
}

/** The customer on the phone or in the app of the bank. */
async function act(id: string, answer: 'approve' | 'refuse'): Promise<void> {
  const { providerReference } = (await shop.payment(id)).attempts.at(-1)
  const { status, body } = await shop.call('POST', `/sandbox/gateway/prompts/${providerReference}`, { answer })
  assert.equal(status, 200, JSON.stringify(body))
}

const focusedId = (page: Page) => page.evaluate('document.activeElement.id')

test('the network follows the number until the customer chooses one', async () => {
  const { page } = await open()
  const number = page.getByLabel('Mobile money number')
  const isChosen = (name: string) => page.getByLabel(name).isChecked()
  for (const [typed, network] of [
    ['055', 'MTN MoMo'],
    ['020 1', 'Telecel Cash'],
    ['+233 26', 'AT Money'],
  ] as const) {
    await number.fill(typed)
    assert.equal(await isChosen(network), true, typed)
  }
  await page.getByLabel('Telecel Cash').check()
  await number.fill('055 123 4987')
  assert.equal(await isChosen('Telecel Cash'), true)
})

test('an approval on the phone makes a success on the open page', async () => {
  const { page, id, complaints } = await open()
  await askPhone(page, PROMPT.expires)
  await reaches(page, 'prompt')
  assert.equal(await focusedOn(page), 'Approve on your phone')
  assert.match(await spokenOn(page), /^Approve on your phone\. We sent a request for GH₵12,500\.00 to/)
  assert.match(await page.getByRole('timer').innerText(), /^[12]:\d\d$/)
  await act(id, 'approve')
  await reaches(page, 'succeeded')
  assert.deepEqual(complaints, [])
})

test('a request that is refused says what to do, and the form comes again with the number', async () => {
  const { page, id } = await open()
  await askPhone(page, PROMPT.expires)
  await reaches(page, 'prompt')
  await act(id, 'refuse')
  await reaches(page, 'failed')
  assert.match(await page.locator('#panel').innerText(), /declined on the phone\. Try again, and approve it/)
  await page.getByRole('link', { name: 'Try again' }).click()
  await reaches(page, 'choose')
  assert.equal(await page.getByLabel('Mobile money number').inputValue(), PROMPT.expires.replaceAll(' ', '').slice(1))
  assert.equal(await page.getByText(/earlier request/).count(), 0)
})

test('a mistake gets the focus and keeps what was typed; it is free of findings, and so is every form', async () => {
  const { page } = await open()
  await loadAxe(page)
  for (const tab of await page.getByRole('tab').all()) {
    await tab.click()
    assert.deepEqual(await findings(page), [], await tab.innerText())
  }
  await page.getByRole('tab').first().click()
  await askPhone(page, '055 12')
  await page.locator('#mobile-phoneNumber-error').waitFor()
  const number = page.getByLabel('Mobile money number')
  assert.equal(await focusedId(page), 'mobile-phoneNumber')
  assert.equal(await number.inputValue(), '055 12')
  assert.deepEqual(await findings(page), [])
  await number.fill('020 123 4789')
  await page.getByLabel('AT Money').check()
  await send(page)
  await reaches(page, 'prompt')
})

test('a wrong code stays in its field, and the right one leads on', async () => {
  const { page } = await open()
  await askPhone(page, PROMPT.wantsCode)
  await reaches(page, 'code')
  const code = page.getByLabel('Code')
  await code.fill('111111')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.locator('#code-error').waitFor()
  assert.equal(await code.inputValue(), '111111')
  assert.equal(await focusedId(page), 'code')
  await loadAxe(page)
  assert.deepEqual(await findings(page), [])
  await code.fill('123456')
  await page.getByRole('button', { name: 'Continue' }).click()
  await reaches(page, 'succeeded')
})

test('when its time is over the open page goes on checking, and another number is a second request', async () => {
  const { page, id } = await open()
  await stopTime(page)
  await askPhone(page, PROMPT.neverAnswers)
  await reaches(page, 'prompt')
  await letPass(database, { id }, 121)
  await page.clock.runFor(125_000)
  await reaches(page, 'waiting')
  assert.equal(await focusedOn(page), 'We are still checking')
  await page.reload()
  assert.equal(await stateOf(page), 'waiting')
  await page.getByRole('link', { name: 'Try again' }).click()
  await reaches(page, 'choose')
  assert.ok(
    await page
      .getByText(/An earlier request .* can still be approved/)
      .first()
      .isVisible(),
  )
  await askPhone(page, '024 222 2069')
  await reaches(page, 'prompt')
  assert.equal((await shop.payment(id)).attempts.length, 2)
})

test('another number while the first is asked, from the screen of the first', async () => {
  const { page, id } = await open()
  await askPhone(page, PROMPT.expires)
  await reaches(page, 'prompt')
  await page.getByText('I did not get a request').click()
  assert.ok(await page.getByText(/On MTN MoMo, dial .*\*170#/).isVisible())
  await page.getByRole('link', { name: 'Use another number' }).click()
  await reaches(page, 'choose')
  assert.match(await spokenOn(page), /earlier request/)
  await askPhone(page, PROMPT.neverAnswers)
  await reaches(page, 'prompt')
  await act(id, 'approve')
  await reaches(page, 'succeeded')
})

test('a code to dial and a QR code: pressed, copied, and paid while the page is open', async () => {
  const { page, id } = await open({}, '?method=ussd')
  await page.locator('#ussd-bank').selectOption('Zenith Bank')
  await page.getByRole('button', { name: 'Get the code to dial' }).click()
  await reaches(page, 'dial')
  const link = page.locator('.dial a')
  const code = await link.innerText()
  assert.match(code, /^\*[\d*]+#$/)
  assert.equal(await link.getAttribute('href'), `tel:${code.replaceAll('#', '%23')}`)
  assert.equal(await page.getByRole('button', { name: 'Copy code' }).getAttribute('data-copy'), code)
  await page.getByRole('link', { name: 'Use another method' }).click()
  await page.getByRole('tab', { name: 'QR code' }).click()
  await page.getByRole('button', { name: 'Show the QR code' }).click()
  await reaches(page, 'qr')
  const drawn = page.getByRole('img', { name: 'QR code' })
  assert.ok(await drawn.isVisible())
  assert.equal(await page.evaluate("getComputedStyle(document.querySelector('.qr')).stroke"), 'none')
  await act(id, 'approve')
  await reaches(page, 'succeeded')
})

test('the page of a bank is opened, not framed, and comes back', async () => {
  const { page, id } = await open({}, '?method=bank')
  await page.locator('#bank-bank').selectOption('Access Bank')
  await page.getByRole('button', { name: /^Pay ₦/ }).click()
  await page.waitForURL(/\/sandbox\/gateway\//)
  await page.getByRole('button', { name: /^Pay ₦/ }).click()
  await eventually(
    async () => (await shop.payment(id)).status,
    (status) => status === 'successful',
  )
})
