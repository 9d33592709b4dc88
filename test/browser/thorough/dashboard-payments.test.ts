import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startListener, takes } from '../../support/listener.ts'
import { startPaying } from '../../support/paying.ts'
import { payByCard } from '../../support/sandbox-payments.ts'
import { assertAccessible, LOOKS, type Look, openScreen, picture } from '../../support/screens.ts'
import { CARD } from '../../support/simulator.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, deliver: true, worker: true })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()
const hook = await startListener(takes.well)

const metadata = { order: '1042', channel: 'instagram' }
const webhook = hook.url
const { payment: paid } = await payByCard(shop, { webhook, reference: 'ORDER-1042', metadata })
const bola = { email: 'bola@example.com' }
await payByCard(shop, { webhook, reference: 'ORDER-1043', user: bola }, CARD.insufficientFunds, 'failed')
await shop.call('POST', '/payments/v1/webhook-endpoints', { url: 'https://shop.example/webhooks' })

const open = (path: string, look?: Look) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox${path}`, look)

const SCREENS: [path: string, shows: string][] = [
  ['/payments', 'text=ORDER-1042'],
  [`/payments/${paid.id}`, 'text=payment created >> nth=0'],
  ['/refunds', 'text=No refunds'],
  ['/webhooks', 'text=payment.successful >> nth=0'],
  ['/providers', 'text=Paystack'],
]

for (const [path, shows] of SCREENS) {
  test(`${path.split('/').slice(0, 3).length === 3 ? 'a payment' : path}: no accessibility finding and no sideways scrolling, light and dark, phone and desk`, async () => {
    for (const look of LOOKS) {
      const page = await open(path, look)
      await page.locator(shows).first().waitFor()
      const name = `${path.split('/')[1]}${path.split('/').length > 2 ? '-one' : ''}-${look.colorScheme}-${look.width}`
      await assertAccessible(page, name)
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
  await page.waitForURL(/q=ORDER-1042/) // it follows the typing
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
  await assertAccessible(page, 'refund-dialog')
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
  await assertAccessible(page, 'delivery-dialog')
  await page.getByRole('button', { name: 'Send again' }).click()
  await hook.hears(heard + 1)
})
