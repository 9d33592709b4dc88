import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fillCard,
  newCheckout,
  newCustomer,
  providerFrame,
  reaches,
  SILENT,
  stateOf,
  transfer,
  VERVE,
  VISA,
} from '../../support/customer.ts'
import { openShop } from '../../support/open-shop.ts'
import { eventually } from '../../support/paying.ts'

const { shop, site, browser } = await openShop()
const redirectURL = `${site}/thanks?cart=5#top`

test('part of the money is shown with what is missing; the rest pays it', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(`${url}?method=transfer`)
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
  await transfer(shop, reference, 1_000_000)
  await reaches(page, 'partial')
  const text = await page.locator('#panel').innerText()
  assert.match(text, /We received ₦10,000\.00 of ₦12,500\.00\./)
  assert.match(text, /Send ₦2,500\.00 more to the same account\./)
  await transfer(shop, reference, 250_000)
  await reaches(page, 'succeeded')
})

test('without scripts: account details, “I’ve sent the money”, and a button that checks again', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser, { javaScriptEnabled: false })
  await page.goto(url)
  await page.getByRole('link', { name: 'Bank transfer' }).click()
  await page.getByRole('button', { name: 'Get account number' }).click()
  assert.equal(await stateOf(page), 'awaiting')
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  assert.equal(await stateOf(page), 'checking')
  await transfer(shop, reference, 1_250_000)
  await page.getByRole('button', { name: 'Check now' }).click()
  assert.equal(await stateOf(page), 'succeeded')
})

test('a code of the bank is asked for inside the frame, and pays', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(page), VERVE)
  await providerFrame(page).getByLabel('One-time code').fill('123456')
  await providerFrame(page).getByRole('button', { name: /^Pay/ }).click()
  await reaches(page, 'succeeded')
})

test('a saved card is offered the next time, and one click pays with it', async () => {
  const user = { email: 'Returning@example.com', id: 'customer-7' }
  const { page } = await newCustomer(browser)
  await page.goto((await newCheckout(shop, { user })).url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(page), VISA, { save: true })
  await reaches(page, 'succeeded')
  await page.goto((await newCheckout(shop, { user: { email: 'other.address@example.com', id: 'customer-7' } })).url)
  assert.ok(await page.getByLabel('Visa ending 4081').isChecked())
  await page.getByRole('button', { name: /^Pay/ }).click()
  await reaches(page, 'succeeded')
})

test('the charge stands on the page before the button, when the customer bears it', async () => {
  const { url, reference } = await newCheckout(shop, { customerBearsCharge: true })
  const { page } = await newCustomer(browser)
  await page.goto(url)
  assert.match(await page.locator('#method-card .rows').innerText(), /₦12,500\.00[\s\S]*₦291\.88[\s\S]*₦12,791\.88/)
  await page.getByRole('button', { name: 'Pay ₦12,791.88' }).click()
  await fillCard(providerFrame(page), VISA)
  await reaches(page, 'succeeded')
  assert.equal((await shop.payment(reference)).amountPaid, 1_279_188)
})

test('an unknown outcome says “do not pay again yet”, offers no other method, and becomes a success when it is known', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(page), SILENT)
  await reaches(page, 'confirming')
  assert.match(await page.locator('#panel').innerText(), /Do not pay again yet/)
  assert.equal(await page.getByRole('button', { name: /Cancel|Pay / }).count(), 0)
  await page.reload()
  assert.equal(await stateOf(page), 'confirming')
  await eventually(
    async () => {
      await page
        .getByRole('button', { name: 'Check now' })
        .click({ timeout: 1_000 })
        .catch(() => {})
      return stateOf(page)
    },
    (state) => state === 'succeeded',
  )
})

test('the customer cancels after a question and returns to the shop, with nothing charged', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await page.goto(`${url}?method=transfer`)
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
  await page.getByText('Cancel payment').click()
  await page.getByText('Stop this payment?').waitFor()
  await page.getByRole('button', { name: 'Keep paying' }).click()
  assert.equal((await shop.payment(reference)).status, 'pending')
  await page.getByText('Cancel payment').click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.waitForURL(`${site}/thanks?cart=5&status=cancelled&reference=${reference}#top`)
})
