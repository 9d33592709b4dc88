import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  fillCard,
  NO_MONEY,
  newCheckout,
  newCustomer,
  providerFrame,
  reaches,
  stateOf,
  transfer,
  VISA,
} from '../support/customer.ts'
import { openShop } from '../support/open-shop.ts'

const { shop, site, browser } = await openShop()
const redirectURL = `${site}/thanks?cart=5#top`

test('declined, told why, paid with another card on the same payment, and back in the shop', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page, complaints } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await fillCard(providerFrame(page), NO_MONEY)
  await reaches(page, 'failed')
  assert.equal(await page.locator('#heading').innerText(), 'Payment not completed')
  assert.match(
    await page.locator('#panel').innerText(),
    /does not have enough money for this payment\. You have not been charged\./,
  )
  assert.equal(
    await page.locator('#heading').evaluate((heading) => heading === heading.ownerDocument.activeElement),
    true,
  )
  await page.getByRole('button', { name: 'Try again' }).click()
  await fillCard(providerFrame(page), VISA)
  await reaches(page, 'succeeded')
  assert.match(await page.locator('#panel').innerText(), /You paid ₦12,500\.00 to Adaeze Kitchen\./)
  assert.equal(await page.locator('#speak').innerText(), 'Payment of ₦12,500.00 received.')
  await page.waitForURL(`${site}/thanks?cart=5&status=successful&reference=${reference}#top`)
  const payment = await shop.payment(reference)
  assert.deepEqual(
    payment.attempts.map(({ status }: { status: string }) => status),
    ['failed', 'successful'],
  )
  assert.deepEqual(complaints, [])
})

test('a transfer that is sent while the page is open turns it to success by itself', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page, complaints } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('tab', { name: 'Bank transfer' }).click()
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
  const shown = await page.locator('.account').innerText()
  const { instructions } = (await shop.payment(reference)).attempts[0]
  for (const detail of [instructions.accountNumber, instructions.bankName, instructions.accountName, '₦12,500.00'])
    assert.ok(shown.includes(detail), detail)
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  await reaches(page, 'checking')
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
  assert.deepEqual(complaints, [])
})

test('without scripts: choose, fail, pay, come back, by forms and links alone', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page, complaints } = await newCustomer(browser, { javaScriptEnabled: false })
  await page.goto(url)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  assert.equal(await stateOf(page), 'provider')
  await page.getByRole('link', { name: 'Continue to the secure page' }).click()
  await fillCard(page, NO_MONEY)
  assert.match(await page.getByRole('alert').innerText(), /not been charged/)
  await fillCard(page, VISA)
  await page.waitForURL(`${site}/thanks?cart=5&status=successful&reference=${reference}#top`)
  await page.goto(url)
  assert.equal(await stateOf(page), 'already_paid')
  assert.deepEqual(complaints, [])
})
