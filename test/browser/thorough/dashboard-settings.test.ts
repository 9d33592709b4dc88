import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { setOperator } from '../../../src/members/manage-members.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'
import { assertAccessible, LOOKS, type Look, openScreen, picture } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
await setOperator({ database }, 'test', memberId, { operator: true, force: false })
const owner = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

const open = (path: string, look?: Look) => openScreen(browser, owner, `${baseUrl}/dashboard${path}`, look)

/** No accessibility finding and no sideways scrolling, light and dark, phone and desk. */
async function inspect(name: string, path: string, ready: (page: Page) => Promise<unknown>): Promise<void> {
  for (const look of LOOKS) {
    const page = await open(path, look)
    await ready(page)
    await assertAccessible(page, `${name}-${look.colorScheme}-${look.width}`)
    await page.context().close()
  }
}

const at = (screen: string) => `/${merchantId}/sandbox${screen}`

test('settings: a new name is in the bar, and times are shown in the new zone', async () => {
  await inspect('settings', at('/settings'), (page) => page.getByLabel('Time zone').waitFor())
  const page = await open(at('/settings'))
  await page.getByLabel('Name').fill('Adaeze Foods')
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.merchant-name', { hasText: 'Adaeze Foods' }).waitFor()
  await page.getByLabel('Limit for one payment').fill('1,250.50')
  await page.getByRole('button', { name: 'Save limit' }).click()
  await page.getByText('Refund limit saved').waitFor()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByText('Times in Asia/Tokyo').waitFor()
  await page.getByText('125050').waitFor()
  await page.context().close()
})

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY51vT9MCAAAAAElFTkSuQmCC'

test('branding: the real page follows the draft, its contrast is told, and it is saved', async () => {
  const shownPage = (page: Page) => page.frameLocator('iframe[title="Preview of the payment page"]')
  await inspect('branding', at('/branding'), async (page) => {
    await shownPage(page)
      .getByRole('heading', { name: /Adaeze/, includeHidden: true })
      .waitFor()
    await page.getByText('to 1.').first().waitFor()
  })
  const page = await open(at('/branding'))
  const history = await page.evaluate('history.length')
  await page.getByLabel('Name').fill('Adaeze <b>Foods</b>')
  await shownPage(page).locator('h1', { hasText: 'Adaeze <b>Foods</b>' }).waitFor()
  await page.getByLabel('Colour', { exact: true }).fill('#ffee00')
  await page.getByText('so the button gets a darker border').waitFor()
  await page.getByText('Black on your colour: 17').waitFor()
  const file = { name: 'logo.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') }
  await page.getByLabel('Logo', { exact: true }).setInputFiles(file)
  await shownPage(page).locator('img.logo[src^="data:image/png"]').waitFor()
  await page.getByLabel('Theme').last().selectOption('dark')
  await shownPage(page).locator('html[data-theme="dark"]').waitFor({ state: 'attached' })
  await shownPage(page).locator('img.logo[src^="data:image/png"]').waitFor()
  await picture(page, 'branding-draft')
  assert.equal(await page.evaluate('history.length'), history, 'the preview adds no step to the history')
  await page
    .getByLabel('Logo', { exact: true })
    .setInputFiles({ ...file, name: 'big.png', buffer: Buffer.alloc(11_000) })
  await page.getByText('big.png does not fit: it has 11 KB.').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Branding saved').waitFor()
  await shownPage(page).locator('img.logo[src*="/logo/mer_"]').waitFor()
  await page.context().close()
})

test('operator: a merchant is created, its owner invited, and it is suspended', async () => {
  await inspect('operator', '/operator', (page) => page.getByText('Payments to expire').waitFor())
  const page = await open(at(''))
  await page.getByRole('button', { name: /account of/ }).click()
  await page.getByRole('link', { name: 'Operator' }).click()
  await page.getByRole('button', { name: 'New merchant' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Bola Books')
  await page.getByLabel('Country').fill('Ghana')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByLabel('E-mail address').fill('bola@example.com')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await page.getByRole('button', { name: 'Copy link' }).waitFor()
  await picture(page, 'operator-invited')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Suspend Bola Books' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
  await page.getByText('Bola Books is suspended').waitFor()
  await page.getByRole('button', { name: 'Resume Bola Books' }).waitFor()
  await page.context().close()
})

test('providers: the order is changed by drag and by keyboard, and the focus stays', async () => {
  const integrations = `/merchants/${merchantId}/sandbox/integrations`
  const settings = { secretKey: `sk_test_${'a'.repeat(40)}`, publicKey: `pk_test_${'b'.repeat(40)}` }
  await owner.call('PUT', `${integrations}/paystack`, { settings, baseURL: 'http://127.0.0.1:9' })
  await inspect('providers', at('/providers'), (page) => page.getByText('Answers normally').first().waitFor())
  const page = await open(at('/providers'))
  const names = () => page.getByRole('table', { name: 'Providers in use' }).locator('td .cell-main').allInnerTexts()
  const row = (name: string) => page.getByRole('row', { name: new RegExp(name) }).first()
  await row('Paystack').waitFor()
  const before = await names()
  await row(before[1] ?? '').dragTo(row(before[0] ?? ''))
  await page.getByText(`${before[1]} is now number 1 of 2`).waitFor()
  assert.deepEqual(await names(), before.toReversed())
  const later = page.getByRole('button', { name: `Use ${before[1]} later` })
  await later.focus()
  await page.keyboard.press('Enter')
  await page.getByText(`${before[1]} is now number 2 of 2`).waitFor()
  assert.deepEqual(await names(), before)
  await page.keyboard.press('Enter') // it is the last already
  assert.ok(await later.evaluate((button) => button === button.ownerDocument.activeElement))
  await page.getByRole('button', { name: 'No notice yet: show the URL of Paystack' }).click()
  await page.getByText('Waiting for the first notice').waitFor()
  await picture(page, 'providers-notices')
  await page.reload()
  await row('Paystack').waitFor()
  assert.deepEqual(await names(), before, 'the order is saved')
  await page.context().close()
})

test('providers: what a new version offers beside the channels in use is named, and switched on by a press', async () => {
  const integrations = `/merchants/${merchantId}/sandbox/integrations`
  await owner.call('PUT', `${integrations}/gateway`, { channels: ['card', 'virtual-bank-account'] })
  const page = await open(at('/providers'))
  await page.getByText('Also offered, switched off: Mobile money, USSD, Pay with bank, QR code.').waitFor()
  await page.getByRole('button', { name: /^Switch on Mobile money/ }).click()
  await page.getByText('Also offered').waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('Card, Bank transfer, Mobile money, USSD, Pay with bank, QR code').first().waitFor()
  assert.equal(await page.getByText('Also offered').count(), 0)
  await page.context().close()
})
