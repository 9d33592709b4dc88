import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { brandMerchant } from '../../../src/merchants/manage-merchants.ts'
import {
  askForAccount,
  charge,
  fillCard,
  newCheckout,
  newCustomer,
  reaches,
  setHidden,
  spokenOn,
  stateOf,
  stopTime,
  transfer,
  VISA,
} from '../../support/customer.ts'
import { openShop } from '../../support/open-shop.ts'
import { eventually, type Shop } from '../../support/paying.ts'
import { isPaid } from '../../support/sandbox-payments.ts'

const { service, shop, redirectURL, browser } = await openShop()

/** A payment that has just been paid, and its page as it is for someone who was there. */
async function newPaid(at: Shop): Promise<{ news: string; back: string }> {
  const { data } = (await at.initialize({ redirectURL })).body
  await charge(at, data.reference, VISA)
  const { url, reference } = await eventually(() => at.payment(data.reference), isPaid)
  return { news: `${url}?back=1`, back: `${redirectURL}?status=successful&reference=${reference}` }
}

async function newShop(returnAfterSeconds: number | null): Promise<Shop> {
  const made = await service.addShop()
  await brandMerchant(service.parts, 'test', made.merchantId, { returnAfterSeconds })
  return made
}

const left = (page: Page) => page.getByRole('timer').innerText()

test('five seconds after a success the customer is back in the shop', async () => {
  const { news, back } = await newPaid(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await page.goto(news)
  assert.match(await page.locator('#returning').innerText(), /^Returning in 5 s/)
  await page.clock.runFor(4_000)
  assert.match(await page.locator('#returning').innerText(), /^Returning in 1 s/)
  assert.equal(page.url(), news)
  await page.clock.runFor(1_000)
  await page.waitForURL(back)
})

test('any interaction stops the automatic return: a key, a click, “Stay on this page”, another tab', async () => {
  const { news, back } = await newPaid(shop)
  const signs: Record<string, (page: Page) => Promise<void>> = {
    'a key': (page) => page.keyboard.press('Shift'),
    'a press': (page) => page.locator('#heading').click(),
    'a touch': (page) => page.locator('#heading').tap(),
    'the button': (page) => page.getByRole('button', { name: 'Stay on this page' }).click(),
    'another tab': (page) => setHidden(page, true),
  }
  const { page } = await newCustomer(browser, { hasTouch: true })
  await stopTime(page)
  for (const [name, sign] of Object.entries(signs)) {
    await page.goto(news)
    await page.locator('#returning').waitFor()
    await sign(page)
    assert.equal(await page.locator('#returning').count(), 0, name)
    await page.clock.runFor(10_000)
    assert.equal(page.url(), news, name)
    assert.equal(await page.getByRole('link', { name: /^Return to/ }).getAttribute('href'), back)
  }
})

test('a success on a hidden page does not return automatically', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await setHidden(page, true)
  await transfer(shop, reference, 1_250_000)
  await page.locator('#panel[data-state=succeeded]').waitFor()
  assert.equal(await page.locator('#returning').count(), 0)
})

test('a merchant may set the return to immediate or never', async () => {
  const never = await newPaid(await newShop(null))
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await page.goto(never.news)
  assert.equal(await stateOf(page), 'succeeded')
  assert.equal(await page.locator('#returning').count(), 0)
  await page.clock.runFor(60_000)
  assert.equal(page.url(), never.news)

  const atOnce = await newPaid(await newShop(0))
  await page.goto(atOnce.news)
  await page.waitForURL(atOnce.back)
})

test('after the back button the payment is completed and does not return again', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
  await page.clock.runFor(5_000)
  await page.waitForURL(/thanks/)
  await page.goBack()
  assert.equal(await stateOf(page), 'already_paid')
  await page.clock.runFor(60_000)
  assert.equal(await stateOf(page), 'already_paid')
})

test('a provider that allows no frame is opened by redirect, and the back button works', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await page.context().route('**/pay/**', async (route) => {
    if (route.request().resourceType() === 'eventsource') return route.continue()
    const response = await route.fetch({ maxRedirects: 0 })
    const body = (await response.text()).replace('data-frame=', 'data-go=')
    await route.fulfill({ response, body })
  })
  const other = await page.context().newPage()
  await Promise.all([page.goto(url), other.goto(url)])
  await page.getByRole('button', { name: /^Pay/ }).click()
  await page.waitForURL(/sandbox\/gateway/)
  await reaches(other, 'provider')
  assert.equal(other.url(), url, 'only where it was pressed')
  await page.goBack()
  assert.equal(await stateOf(page), 'provider')
  const answered = page.waitForResponse((response) => response.request().headers()['x-panel'] !== undefined)
  await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
  await answered
  assert.equal(await stateOf(page), 'provider', 'and is not sent there again')
  await page.getByRole('link', { name: 'Continue to the secure page' }).click()
  await fillCard(page, VISA)
  await page.waitForURL(`${redirectURL}?status=successful&reference=${reference}`)
  await page.context().unrouteAll({ behavior: 'wait' })
})

test('a page from the back/forward cache shows the current state', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  const others = service.live.streams()
  await askForAccount(page, url)
  await page.evaluate('dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }))')
  await eventually(
    async () => service.live.streams(),
    (streams) => streams <= others,
  )
  await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
  await page.evaluate('dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))')
  await reaches(page, 'cancelled')
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
})

test('a cancellation whose response was lost is sent again and returns to the shop', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.route(
    url,
    async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    },
    { times: 1 },
  )
  await page.getByText('Cancel payment').click()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.waitForURL(`${redirectURL}?status=cancelled&reference=${reference}`)
})

test('the countdown uses the server’s time on a device whose clock is a day off', async () => {
  for (const hours of [-24, 24]) {
    const { url } = await newCheckout(shop)
    const { page } = await newCustomer(browser)
    await page.clock.install({ time: Date.now() + hours * 3_600_000 })
    await askForAccount(page, url)
    assert.match(await left(page), /^(30:00|29:5\d)$/)
  }
})

test('the countdown runs by the second and is announced at ten, five and one minutes', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await askForAccount(page, url)
  for (const [at, said] of [
    [10, '10 minutes left.'],
    [5, '5 minutes left.'],
    [1, 'One minute left.'],
  ] as const) {
    const [now = 0, rest = 0] = (await left(page)).split(':').map(Number)
    await page.clock.runFor(((now - at) * 60 + rest - 1) * 1_000)
    assert.equal(await left(page), `${at}:01`)
    assert.notEqual(await spokenOn(page), said)
    await page.clock.runFor(1_000)
    assert.equal(await left(page), `${at}:00`)
    assert.equal(await spokenOn(page), said)
  }
})
