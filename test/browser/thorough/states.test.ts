import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../../src/database/sql.ts'
import { setMerchantStatus } from '../../../src/merchants/manage-merchants.ts'
import { expirePayments } from '../../../src/payments/settle/expire-payments.ts'
import { startBetween } from '../../support/between.ts'
import {
  askForAccount,
  charge,
  focusedOn,
  NO_MONEY,
  newCheckout,
  newCustomer,
  reaches,
  spokenOn,
  stateOf,
  stopTime,
  transfer,
} from '../../support/customer.ts'
import { openShop } from '../../support/open-shop.ts'
import { eventually } from '../../support/paying.ts'
import { letPass } from '../../support/payment-records.ts'

const { service, shop, redirectURL, browser } = await openShop()
const { database, parts } = service

const EXPIRED_CARD = '4000 0000 0000 0069'
const HALF_AN_HOUR_SECONDS = 1_800
const A_DAY_SECONDS = 86_400

/**
 * A state that has just come up: the focus is on its heading, a screen reader has heard of it, and a reload shows it
 * again.
 */
async function comesUp(page: Page, state: string, heading: string, spoken: string): Promise<void> {
  await reaches(page, state)
  assert.equal(await page.locator('#heading').innerText(), heading)
  assert.equal(await focusedOn(page), heading)
  assert.equal(await spokenOn(page), spoken)
  for (const kept of ['Adaeze Kitchen', '₦12,500.00'])
    assert.ok((await page.locator('header').innerText()).includes(kept), `${state} shows ${kept}`)
}

async function comesUpAndStays(page: Page, state: string, heading: string, spoken: string): Promise<void> {
  await comesUp(page, state, heading, spoken)
  await page.reload()
  assert.equal(await stateOf(page), state, 'after a reload')
  assert.equal(await page.locator('#heading').innerText(), heading)
}

test('by transfer: each state is announced, focused and shown again after a reload', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page, complaints } = await newCustomer(browser)
  await page.goto(url)
  assert.equal(await stateOf(page), 'choose')
  assert.equal(await spokenOn(page), '', 'whoever opens a page reads it')
  await page.getByRole('button', { name: /^Pay/ }).click()
  await comesUpAndStays(page, 'provider', 'Enter your card', 'Enter your card in the payment provider’s form.')
  await page.getByRole('link', { name: 'Use another method' }).click()
  await reaches(page, 'choose')
  assert.equal(await focusedOn(page), 'Pay with')
  await page.reload()
  await page.getByRole('button', { name: 'Get account number' }).click()
  await comesUpAndStays(page, 'awaiting', 'Transfer exactly ₦12,500.00', 'Transfer details shown.')
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  await comesUpAndStays(page, 'checking', 'Checking for your transfer', 'Checking for your transfer.')
  await page.getByRole('link', { name: 'Show account details' }).click()
  await comesUp(page, 'awaiting', 'Transfer exactly ₦12,500.00', 'Transfer details shown.')
  await transfer(shop, reference, 1_000_000)
  const partial = 'We received ₦10,000.00 of ₦12,500.00.'
  await comesUpAndStays(page, 'partial', partial, `${partial} Send ₦2,500.00 more to the same account.`)
  await transfer(shop, reference, 250_000)
  await comesUp(page, 'succeeded', 'Payment received', 'Payment of ₦12,500.00 received.')
  assert.deepEqual(complaints, [])
})

test('the link of a payment that is paid says that there is nothing more to pay, and stays where it is', async () => {
  const { url, shortURL, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
  await page.goto(shortURL)
  assert.equal(await stateOf(page), 'already_paid')
  const text = await page.locator('#panel').innerText()
  assert.match(
    text,
    /already completed[\s\S]*You paid ₦12,500\.00 to Adaeze Kitchen\. Nothing more to pay\.[\s\S]*Paid on .* UTC/,
  )
  assert.equal(await page.locator('#returning').count(), 0)
  assert.equal(await page.getByRole('button', { name: /Cancel|^Pay/ }).count(), 0)
})

test('a failure says why and that nothing was charged; after three of one method another comes first', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  const primary = page.locator('#panel .main')
  for (const failures of [1, 2, 3]) {
    await reaches(page, 'provider')
    await charge(shop, reference, EXPIRED_CARD)
    const said = 'Payment not completed. This card has expired. You have not been charged.'
    if (failures === 1) await comesUpAndStays(page, 'failed', 'Payment not completed', said)
    await reaches(page, 'failed')
    assert.equal(await primary.innerText(), failures === 3 ? 'Use another method' : 'Use another card')
    if (failures < 3) await page.getByRole('button', { name: 'Use another card' }).click()
  }
  assert.match(await page.locator('#panel .small').innerText(), /card_expired · /)
  await primary.click()
  await reaches(page, 'choose')
  assert.equal(await page.getByRole('tab', { selected: true }).innerText(), 'Bank transfer')
})

test('where a second try with the same card would fail as well, another method comes first at once', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await reaches(page, 'provider')
  await charge(shop, reference, NO_MONEY)
  await reaches(page, 'failed')
  assert.equal(await page.locator('#panel .main').innerText(), 'Use another method')
})

test('a slow provider is processing, with a note after 20 s, and confirming after 90 s', async (t) => {
  const between = await startBetween(t, service)
  const held = Promise.withResolvers<undefined>()
  between.meanwhile = () => held.promise
  t.after(() => held.resolve(undefined))
  const { id } = await newCheckout(between.shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await page.goto(`${between.baseUrl}/pay/${id}`)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await page.clock.runFor(200)
  await comesUp(page, 'processing', 'Processing your payment', 'Processing your payment.')
  assert.match(await page.locator('#panel').innerText(), /Please keep this page open\./)
  assert.equal(await page.getByText(/Cancel/).count(), 0)
  const note = 'This is taking longer than usual. You will not be charged twice.'
  assert.equal(await page.getByText(note).and(page.locator('#panel *')).isVisible(), false)
  await page.clock.runFor(20_000)
  assert.ok(await page.getByText(note).and(page.locator('#panel *')).isVisible())
  assert.equal(await spokenOn(page), note)

  const another = await newCustomer(browser)
  await another.page.goto(`${between.baseUrl}/pay/${id}`)
  assert.equal(await stateOf(another.page), 'processing', 'the server says so as well')

  await letPass(database, { id }, 90)
  await page.clock.runFor(75_000)
  const unknown = 'We are confirming your payment'
  await comesUp(
    page,
    'confirming',
    unknown,
    `${unknown}. Do not pay again yet. You can close this page; Adaeze Kitchen will be told the result.`,
  )
  await page.reload()
  assert.equal(await stateOf(page), 'confirming')
})

test('an expired account number is removed, and a new one can be requested', async () => {
  const { id, url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await askForAccount(page, url)
  const { accountNumber } = (await shop.payment(reference)).attempts[0].instructions
  await letPass(database, { id }, HALF_AN_HOUR_SECONDS)
  await page.clock.runFor((HALF_AN_HOUR_SECONDS + 2) * 1_000)
  const heading = 'This account number has expired'
  await comesUpAndStays(page, 'account_expired', heading, `${heading}.`)
  const text = await page.locator('#panel').innerText()
  assert.match(
    text,
    /Do not send money to the old account number\. If you already did, it will be matched or returned\./,
  )
  assert.ok(!text.includes(accountNumber))
  await page.getByRole('button', { name: 'Get a new account number' }).click()
  await comesUp(page, 'awaiting', 'Transfer exactly ₦12,500.00', 'Transfer details shown.')
  assert.ok(!(await page.locator('.account').innerText()).includes(accountNumber))
})

test('a new account number at any time: shown, said, and the old one still takes the money', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  const number = page.locator('.account [data-copy]').first()
  const before = await number.getAttribute('data-copy')
  await page.locator('#speak').evaluate((region) => region.replaceChildren())
  await page.getByRole('button', { name: 'Get a new account number' }).click()
  await eventually(
    () => number.getAttribute('data-copy'),
    (now) => now !== before,
  )
  await comesUp(page, 'awaiting', 'Transfer exactly ₦12,500.00', 'Transfer details shown.')
  await shop.call('POST', '/sandbox/gateway/transfers', { accountNumber: before, amount: 1_250_000 })
  await reaches(page, 'succeeded')
  assert.equal((await shop.payment(reference)).attempts.length, 2)
})

test('“Check now” leaves the focus where it was', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  await reaches(page, 'checking')
  const button = page.getByRole('button', { name: 'Check now' })
  await button.focus()
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  await page.keyboard.press('Enter')
  await answered
  await button.and(page.locator(':not([aria-disabled=true])')).waitFor()
  assert.equal(await focusedOn(page), 'Check now')
})

test('a transfer that takes its time is told so after ten minutes', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await askForAccount(page, url)
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  await reaches(page, 'checking')
  await page.clock.runFor(600_000)
  const note = 'Transfers can take longer. You can close this page; we will tell Adaeze Kitchen when the money arrives.'
  assert.ok(await page.getByText(note).and(page.locator('#panel *')).isVisible())
})

test('an expired link is shown on the open page, and late money still makes it a success', async () => {
  const { id, url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await letPass(database, { id }, A_DAY_SECONDS)
  await expirePayments(parts, 10)
  const heading = 'This payment link has expired'
  await comesUpAndStays(page, 'expired', heading, `${heading}.`)
  assert.match(await page.locator('#panel').innerText(), /Ask Adaeze Kitchen for a new one\./)
  assert.equal(await page.getByRole('button', { name: /account number|Cancel/ }).count(), 0)
  await transfer(shop, reference, 1_250_000)
  await comesUp(page, 'succeeded', 'Payment received', 'Payment of ₦12,500.00 received.')
})

test('a cancellation by the merchant is shown on the open page; money in transit still makes it a success', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  await comesUpAndStays(page, 'cancelled', 'Payment cancelled', 'Payment cancelled.')
  assert.match(await page.locator('#panel').innerText(), /You have not been charged\./)
  const back = await page.getByRole('link', { name: 'Return to Adaeze Kitchen' }).getAttribute('href')
  assert.equal(back, `${redirectURL}?status=cancelled&reference=${reference}`)
  await transfer(shop, reference, 1_250_000)
  await comesUp(page, 'succeeded', 'Payment received', 'Payment of ₦12,500.00 received.')
})

test('a payment cancelled with part of the money does not say not charged', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_000_000)
  await reaches(page, 'partial')
  await page.getByText('Cancel payment').click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await reaches(page, 'cancelled')
  const text = await page.locator('#panel').innerText()
  assert.match(text, /We received ₦10,000\.00 of ₦12,500\.00\./)
  assert.doesNotMatch(text, /not been charged/)
})

test('an expired account with part of the money shows no countdown and does not poll repeatedly', async () => {
  const { id, url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_000_000)
  await reaches(page, 'partial')
  await letPass(database, { id }, HALF_AN_HOUR_SECONDS)
  await page.reload()
  assert.equal(await stateOf(page), 'partial')
  assert.equal(await page.getByRole('timer').count(), 0)
  let panels = 0
  page.on('request', (request) => request.headers()['x-panel'] && panels++)
  await page.clock.runFor(10_000)
  assert.equal(panels, 0)
})

test('a wrong link and a link of a suspended merchant show the same page', async () => {
  const inactive = await service.addShop()
  const { id, url } = await newCheckout(inactive)
  const { page } = await newCustomer(browser)
  const open = await newCustomer(browser)
  await open.page.goto(url)
  await setMerchantStatus(parts, 'test', inactive.merchantId, 'suspended')
  const wrong = `${service.baseUrl}/pay/${id.slice(0, -1)}${id.endsWith('1') ? '2' : '1'}`
  await page.goto(wrong)
  assert.equal(await stateOf(page), 'unavailable')
  assert.equal(await page.title(), 'We can’t find this payment')
  const text = await page.locator('body').innerText()
  await eventually(
    async () => (await page.goto(url))?.status(),
    (status) => status === 404,
  )
  assert.equal(await page.locator('body').innerText(), text)

  await open.page.getByRole('button', { name: /^Pay/ }).click()
  await reaches(open.page, 'unavailable')
  assert.equal(await focusedOn(open.page), 'We can’t find this payment')
})

test('a server error has its own page, which recovers', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  const open = await newCustomer(browser)
  await open.page.goto(url)
  await database.rows(sql`alter table payments rename to payments_away`)
  await page.goto(url)
  assert.equal(await stateOf(page), 'error')
  assert.equal(await page.locator('#heading').innerText(), 'Something went wrong on our side')
  await open.page.getByRole('button', { name: /^Pay/ }).click()
  await reaches(open.page, 'confirming')
  await database.rows(sql`alter table payments_away rename to payments`)
  await page.getByRole('link', { name: 'Try again' }).click()
  assert.equal(await page.locator('header h1').innerText(), 'Adaeze Kitchen')
  await reaches(open.page, 'provider')
  assert.equal((await shop.payment(reference)).attempts.length, 1)
})
