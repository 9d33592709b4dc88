import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { sql } from '../../../src/database/sql.ts'
import { sendDueRefunds } from '../../../src/payments/refunds/refund-payment.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'
import { reconcile } from '../../support/reconciling.ts'
import { AMOUNT, paid } from '../../support/sandbox-payments.ts'
import { assertAccessible, assertAccessibleInAllLooks, openScreen } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, inOneProcess: true })
const { app, baseUrl, parts } = service
const shop = await service.addShop()
const { merchantId, merchantUuid } = shop
const { id: memberId } = await addMember(database, { role: 'admin', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

const HOSTILE = '"><img/src=x/onerror=alert(1)>'

async function settle(): Promise<string> {
  await shop.call('POST', '/sandbox/gateway/settlements', {})
  await reconcile(parts, shop, '10 days')
  const { body } = await shop.call('GET', '/payments/v1/settlements')
  return body.data[0].id
}

const DAYS = (days: number) => sql`
  update receipts set taken_at = now() - make_interval(days => ${days}) where merchant_id = ${merchantUuid} and settled_in is null`

const first = await paid(shop, { reference: 'ORDER-1001' })
const refunded = await paid(shop, { reference: 'ORDER-1002' })
await shop.call('POST', `/payments/v1/payments/${refunded.reference}/refunds`, { amount: 250_000 })
await sendDueRefunds(parts, 100)
const good = await settle()
await paid(shop, { reference: `ORDER-${HOSTILE}` })
await paid(shop, { reference: 'ORDER-1004' })
const odd = await settle()
await paid(shop, { reference: 'ORDER-LATE' })
await database.rows(DAYS(9))
await paid(shop, { reference: 'ORDER-NEW' })
await database.rows(sql`
  update integrations set created_at = now() - interval '50 days' where merchant_id = ${merchantUuid}`)
// One line of the second settlement differs, and another one is of somebody else's shop.
await database.rows(sql`
  update settlement_lines set gross = gross - 100000, net = net - 100000
   where merchant_id = ${merchantUuid} and payment_id = (select id from payments where reference = 'ORDER-1004')`)
await database.rows(sql`
  insert into settlement_lines (place, merchant_id, mode, settlement_id, line_key, kind, transaction_id, gross, fee, net, reading)
  select place, merchant_id, mode, settlement_id, 'other', 'payment', ${HOSTILE}, 100000, 0, 100000, reading
    from settlement_lines where payment_id = (select id from payments where reference = 'ORDER-1004')`)
await reconcile(parts, shop, '10 days')
await database.rows(sql`
  update settlements set because = ${HOSTILE}, bank_reference = ${HOSTILE} where merchant_id = ${merchantUuid}`)

const open = (path: string, width = 1280) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox${path}`, { width })

const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

for (const [path, shows, name] of [
  ['/settlements', 'text=Differs', 'settlements'],
  ['/settlements/unsettled', 'text=ORDER-LATE', 'settlements-late'],
  ['/settlements/unsettled?show=all', 'text=ORDER-NEW', 'settlements-unsettled'],
  ['/settlements/fees', 'text=of gross', 'settlements-fees'],
  [`/settlements/${good}`, 'text=ORDER-1002', 'settlement'],
  [`/settlements/${odd}`, 'text=Another amount is on record', 'settlement-odd'],
  ['/payments/ORDER-1002', 'text=Refund, ', 'payment-paid-out'],
  ['/payments/ORDER-LATE', 'text=so it is late', 'payment-late'],
  ['', 'text=Lost disputes', 'overview-money'],
  ['/settlements/bank', 'text=No bank statement yet', 'settlements-no-bank'],
] as const)
  test(`${name}: no accessibility finding, light and dark, phone and desk`, async () => {
    const page = await open(path)
    await page.locator(shows).first().waitFor()
    await assertAccessibleInAllLooks(page, name)
    await page.context().close()
  })

// The three questions of a merchant, each with at most three clicks from the overview.

for (const width of [1280, 390]) {
  const go = async () => {
    const page = await open('', width)
    await page.getByText('Lost disputes').waitFor()
    let clicks = 0
    const click = async (where: Locator) => {
      await where.click()
      assert.ok(++clicks <= 3, `${clicks} clicks`)
    }
    return { page, click }
  }

  test(`what reached my bank, and for which payments? ${width} px`, async () => {
    const { page, click } = await go()
    await click(link(page, 'Net'))
    await click(page.locator(`a[href$="${good}"]`))
    await page.getByRole('heading', { name: /^₦/ }).waitFor()
    await page.getByRole('link', { name: 'ORDER-1001' }).waitFor()
    await click(link(page, 'ORDER-1001'))
    await page.getByRole('heading', { name: 'Settlement' }).waitFor()
    await page.context().close()
  })

  test(`what did it really cost? ${width} px`, async () => {
    const { page, click } = await go()
    await click(link(page, 'Fees'))
    await page.getByRole('columnheader', { name: 'Charged' }).waitFor({ state: 'attached' })
    await page.getByText('None', { exact: true }).waitFor()
    await page.context().close()
  })

  test(`which paid payments are not settled? ${width} px`, async () => {
    const { page, click } = await go()
    await click(link(page, 'Not settled yet'))
    await link(page, 'ORDER-LATE').waitFor()
    await page.getByText('1 late: ₦12,500.00').waitFor()
    await page.getByText('2 payments, usually settled after 1 working day').waitFor()
    assert.equal(await page.getByText('ORDER-NEW').count(), 0)
    await page.getByLabel('Show').selectOption('all')
    await page.getByText('ORDER-NEW').waitFor()
    await page.context().close()
  })
}

test('a settlement shows its sums, and its lines lead to their payments', async () => {
  const page = await open(`/settlements/${good}`)
  const fee = (await shop.payment(first.reference)).feeCharged
  const net = 2 * AMOUNT - 250_000 - 2 * fee - 5_000
  const text = new Intl.NumberFormat('en', { style: 'currency', currency: 'NGN', currencyDisplay: 'narrowSymbol' })
  await page.getByRole('heading', { name: text.format(net / 100) }).waitFor()
  const lines = page.getByRole('table', { name: 'Lines' })
  await lines.getByRole('row').nth(3).waitFor()
  assert.equal(await lines.getByRole('link', { name: 'ORDER-1002' }).count(), 2)
  await page.getByRole('table', { name: 'Sums by kind' }).getByText('2 payments').waitFor()
  await lines.getByRole('link', { name: 'ORDER-1002' }).first().click()
  await page.getByText('Fee, as charged').waitFor()
  await page.getByText('Refund, ').waitFor()
  await page.context().close()
})

test('a case of a settlement leads to it and to its line; texts of others are text', async () => {
  const page = await open('/attention')
  page.on('dialog', (dialog) => assert.fail(dialog.message()))
  await page.locator('tbody').getByText('Settlement differs').waitFor()
  await page.locator(`a[href$="${odd}"]`).click()
  const lines = page.getByRole('table', { name: 'Lines that differ' })
  await lines.getByRole('link', { name: 'ORDER-1004' }).waitFor()
  await lines.getByText('Another amount is on record').waitFor()
  await page.getByText('No payment of yours').first().waitFor()
  assert.equal(await page.locator('img').count(), 0)
  assert.ok((await page.getByText(HOSTILE).count()) >= 3)
  await page.getByLabel('Show').selectOption('true')
  await page.getByRole('table', { name: 'Lines', exact: true }).getByRole('row').nth(2).waitFor({ state: 'detached' })
  await page.context().close()
})

test('settlements and their lines of the filters are exported', async () => {
  const page = await open('/settlements?provider=gateway')
  for (const [button, file] of [
    ['Export', 'settlements'],
    ['Export lines', 'settlement-lines'],
  ] as const) {
    await page.getByRole('button', { name: button, exact: true }).click()
    await assertAccessible(page, `export-${file}`)
    const downloading = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
    assert.ok((await downloading).suggestedFilename().startsWith(`${file}-sandbox-`))
    await page.getByRole('button', { name: 'Done' }).click()
  }
  await page.context().close()
})

test('a bank statement finds its payouts; what is left on both sides is shown, matched by hand and undone', async () => {
  const page = await open('/settlements/bank')
  const today = new Date().toISOString().slice(0, 10)
  const { net } = (await shop.call('GET', `/payments/v1/settlements/${good}`)).body.data
  const upload = async (lines: string[]) => {
    const buffer = Buffer.from(
      ['Zenith Bank,Account of Adaeze', 'Value Date,Narration,Money In', ...lines].join('\r\n'),
    )
    await page.getByRole('button', { name: 'Upload a statement' }).click()
    await page.getByLabel('CSV file of your bank').setInputFiles({ name: 'may.csv', mimeType: 'text/csv', buffer })
    await page.getByLabel('Column with the credit').waitFor()
  }
  await upload([`${today},x${HOSTILE},much`, 'never,x,700.00'])
  assert.equal(await page.getByLabel('Column with the day').inputValue(), 'Value Date')
  assert.equal(await page.getByLabel('Column with the credit').inputValue(), 'Money In')
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('Line 3: "much" in the column "Money In" is no amount of NGN.').waitFor()
  await page.getByText('Line 4: "never" in the column "Value Date" is no day.').waitFor()
  await assertAccessibleInAllLooks(page, 'bank-mistakes')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()

  await upload([
    `${today},Payout,"${(net / 100).toLocaleString('en')}"`,
    `${today},x${HOSTILE},24000.00`,
    `${today},Fee,`,
  ])
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('1 settlement found').waitFor()
  await page.getByText('2 credits, 2 of them new. 1 other line left out.').waitFor()
  const credits = page.getByRole('table', { name: 'Credits at your bank' })
  const payouts = page.getByRole('table', { name: 'Payouts that no statement shows' })
  await credits.getByText('₦24,000.00').waitFor()
  await payouts.getByText('₦24,375.00').waitFor()
  assert.deepEqual([await credits.getByRole('row').count(), await payouts.getByRole('row').count()], [2, 2])
  await assertAccessibleInAllLooks(page, 'settlements-bank')

  await credits.getByRole('button', { name: /^Match: ₦24,000.00/ }).click()
  await page.getByLabel('Payout', { exact: true }).selectOption({ index: 1 })
  await assertAccessible(page, 'match-credit')
  await page.getByRole('dialog').getByRole('button', { name: 'Match' }).click()
  await page.getByText('Each credit of your statements is a settlement.').waitFor()
  await page.getByText('Your statements show every payout.').waitFor()
  await page.getByLabel('Show').selectOption('all')
  await page.getByRole('button', { name: /^Undo: ₦24,000.00/ }).click()
  await payouts.getByText('₦24,375.00').waitFor()

  // The columns are remembered, also where another name is more likely.
  await page.getByRole('button', { name: 'Upload a statement' }).click()
  const buffer = Buffer.from(`Date,Credit,Value Date,Money In\n${today},1,${today},24375`)
  await page.getByLabel('CSV file of your bank').setInputFiles({ name: 'june.csv', mimeType: 'text/csv', buffer })
  await page.getByLabel('Column with the credit').waitFor()
  assert.equal(await page.getByLabel('Column with the day').inputValue(), 'Value Date')
  assert.equal(await page.getByLabel('Column with the credit').inputValue(), 'Money In')
  await page.getByRole('button', { name: 'Upload', exact: true }).click()
  await page.getByText('1 settlement found').waitFor()
  await page.goto(`${baseUrl}/dashboard/${merchantId}/sandbox/payments/ORDER-1002`)
  await page.getByText('On your bank statement').first().waitFor()
  await page.context().close()
})
