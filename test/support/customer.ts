import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import type { Browser, BrowserContextOptions, FrameLocator, Page } from 'playwright-core'
import type { Shop } from './paying.ts'
import { charge as chargeOrder, transfer as transferTo } from './sandbox-payments.ts'

export const VISA = '4084 0840 8408 4081'
export const NO_MONEY = '4000 0000 0000 9995'
export const DECLINED = '4000 0000 0000 0002'
export const VERVE = '5060 6666 6666 6666 666' // asks for a code
export const SILENT = '4000 0000 0000 0119' // charged, but the provider does not answer

const THANKS = '<h1>Thank you</h1>'

/**
 * The merchant's own site, on another origin than ours: where customers end up. `/around?…` puts a frame around an
 * address.
 */
export async function openMerchantSite(): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const framed = url.split('/around?')[1]
    const body = framed ? `<iframe title="Payment" src="${framed}" width="390" height="400"></iframe>` : THANKS
    response.end(`<!doctype html><title>Shop</title><style>body{margin:0}iframe{border:0}</style>${body}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://localhost:${(server.address() as AddressInfo).port}`
}

export interface Customer {
  page: Page
  /** Errors in the browser: scripts, policies, requests to other hosts. */
  complaints: string[]
}

/** A customer's browser: a phone by default. */
export async function newCustomer(browser: Browser, options: BrowserContextOptions = {}): Promise<Customer> {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, ...options })
  after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // A decline is a 422 of the provider's page, and an interrupted request is what some tests are about.
    if (message.type() === 'error' && !/status of 4\d\d|net::ERR/.test(message.text())) complaints.push(message.text())
  })
  return { page, complaints }
}

/** A checkout of ₦12,500.00, and its page. */
export async function newCheckout(shop: Shop, changes: Record<string, unknown> = {}) {
  const { status, body } = await shop.call('POST', '/payments/v1/checkouts', {
    amount: 1_250_000,
    country: 'NG',
    user: { email: 'ada@example.com' },
    ...changes,
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data as { id: string; url: string; shortURL: string; reference: string }
}

/** What the page shows: the state that the server gave it. */
export function stateOf(page: Page): Promise<string | null> {
  return page.locator('#panel').getAttribute('data-state')
}

export async function reaches(page: Page | FrameLocator, state: string): Promise<void> {
  await page.locator(`#panel[data-state=${state}]`).waitFor()
}

/** The provider's page, inside ours. */
export function providerFrame(page: Page | FrameLocator): FrameLocator {
  return page.frameLocator('#panel iframe')
}

export async function fillCard(where: Page | FrameLocator, number: string, { save = false } = {}): Promise<void> {
  await where.getByLabel('Card number').fill(number)
  await where.getByLabel('Expiry date').fill('12 / 30')
  await where.getByLabel('Security code').fill('123')
  if (save) await where.getByLabel('Save this card').check()
  await where.getByRole('button', { name: /^Pay/ }).click()
}

/** The customer's bank, sending money to the account of the last attempt. */
export async function transfer(shop: Pick<Shop, 'call' | 'payment'>, reference: string, amount: number): Promise<void> {
  const payment = await shop.payment(reference)
  const { accountNumber } = payment.attempts.findLast(
    (attempt: { instructions: unknown }) => attempt.instructions,
  ).instructions
  await transferTo(shop, accountNumber, amount)
}

/** The last text of the live region, for screen readers. */
export function spokenOn(page: Page): Promise<string> {
  return page.locator('#speak').innerText()
}

/** The text of the focused element. */
export async function focusedOn(page: Page): Promise<string> {
  return (await page.locator('body :focus').allInnerTexts()).join()
}

/** Stops the clock of this browser. A test advances it with `page.clock.runFor`. */
export async function stopTime(page: Page): Promise<void> {
  const now = Date.now()
  await page.clock.install({ time: now })
  await page.clock.pauseAt(now + 1_000)
}

/** Hides the page, or shows it again. */
export async function setHidden(page: Page, isHidden: boolean): Promise<void> {
  const value = isHidden ? 'hidden' : 'visible'
  await page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${value}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}

/** From the first press to an account number that waits for a transfer. */
export async function askForAccount(page: Page, url: string): Promise<void> {
  await page.goto(`${url}${url.includes('?') ? '&' : '?'}method=transfer`)
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
}

/** The card that is entered on the page of the last attempt, without the page. */
export async function charge(shop: Shop, reference: string, card: string): Promise<void> {
  const { providerReference } = (await shop.payment(reference)).attempts.at(-1)
  await chargeOrder(shop, providerReference, card)
}
