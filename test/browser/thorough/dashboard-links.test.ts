import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { MemberId } from '../../../src/kernel/ids.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { startPaying } from '../../support/paying.ts'
import { assertAccessible, LOOKS, type Look, openScreen, picture } from '../../support/screens.ts'

const service = await startPaying()
const { app, baseUrl, database } = service
const shop = await service.addShop()
const { merchantId } = shop
const browser = await openBrowser()
const { id: owner } = await addMember(database, { role: 'owner', merchantId })
const { id: viewer } = await addMember(database, { role: 'viewer', merchantId })

async function open(path: string, { member = owner, ...look }: Look & { member?: MemberId } = {}) {
  const url = path.startsWith('http') ? path : `${baseUrl}/dashboard/${merchantId}/sandbox${path}`
  const signedIn = await signedInBrowser(app, database, member, { origin: baseUrl })
  return openScreen(browser, signedIn, url, look)
}

const links = async () => (await shop.call('GET', '/payments/v1/links')).body.data

test('a reusable link is made, opened by a customer, changed and switched off', async () => {
  const page = await open('')
  await page.getByRole('main').getByRole('link', { name: 'Links' }).click() // of the first steps
  await page.getByText('No reusable links yet').waitFor()
  await page.getByRole('button', { name: 'New link' }).first().click()
  await page.getByLabel('Title').fill('Cooking class <b>on Saturday</b>')
  await page.getByLabel('Description').fill('Ten o’clock, at our kitchen in Yaba.')
  await page.getByLabel('Price').fill('12,500')
  await page.getByLabel('Name', { exact: true }).check()
  await page.getByLabel('One more question').fill('Dish to learn')
  await page.getByLabel('Can be paid').fill('12')
  await picture(page, 'new-link')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Cooking class <b>on Saturday</b>' }).waitFor()
  const [link] = await links()
  assert.deepEqual(
    [link.amount, link.collectName, link.collectPhoneNumber, link.customField, link.maxPayments],
    [1_250_000, true, false, 'Dish to learn', 12],
  )

  const customer = await open(link.url)
  await customer.getByLabel('E-mail address').fill('ada@example.com')
  await customer.getByLabel('Your name').fill('Ada Obi')
  await customer.getByLabel('Dish to learn').fill('Egusi')
  await picture(customer, 'link-page')
  await customer.getByRole('button', { name: 'Continue to payment' }).click()
  await customer.getByText('₦12,500.00').first().waitFor()
  assert.match(customer.url(), /\/pay\/chk_/)
  const payment = await shop.payment(customer.url().split('/').at(-1) ?? '')
  assert.deepEqual([payment.link, payment.metadata], [link.id, { 'Dish to learn': 'Egusi' }])

  await page.getByRole('button', { name: 'Change' }).click()
  await page.getByLabel('Amount').selectOption('chosen')
  await page.getByLabel('At least').fill('500')
  await page.getByLabel('At most').fill('100')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('maxAmount must not be less than minAmount').waitFor()
  await page.getByLabel('At most').fill('100000')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('₦500.00 to ₦100,000.00').first().waitFor()
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('It is switched off').waitFor()
  assert.equal((await customer.goto(link.url))?.status(), 410)
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('Everybody who has it can pay').waitFor()

  const payments = await open(`/payments/${payment.id}`)
  await payments.getByRole('link', { name: 'a reusable link' }).click()
  await payments.getByRole('heading', { name: 'QR code' }).waitFor()
})

test('the QR code is saved as SVG and PNG, and the poster fits one page', async () => {
  const [link] = await links()
  const page = await open(`/links/${link.id}`)
  const saved = async (name: string) => {
    const waiting = page.waitForEvent('download')
    await page.getByRole('button', { name }).click()
    const file = await waiting
    return { name: file.suggestedFilename(), content: await readFile(await file.path()) }
  }
  const svg = await saved('Save as SVG')
  assert.equal(svg.name, 'cooking-class-b-on-saturday-b.svg')
  assert.match(svg.content.toString(), /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox=/)
  const png = await saved('Save as PNG')
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG')
  assert.ok(png.content.readUInt32BE(16) >= 1_024)
  await page.getByRole('link', { name: 'Poster' }).click()
  await page.getByRole('button', { name: 'Print' }).waitFor()
  await page.emulateMedia({ media: 'print' })
  assert.equal(await page.getByRole('navigation', { name: 'Main' }).isVisible(), false)
  assert.equal(await page.getByRole('button', { name: 'Print' }).isVisible(), false)
  const paper = (await page.pdf({ format: 'A4' })).toString('latin1')
  assert.equal(paper.match(/\/Type\s*\/Page\b/g)?.length, 1)
  await picture(page, 'poster-print')
})

test('a one-off link is made from the same place', async () => {
  const page = await open('/links')
  await page.getByRole('button', { name: 'New link' }).click()
  await page.getByLabel('Who pays it').selectOption('one-off')
  await page.getByLabel('Amount', { exact: true }).fill('1,500')
  await page.getByLabel("Customer's e-mail address").fill('chidi@example.com')
  await page.getByRole('button', { name: 'Make the link' }).click()
  await page.getByRole('heading', { name: '₦1,500.00' }).waitFor()
})

test('a viewer reads links and changes none', async () => {
  const page = await open('/links', { member: viewer })
  await page.getByRole('link', { name: 'Cooking class' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'New link' }).count(), 0)
  await page.getByRole('link', { name: 'Cooking class' }).click()
  await page.getByRole('heading', { name: 'QR code' }).waitFor()
  assert.equal(await page.getByRole('button', { name: /Switch|Change/ }).count(), 0)
})

test('every look: list, link, poster, and the page of a customer', async () => {
  const make = (body: object) => shop.call('POST', '/payments/v1/links', { country: 'NG', ...body })
  await make({ title: 'Donation', description: 'For the school kitchen', minAmount: 50_000, collectPhoneNumber: true })
  await make({ title: 'Lunch box, delivered to your office in Lagos', amount: 450_000, active: false })
  await make({ title: 'Tip', expiresIn: 86_400, metadata: { counter: '2' } })
  const [, , donation] = await links()
  const pages: [name: string, path: string, shows: string][] = [
    ['links', '/links', 'text=Lunch box'],
    ['link', `/links/${donation.id}`, 'text=QR code'],
    ['poster', `/links/${donation.id}/poster`, 'text=Scan with'],
    ['link-page', donation.url, 'text=Continue to payment'],
  ]
  for (const [name, path, shows] of pages)
    for (const look of LOOKS) {
      const page = await open(path, look)
      await page.locator(shows).first().waitFor()
      if (name === 'link-page') await page.locator('main').waitFor()
      await assertAccessible(page, `${name}-${look.colorScheme}-${look.width}`)
      await page.context().close()
    }
})
