import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { FAKES_WITH_CARDS } from '../../fakes/index.ts'
import { openBrowser } from '../../support/browser.ts'
import { newCustomer, openMerchantSite, reaches } from '../../support/customer.ts'
import { type At, newEmail, startProviderWorld } from '../../support/provider-world.ts'

// Every provider's own page is where the customer goes, and comes back from: never in a frame.

const world = await startProviderWorld()
const places = await Promise.all(FAKES_WITH_CARDS.map(({ start }) => world.addProvider(start)))
const shop = await openMerchantSite()
const browser = await openBrowser()
const WITHOUT_SCRIPTS = { javaScriptEnabled: false }

async function enter(place: At, options: BrowserContextOptions = {}, changes: Record<string, unknown> = {}) {
  const customer = await newCustomer(browser, options)
  const checkout = await place.checkout({ redirectURL: `${shop}/thanks?order=7`, ...changes })
  await customer.page.goto(checkout.shortURL)
  return { ...customer, ...checkout }
}

const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()

/** Our page's own button, and with it to the provider's: by itself, or by one more link for who has no scripts. */
async function goToTheirs(page: Page, { fake }: At, hasScripts: boolean): Promise<void> {
  await press(page, /^Pay /)
  await arriveAtTheirs(page, fake.upstream.url, hasScripts)
}

async function arriveAtTheirs(page: Page, url: string, hasScripts: boolean): Promise<void> {
  if (!hasScripts) {
    await reaches(page, 'provider')
    await page.locator('#panel .frame a.button').click()
  }
  await page.waitForURL(`${url}/**`)
  assert.equal(page.frames().length, 1, 'the window itself is there, not a frame of it')
}

async function isBackAtShop(page: Page, place: At, reference: string): Promise<void> {
  await page.getByRole('heading', { name: 'Thank you' }).waitFor()
  assert.equal(page.url(), `${shop}/thanks?order=7&status=successful&reference=${reference}`)
  assert.equal((await place.payment(reference)).status, 'successful')
}

for (const place of places) {
  for (const [what, options] of [
    ['with scripts', {}],
    ['without scripts', WITHOUT_SCRIPTS],
  ] as const) {
    const hasScripts = options !== WITHOUT_SCRIPTS

    test(`${place.name}, ${what}: a declined card, then one that pays on the same page, and back to the shop`, async () => {
      const { page, complaints, reference } = await enter(place, options)
      await goToTheirs(page, place, hasScripts)
      await press(page, 'Decline')
      await page.getByText('Declined. Try another card.').waitFor()
      await place.pump()
      await press(page, 'Pay')
      await isBackAtShop(page, place, reference)
      await place.pump()
      assert.deepEqual(complaints, [])
    })

    test(`${place.name}, ${what}: who gives up there sees why on our page, and pays by another try`, async () => {
      const { page, complaints, reference } = await enter(place, options)
      await goToTheirs(page, place, hasScripts)
      await press(page, 'Decline')
      await place.pump()
      await press(page, 'Cancel')
      await reaches(page, 'failed')
      await press(page, 'Try again')
      await arriveAtTheirs(page, place.fake.upstream.url, hasScripts)
      await place.forgetLastQuestion(reference)
      await press(page, 'Pay')
      await isBackAtShop(page, place, reference)
      assert.deepEqual(complaints, [])
    })

    test(`${place.name}, ${what}: a card that is kept pays the next time with one press`, async () => {
      const email = newEmail()
      const user = { user: { id: email, email } }
      const first = await enter(place, options, user)
      await first.page.getByRole('checkbox').check()
      await goToTheirs(first.page, place, hasScripts)
      await place.fake.customer.payByCard(await place.orderOf(first.reference), { save: true })
      await place.pump()
      await place.hears(first.reference, ['payment.successful'])
      const next = await enter(place, options, user)
      await press(next.page, /^Pay /)
      await reaches(next.page, 'succeeded')
      await next.page.getByRole('link', { name: /^Return to/ }).click()
      await isBackAtShop(next.page, place, next.reference)
      assert.deepEqual(next.complaints, [])
    })

    const { transfer } = place.fake.customer
    if (!transfer) continue
    test(`${place.name}, ${what}: by transfer, to the number on our page, and on to the shop`, async () => {
      const { page, complaints, reference, url } = await enter(place, options)
      await page.goto(`${url}?method=transfer`)
      await press(page, 'Get account number')
      await reaches(page, 'awaiting')
      const { accountNumber } = (await place.payment(reference)).attempts[0].instructions
      await page.getByText(accountNumber, { exact: true }).waitFor()
      await transfer(await place.orderOf(reference), place.amount)
      await place.pump()
      await place.hears(reference, ['payment.successful'])
      if (!hasScripts) {
        await press(page, 'I’ve sent the money')
        await page.getByRole('link', { name: /^Return to/ }).click()
      }
      await isBackAtShop(page, place, reference)
      assert.deepEqual(complaints, [])
    })
  }
}
