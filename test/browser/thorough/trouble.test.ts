import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import {
  askForAccount,
  charge,
  fillCard,
  focusedOn,
  newCheckout,
  newCustomer,
  providerFrame,
  reaches,
  setHidden,
  spokenOn,
  stateOf,
  stopTime,
  transfer,
  VISA,
} from '../../support/customer.ts'
import { openShop } from '../../support/open-shop.ts'
import { eventually } from '../../support/paying.ts'
import { isPaid } from '../../support/sandbox-payments.ts'

const { shop, browser } = await openShop()

const OFFLINE = 'You are offline. We will continue when the connection is back.'
const EXPIRED_CARD = '4000 0000 0000 0069'

const attemptsOf = async (reference: string) => (await shop.payment(reference)).attempts.length
const payButton = (page: Page) => page.getByRole('button', { name: /^Pay ₦/ })
const isForm = (request: Request) => request.method() === 'POST' && request.url().includes('/pay/')
const isQuestion = (request: Request) => request.url().endsWith('/status')

/** Those of a kind, as they are made. */
function requestsOf(page: Page, isMeant: (request: Request) => boolean): Request[] {
  const made: Request[] = []
  page.on('request', (request) => isMeant(request) && made.push(request))
  return made
}

/** No stream reaches the page: cut at once, or held back without a word. */
async function blockStream(page: Page, how: 'cut' | 'held back'): Promise<void> {
  await page.route('**/live', (route) => (how === 'cut' ? route.abort() : undefined))
}

test('offline before the press: it says so, nothing is sent, what was chosen stays, and afterwards it goes on', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page, complaints } = await newCustomer(browser)
  await page.goto(url)
  await page.getByRole('tab', { name: 'Bank transfer' }).click()
  const button = page.getByRole('button', { name: 'Get account number' })
  const sent = requestsOf(page, isForm)
  await page.context().setOffline(true)
  await page.getByText(OFFLINE).and(page.locator('#offline')).waitFor()
  assert.equal(await spokenOn(page), OFFLINE)
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  assert.equal(await page.locator(`#${await button.getAttribute('aria-describedby')}`).innerText(), OFFLINE)
  await button.click({ force: true })
  assert.equal(await stateOf(page), 'choose')
  assert.deepEqual([sent.length, await attemptsOf(reference)], [0, 0])

  await page.context().setOffline(false)
  await page.locator('#offline').waitFor({ state: 'hidden' })
  assert.equal(await spokenOn(page), 'You are back online.')
  assert.equal(await page.getByRole('tab', { selected: true }).innerText(), 'Bank transfer')
  assert.equal(await button.getAttribute('aria-disabled'), 'false')
  await button.click()
  await reaches(page, 'awaiting')
  assert.deepEqual(complaints, [])
})

test('offline during the press: nobody knows, so it is confirming; one press it was, and one attempt it is', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  const sent = requestsOf(page, isForm)
  await page.route(
    url,
    async (route) => {
      await page.context().setOffline(true)
      await route.abort('internetdisconnected')
    },
    { times: 1 },
  )
  await payButton(page).click()
  await reaches(page, 'confirming')
  assert.ok(await page.locator('#offline').isVisible())
  assert.match(await page.locator('#panel').innerText(), /Do not pay again yet/)
  await page.context().setOffline(false)
  await reaches(page, 'provider')
  assert.equal(new Set(sent.map((request) => request.postData())).size, 1, 'the same press, sent again')
  assert.equal(await attemptsOf(reference), 1)
})

test('offline after the press: what happened meanwhile is there as soon as the connection is', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await page.context().setOffline(true)
  await page.locator('#offline').waitFor()
  await transfer(shop, reference, 1_250_000)
  await page.context().setOffline(false)
  await reaches(page, 'succeeded')
})

test('a moment without connection does not take the card from under the customer’s fingers', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await payButton(page).click()
  const number = providerFrame(page).getByLabel('Card number')
  await number.fill(VISA)
  await page.context().setOffline(true)
  await page.locator('#offline').waitFor()
  const asked = page.waitForResponse('**/status')
  await page.context().setOffline(false)
  await asked
  await page.locator('#offline').waitFor({ state: 'hidden' })
  assert.equal(await number.inputValue(), VISA)
})

test('an answer that is lost after the server accepted: asked for again with the same key, one attempt', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  const sent = requestsOf(page, isForm)
  await page.route(
    url,
    async (route) => {
      await route.fetch()
      await route.abort('connectionreset')
    },
    { times: 1 },
  )
  await payButton(page).click()
  await reaches(page, 'provider')
  assert.equal(sent.length, 2)
  assert.equal(sent[0]?.postData(), sent[1]?.postData())
  assert.equal(await attemptsOf(reference), 1)
})

test('a connection that fails without the device knowing is told, and its end is noticed', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await page.route('**/pay/**', (route) => route.abort('connectionrefused'))
  await page.evaluate('dispatchEvent(new Event("focus"))')
  await page.locator('#offline').waitFor()
  await payButton(page).click({ force: true })
  assert.equal(await stateOf(page), 'choose', 'nothing is sent into the void')
  await page.unroute('**/pay/**')
  await payButton(page).click({ force: true })
  await reaches(page, 'provider')
  assert.equal(await page.locator('#offline').isHidden(), true)
  assert.equal(await attemptsOf(reference), 1)
})

test('what is slow shows at once that it is under way, and cannot be pressed twice', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  const sent = requestsOf(page, isForm)
  const held = Promise.withResolvers<void>()
  await page.route(url, async (route) => {
    await held.promise
    await route.continue()
  })
  await payButton(page).click()
  await reaches(page, 'processing')
  assert.equal(await spokenOn(page), 'Processing your payment.')
  assert.equal(await focusedOn(page), 'Processing your payment')
  assert.equal(await page.locator('#panel button').count(), 0)
  held.resolve()
  await reaches(page, 'provider')
  assert.deepEqual([sent.length, await attemptsOf(reference)], [1, 1])
})

test('a double click is one press, and so is Enter held down', async () => {
  for (const twice of [
    (page: Page) => payButton(page).dblclick(),
    async (page: Page) => {
      await payButton(page).focus()
      for (let times = 0; times < 3; times++) await page.keyboard.down('Enter')
    },
  ]) {
    const { url, reference } = await newCheckout(shop)
    const { page } = await newCustomer(browser)
    await page.goto(url)
    const sent = requestsOf(page, isForm)
    await twice(page)
    await reaches(page, 'provider')
    assert.deepEqual([sent.length, await attemptsOf(reference)], [1, 1])
  }
})

test('the second half of a double click does not press what came up under the pointer', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  await payButton(page).click()
  await reaches(page, 'provider')
  await charge(shop, reference, EXPIRED_CARD)
  await reaches(page, 'failed')
  const sent = requestsOf(page, isForm)
  const again = page.getByRole('button', { name: 'Use another card' })
  await again.hover()
  await page.mouse.down({ clickCount: 2 })
  await page.mouse.up({ clickCount: 2 })
  assert.equal(await stateOf(page), 'failed')
  assert.deepEqual([sent.length, await attemptsOf(reference)], [0, 1])
})

test('two tabs: what is done in one shows in the other by itself', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  const other = await page.context().newPage()
  await Promise.all([page.goto(url), other.goto(url)])
  await payButton(page).click()
  await reaches(page, 'provider')
  await reaches(other, 'provider')
  await fillCard(providerFrame(page), VISA)
  await Promise.all([reaches(page, 'succeeded'), reaches(other, 'succeeded')])
  assert.equal(await attemptsOf(reference), 1)
})

/** The next panel that is asked for is read by the server now, and reaches the page when it is released. */
async function holdNextPanel(page: Page, url: string): Promise<{ isHeld: Promise<void>; release(): void }> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await page.route(
    url,
    async (route) => {
      const response = await route.fetch()
      held.resolve()
      await released.promise
      await route.fulfill({ response })
    },
    { times: 1 },
  )
  return { isHeld: held.promise, release: released.resolve }
}

test('a change that comes while the one before is on its way to the page is not lost', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  const { isHeld, release } = await holdNextPanel(page, url)
  await transfer(shop, reference, 1_000_000)
  await isHeld
  await transfer(shop, reference, 250_000)
  await eventually(() => shop.payment(reference), isPaid)
  release()
  await reaches(page, 'succeeded')
})

test('what the server said before never replaces what it said since', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  const number = page.locator('.account [data-copy]').first()
  const before = await number.getAttribute('data-copy')
  const { isHeld, release } = await holdNextPanel(page, url)
  await page.evaluate('dispatchEvent(new Event("focus"))')
  await isHeld
  await page.getByRole('button', { name: 'Get a new account number' }).click()
  const isAnother = (now: string | null) => now !== before
  const another = await eventually(() => number.getAttribute('data-copy'), isAnother)
  const late = page.waitForEvent('requestfinished', (request) => request.method() === 'GET' && request.url() === url)
  release()
  await late
  await page.evaluate('fetch(location.href)') // whatever the late one did is done by then
  assert.equal(await number.getAttribute('data-copy'), another)
})

/** Lets time run for a page until it has asked so often; the seconds from each time to the next, by its own clock. */
async function pausesOf(page: Page, questions: number): Promise<number[]> {
  const made = requestsOf(page, isQuestion)
  while (made.length < questions) {
    await page.clock.runFor(250)
    // The next pause begins when the page itself has the answer, which is after the browser has it.
    await eventually(
      async () => (await page.evaluate('askedAt.length - 1 - handled')) as number,
      (open) => open === 0,
    )
  }
  const at = (await page.evaluate('askedAt')) as number[]
  return at.slice(1).map((time, index) => Math.floor((time - (at[index] ?? 0)) / 1_000))
}

const NOTE_QUESTIONS = `const { fetch } = window
  window.askedAt = [performance.now()]
  window.fetch = (url, ...rest) => {
    if (String(url).endsWith('/status')) askedAt.push(performance.now())
    return fetch(url, ...rest)
  }
  window.handled = 0
  const { json } = Response.prototype
  Response.prototype.json = async function () {
    const read = await json.call(this)
    const { port1, port2 } = new MessageChannel() // a timer would wait for the stopped clock
    port1.onmessage = () => handled++
    port2.postMessage('the page has gone on')
    return read
  }`

for (const how of ['cut', 'held back'] as const) {
  test(`with a stream that is ${how} the page asks after 2, 3, 5, then every 10 s, not while hidden, and turns all the same`, async () => {
    const { url, reference } = await newCheckout(shop)
    const { page } = await newCustomer(browser)
    await stopTime(page)
    await page.addInitScript(NOTE_QUESTIONS)
    await blockStream(page, how)
    await page.goto(url)
    assert.deepEqual(await pausesOf(page, 4), [2, 3, 5, 10])
    await setHidden(page, true)
    const made = requestsOf(page, isQuestion)
    await page.clock.runFor(30_000)
    assert.equal(made.length, 0)
    await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)
    await setHidden(page, false)
    await reaches(page, 'cancelled')
  })
}

test('whoever saves data gets no logo, and is asked for half as often', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser, { extraHTTPHeaders: { 'save-data': 'on' } })
  await stopTime(page)
  await page.addInitScript(NOTE_QUESTIONS)
  await blockStream(page, 'cut')
  await page.goto(url)
  assert.equal(await page.locator('header .logo').count(), 0)
  assert.deepEqual(await pausesOf(page, 2), [4, 6])
})

test('a frame that never answers is followed by a link to the same page, and another method is there all the time', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await stopTime(page)
  await page.goto(url)
  let isFramed = true
  await page.route('**/sandbox/gateway/**', (route) => (isFramed ? undefined : route.continue()))
  await payButton(page).click()
  await reaches(page, 'provider')
  assert.ok(await page.getByRole('link', { name: 'Use another method' }).isVisible())
  const link = page.getByRole('link', { name: 'Continue to the secure page' })
  assert.equal(await link.isVisible(), false)
  await page.clock.runFor(8_000)
  isFramed = false
  await link.click()
  await fillCard(page, VISA)
  await reaches(page, 'succeeded')
})

test('too much money, and money sent twice: paid once, and the page stays as it is', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_500_000)
  await reaches(page, 'succeeded')
  assert.match(await page.locator('#panel').innerText(), /You paid ₦15,000\.00 to Adaeze Kitchen\./)
  const requests = requestsOf(page, () => true)
  await transfer(shop, reference, 1_250_000)
  await eventually(
    () => shop.call('GET', `/payments/v1/payments/${reference}/timeline`),
    ({ body }) => JSON.stringify(body).includes('surplus'),
  )
  assert.equal(await stateOf(page), 'succeeded')
  assert.equal(requests.length, 0, 'it is over, so nothing is asked for')
})

test('from the first look to the receipt nothing is kept in the browser: no cookie, no storage', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await page.getByRole('button', { name: 'I’ve sent the money' }).click()
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
  assert.deepEqual(await page.context().cookies(), [])
  const kept = 'localStorage.length + sessionStorage.length + document.cookie.length'
  assert.equal(await page.evaluate(kept), 0)
  assert.deepEqual(await page.evaluate('indexedDB.databases()'), [])
})
