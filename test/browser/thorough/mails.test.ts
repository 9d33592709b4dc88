import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../../src/database/sql.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { smtpMail } from '../../../src/members/mail.ts'
import { brandMerchant } from '../../../src/merchants/manage-merchants.ts'
import { openBrowser } from '../../support/browser.ts'
import { newCustomer } from '../../support/customer.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startMailServer } from '../../support/mail-server.ts'
import { eventually, startPaying } from '../../support/paying.ts'
import { paid } from '../../support/sandbox-payments.ts'
import { assertAccessible, assertAccessibleInAllLooks, LOOKS, openScreen } from '../../support/screens.ts'

const server = await startMailServer()
const { url, database } = await createDatabase()
const sendMail = smtpMail(server.url, 'Manilla <no-reply@pay.test>')
const service = await startPaying({ database, databaseUrl: url, worker: true, sendMail })
const { app, baseUrl } = service
const shop = await service.addShop('Adaeze <b>Kitchen</b> & مطعم')
const { merchantId } = shop
const { id: memberId, email } = await addMember(database, { role: 'owner', merchantId })
const owner = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

const openAt = (screen: string, look = {}) =>
  openScreen(browser, owner, `${baseUrl}/dashboard/${merchantId}/sandbox${screen}`, look)

async function inspect(screen: string, ready: (page: Page) => Promise<unknown>): Promise<void> {
  for (const look of LOOKS) {
    const page = await openAt(screen, look)
    await ready(page)
    await assertAccessible(page, `${screen.slice(1)}-${look.colorScheme}-${look.width}`)
    await page.context().close()
  }
}

async function nextMail() {
  const [found] = await eventually(
    async () => server.mails,
    ({ length }) => length > 0,
  )
  server.mails.splice(0)
  return found ?? assert.fail()
}

test('a member chooses alerts, and the choice is there after a reload', async () => {
  await inspect('/alerts', (page) => page.getByRole('button', { name: 'Save alerts' }).waitFor())
  const page = await openAt('/alerts')
  await page.getByText(`Tell ${email} when`).waitFor()
  await page.getByLabel('A dispute was opened').check()
  await page.getByLabel('One mail a day').check()
  await page.getByRole('button', { name: 'Save alerts' }).click()
  await page.getByText('Alerts saved').waitFor()
  await page.reload()
  assert.equal(await page.getByLabel('A dispute was opened').isChecked(), true)
  assert.equal(await page.getByLabel('A refund failed').isChecked(), false)
  assert.equal(await page.getByLabel('One mail a day').isChecked(), true)
  await page.context().close()
})

test('an owner turns receipts on; a customer asks for one, gets it, and opens the receipt page', async () => {
  await inspect('/settings', (page) => page.getByLabel('Send a receipt').waitFor())
  const page = await openAt('/settings')
  await page.getByLabel('Send a receipt').selectOption('on_request')
  await page.getByRole('button', { name: 'Save receipts' }).click()
  await page.getByText('Receipts saved').waitFor()
  await page.context().close()
  await brandMerchant({ database }, 'test', merchantId, { colour: '#ffd400' })

  const { id } = await paid(shop)
  const { page: customer, complaints } = await newCustomer(browser)
  await customer.goto(`${baseUrl}/pay/${id}`)
  await assertAccessibleInAllLooks(customer, 'receipt-offer')
  const address = customer.getByLabel('E-mail address for the receipt')
  await address.fill('grace@example')
  await customer.getByRole('button', { name: 'Send the receipt' }).click()
  await customer.getByText('Enter an e-mail address').waitFor()
  assert.equal(await address.inputValue(), 'grace@example')
  await assertAccessibleInAllLooks(customer, 'receipt-wrong-address')
  await address.fill('grace@example.com')
  await customer.getByRole('button', { name: 'Send the receipt' }).click()
  await customer.getByText('You get the receipt by e-mail.').waitFor()
  const { mail, recipients } = await nextMail()
  assert.deepEqual(recipients, ['grace@example.com'])

  const requests: string[] = []
  const reader = await browser.newPage()
  reader.on('request', (request) => requests.push(request.url()))
  await reader.setContent(mail.html ?? '')
  assert.deepEqual(requests, [], 'it loads nothing')
  assert.equal(await reader.locator('b').count(), 0, 'markup of a name is text')
  await assertAccessibleInAllLooks(reader, 'receipt-mail')

  await customer.getByRole('link', { name: 'Open the receipt' }).click()
  await customer.waitForURL(/\/r\//)
  await assertAccessibleInAllLooks(customer, 'receipt-page')
  assert.deepEqual(complaints, [])
  await customer.emulateMedia({ media: 'print', colorScheme: 'dark' })
  const [ground, ink] = await customer.evaluate<string[]>(
    '[document.body, document.querySelector("h2")].map((each, index) => getComputedStyle(each)[index ? "color" : "backgroundColor"])',
  )
  assert.deepEqual([ground, ink], ['rgb(255, 255, 255)', 'rgb(0, 0, 0)'], 'black on white on paper')
  const rows = await database.rows(
    sql`select from customer_receipts where merchant_id = ${uuidOf(merchantId)} and state = 'sent'`,
  )
  assert.equal(rows.length, 1)
  await reader.close()
})
