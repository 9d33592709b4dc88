import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { findings as findingsOf, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startListener, takes } from '../../support/listener.ts'
import { eventually, startPaying } from '../../support/paying.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, deliver: true, worker: true })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const { cookies } = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()
const hook = await startListener(takes.well)

async function charge(changes: Record<string, unknown>, card: string, ends: string) {
  const { body } = await shop.initialize({ webhook: hook.url, ...changes })
  const { reference, data } = body.data
  await shop.call('POST', `/sandbox/gateway/charges/${data.reference}`, { card })
  return eventually(
    () => shop.payment(reference),
    ({ status, attempts }) => status === ends || attempts[0].status === ends,
  )
}

const metadata = { order: '1042', channel: 'instagram' }
const paid = await charge({ reference: 'ORDER-1042', metadata }, '4084 0840 8408 4081', 'successful')
await charge({ reference: 'ORDER-1043', user: { email: 'bola@example.com' } }, '4000 0000 0000 9995', 'failed')
await shop.call('POST', '/payments/v1/webhook-endpoints', { url: 'https://shop.example/webhooks' })

async function findings(page: Page): Promise<string[]> {
  await loadAxe(page)
  return findingsOf(page)
}

interface Look {
  colorScheme?: 'light' | 'dark'
  width?: number
}

async function open(path: string, { colorScheme = 'light', width = 1280 }: Look = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: false })
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: baseUrl })))
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  page.on('pageerror', (error) => assert.fail(error))
  await page.goto(`${baseUrl}/dashboard/${merchantId}/sandbox${path}`)
  return page
}

/** Where PICTURES names a folder, each screen is also kept there. */
async function picture(page: Page, name: string): Promise<void> {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true })
}

const SCREENS: [path: string, shows: string][] = [
  ['/payments', 'text=ORDER-1042'],
  [`/payments/${paid.id}`, 'text=payment created >> nth=0'],
  ['/refunds', 'text=No refunds'],
  ['/webhooks', 'text=payment.successful >> nth=0'],
  ['/providers', 'text=Paystack'],
]

for (const [path, shows] of SCREENS) {
  test(`${path.split('/').slice(0, 3).length === 3 ? 'a payment' : path}: no accessibility finding and no sideways scrolling, light and dark, phone and desk`, async () => {
    for (const look of [
      { colorScheme: 'light', width: 1280 },
      { colorScheme: 'dark', width: 1280 },
      { colorScheme: 'light', width: 360 },
      { colorScheme: 'dark', width: 360 },
    ] as const) {
      const page = await open(path, look)
      await page.locator(shows).first().waitFor()
      const name = `${path.split('/')[1]}${path.split('/').length > 2 ? '-one' : ''}-${look.colorScheme}-${look.width}`
      await picture(page, name)
      assert.deepEqual(await findings(page), [], name)
      const sideways = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      assert.equal(sideways, 0, name)
      await page.context().close()
    }
  })
}

test('search, open, refund: by keyboard, and the list follows', async () => {
  const page = await open('/payments')
  await page.locator('text=ORDER-1043').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('ORDER-1042')
  await page.locator('text=ORDER-1043').waitFor({ state: 'detached' })
  assert.match(page.url(), /q=ORDER-1042/)
  await page.getByRole('link', { name: 'ORDER-1042' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: '₦12,500.00' }).waitFor()
  await page.getByRole('button', { name: 'Refund' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').locator('input:focus').waitFor()
  // Not an amount: nothing is refunded, and certainly not everything.
  await page.keyboard.type('10,50')
  await page.getByRole('dialog').getByText('Enter an amount, like 1500.00').waitFor()
  const answered = page.waitForResponse((response) => response.url().endsWith('/refunds'))
  await page.keyboard.press('Enter')
  assert.equal((await answered).status(), 400)
  assert.equal((await shop.payment('ORDER-1042')).amountRefunded, 0)
  await page.keyboard.press('Control+A')
  await page.keyboard.type('10.50')
  await picture(page, 'refund-dialog')
  assert.deepEqual(await findings(page), [])
  await page.keyboard.press('Enter')
  await page.getByText('Partly refunded').waitFor()
  assert.equal((await shop.payment('ORDER-1042')).amountRefunded, 1_050)
  await page.goBack()
  await page.getByText('Partly refunded').waitFor()
  assert.match(page.url(), /q=ORDER-1042/)
})

test('a new payment link, which appears as paid when it is paid', async () => {
  const page = await open('/payments')
  await page.getByRole('button', { name: 'New payment link' }).click()
  await page.getByLabel('Amount', { exact: true }).fill('1,500')
  await page.getByLabel("Customer's e-mail address").fill('chidi@example.com')
  await page.getByLabel('Reference').fill('LINK-1')
  await picture(page, 'new-payment-dialog')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: '₦1,500.00' }).waitFor()
  await page.getByText('No attempts yet').waitFor()
  await picture(page, 'payment-open')
  await shop.call('POST', '/payments/v1/payments/LINK-1/cancel')
  await page.getByText('Cancelled', { exact: true }).waitFor()
})

test('the secret of a new webhook endpoint is shown once; a delivery is opened and sent again', async () => {
  const page = await open('/webhooks')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('Address').fill(hook.url)
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByText('It is not shown again.').waitFor()
  await picture(page, 'secret-dialog')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: `Test ${hook.url}` }).click()
  await page.getByText('Answered 200').first().waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  const heard = hook.heard.length
  await page.getByRole('button', { name: 'Show delivery of payment.successful' }).first().click()
  await page.getByRole('button', { name: 'Send again' }).waitFor()
  assert.deepEqual(await findings(page), [])
  await picture(page, 'delivery-dialog')
  await page.getByRole('button', { name: 'Send again' }).click()
  await hook.hears(heard + 1)
})
