import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { openBrowser } from '../../support/browser.ts'
import { openCases } from '../../support/cases.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { eventually, startPaying } from '../../support/paying.ts'
import { payElsewhere } from '../../support/payment-records.ts'
import { charge, isPaid } from '../../support/sandbox-payments.ts'
import { assertAccessible, assertAccessibleInAllLooks, LOOKS, type Look, openScreen } from '../../support/screens.ts'
import { CARD } from '../../support/simulator.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, worker: true })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

const ADA = { email: 'ada.obi@example.com', name: 'Ada Obi', phoneNumber: '+234 801 555 0001' }

async function transfer(reference: string, paid: number, changes: object = {}) {
  const { body } = await shop.initialize({
    ...{ provider: 'gateway-virtual-bank-account', reference, amount: 1_250_000, user: ADA, ...changes },
  })
  await shop.call('POST', '/sandbox/gateway/transfers', { accountNumber: body.data.data.accountNumber, amount: paid })
  return eventually(
    () => shop.payment(reference),
    ({ amountPaid }) => amountPaid === paid,
  )
}

async function unmatched(amount: number): Promise<void> {
  const { transactionId } = await payElsewhere(service, shop, amount)
  await eventually(
    () => database.rows(sql`select id from receipts where transaction_id = ${transactionId}`),
    (rows) => rows.length === 1,
  )
}

async function card(reference: string): Promise<string> {
  const { body } = await shop.initialize({ reference, amount: 480_000, user: { ...ADA, id: 'ada-1' }, saveCard: true })
  await charge(shop, body.data.data.reference, CARD.pays, { save: true })
  const { attempts } = await eventually(() => shop.payment(reference), isPaid)
  return attempts[0].providerReference
}

await transfer('ORDER-2001', 1_300_000)
await transfer('ORDER-2002', 900_000, { user: { email: 'chidi@example.com' } })
const order = await card('ORDER-2003')
await shop.initialize({ reference: 'ORDER-2004', provider: 'gateway-virtual-bank-account', user: ADA })
await unmatched(1_250_000)
await shop.call('POST', '/sandbox/gateway/disputes', { reference: order })
await eventually(
  () => shop.call('GET', '/payments/v1/disputes'),
  ({ body }) => body.data.length === 1,
)
const reviewed = await shop.payment('ORDER-2002')
await openCases(database, ['ORDER-2002'], 'unanswered: the provider never gave a clear answer.')

const open = (path: string, look?: Look) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox${path}`, look)

const SCREENS: [path: string, shows: string][] = [
  ['/transfers', 'text=ORDER-2001'],
  ['/disputes', 'text=ORDER-2003'],
  ['/customers', 'text=chidi@example.com'],
  [`/customers?email=${ADA.email}`, 'text=ORDER-2001'],
]

for (const [path, shows] of SCREENS) {
  test(`${path}: no accessibility finding and no sideways scrolling, light and dark, phone and desk`, async () => {
    for (const look of LOOKS) {
      const page = await open(path, look)
      await page.locator(shows).first().waitFor()
      await assertAccessible(page, `${path.replaceAll(/\W+/g, '-')}-${look.colorScheme}-${look.width}`)
      await page.context().close()
    }
  })
}

test('unmatched money is matched, too much is returned, the rest is noted; the list says who did it', async () => {
  const page = await open('/transfers')
  await page.getByRole('button', { name: /^Match: ₦12,500.00/ }).click()
  await page.getByLabel('Payment', { exact: true }).fill('ORDER-2004')
  await assertAccessible(page, 'match-dialog')
  await page.getByRole('button', { name: 'Match ₦12,500.00' }).click()
  await page.getByText('Matched: the payment is paid').waitFor()
  await page.getByRole('button', { name: /^Match:/ }).waitFor({ state: 'detached' })

  await page.getByRole('button', { name: /^Return: ₦500.00, paid too much/ }).click()
  await page.getByLabel('Note', { exact: true }).fill('The customer sent too much.')
  await assertAccessible(page, 'return-dialog')
  await page.keyboard.press('Enter')
  await page.locator('text=ORDER-2001').waitFor({ state: 'detached' })
  assert.equal((await shop.payment('ORDER-2001')).amountRefunded, 50_000)

  await page.getByRole('button', { name: /^Note: ₦9,000.00/ }).click()
  await page.getByLabel('Note', { exact: true }).fill('Chidi sends the rest on Friday.')
  await assertAccessible(page, 'note-dialog')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'All money adds up' }).waitFor()
  await page.getByLabel('Show').selectOption('Done')
  await page.getByText('Chidi sends the rest on Friday.').waitFor()
  assert.equal(await page.getByRole('row').count(), 4)
  await page
    .getByRole('cell', { name: /^Member/ })
    .first()
    .waitFor()
  await assertAccessibleInAllLooks(page, 'transfers-done')
})

test('a payment is marked as reviewed, with a note that stays on its screen', async () => {
  const page = await open(`/payments/${reviewed.id}`)
  await page.getByRole('button', { name: 'Mark as reviewed' }).click()
  await page.getByRole('dialog').getByLabel('Note').fill('The bank confirms: no second transfer.')
  await assertAccessible(page, 'review-dialog')
  await page.keyboard.press('Enter')
  await page.getByRole('table', { name: 'Reviews' }).getByText('The bank confirms: no second transfer.').waitFor()
  await page.getByRole('button', { name: 'Mark as reviewed' }).waitFor({ state: 'detached' })
  await assertAccessible(page, 'payment-reviewed')
})

test('a saved card is removed, and the customer is erased after typing the address', async () => {
  const page = await open('/customers')
  await page.getByLabel('E-mail address').fill(ADA.email)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: ADA.email }).waitFor()
  await page.getByRole('button', { name: /^Remove .* ending in 4081/ }).click()
  await assertAccessible(page, 'remove-card-dialog')
  await page.getByRole('button', { name: 'Remove card' }).click()
  await page.getByText('No saved cards').waitFor()

  await page.getByRole('button', { name: 'Erase' }).click()
  await page.getByRole('dialog').getByLabel('E-mail address').fill('chidi@example.com')
  await page.keyboard.press('Enter')
  await page.getByText('This is another address.').waitFor()
  await page.getByRole('dialog').getByLabel('E-mail address').fill(ADA.email)
  await assertAccessible(page, 'erase-dialog')
  await page.keyboard.press('Enter')
  await page.getByText('Customer erased').waitFor()
  await page.getByRole('heading', { name: 'Customers' }).waitFor()
  await page.getByText(/@customer.invalid$/).waitFor()
  assert.equal(await page.getByText(ADA.email).count(), 0)
  assert.match((await shop.payment('ORDER-2001')).user.email, /@customer\.invalid$/)
})
