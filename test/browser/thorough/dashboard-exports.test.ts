import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'
import { assertAccessibleInAllLooks, openScreen } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const { app, baseUrl, addShop } = await startPaying({ database, databaseUrl: url })
const shop = await addShop()
const { merchantId, place } = shop
const { id: memberId } = await addMember(database, { role: 'viewer', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

for (const [reference, name, amount] of [
  ['ORDER-1', 'Ada Obi', 1_250_000],
  ['ORDER-2', '=HYPERLINK("https://evil.example")', 900],
] as const)
  await shop.call('POST', '/payments/v1/checkouts', {
    ...{ reference, amount, country: 'NG', user: { email: 'ada@example.com', name } },
  })
await shop.call('POST', '/payments/v1/payments/ORDER-2/cancel')

const open = (path: string, width = 1280) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox${path}`, { width })

test('an export of the filtered payments, with the columns of the list, is saved as a file', async () => {
  const page = await open('/payments?status=cancelled')
  await page.getByText('ORDER-2').waitFor()
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('checkbox', { name: 'Name' }).check()
  await page.getByRole('checkbox', { name: 'Method' }).uncheck()
  assert.ok(await page.getByRole('checkbox', { name: 'Reference' }).isDisabled())
  await assertAccessibleInAllLooks(page, 'columns')
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByLabel('Columns', { exact: true }).selectOption('The columns of the list')
  await assertAccessibleInAllLooks(page, 'export')
  const downloading = page.waitForEvent('download')
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
  const download = await downloading
  assert.match(download.suggestedFilename(), /^payments-sandbox-\d{4}-\d\d-\d\d\.csv$/)
  const [head, row, ...rest] = (await readFile(await download.path(), 'utf8')).split('\r\n')
  assert.equal(head, '\uFEFFamount,currency,status,late,needsReview,id,reference,email,name,createdAt')
  assert.match(row ?? '', /^900,NGN,cancelled,false,false,chk_\w+,ORDER-2,ada@example\.com,"'=HYPERLINK\(""https/)
  assert.deepEqual(rest, [''])
  await page.getByText('1 row in payments-sandbox').waitFor()
  await assertAccessibleInAllLooks(page, 'exported')
  await page.getByRole('button', { name: 'Done' }).click()

  // The choice of columns is kept.
  await page.reload()
  await page.getByRole('columnheader', { name: 'Name', exact: true }).waitFor()
  assert.equal(await page.getByRole('columnheader', { name: 'Method' }).count(), 0)
  await page.getByRole('button', { name: 'Columns' }).click()
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByRole('columnheader', { name: 'Method' }).waitFor()
  await page.context().close()
})

test('refunds and deliveries are exported, too', async () => {
  for (const [path, list] of [
    ['/refunds', 'refunds'],
    ['/webhooks', 'deliveries'],
  ]) {
    const page = await open(path ?? '')
    await page.getByRole('button', { name: 'Export' }).click()
    const downloading = page.waitForEvent('download')
    await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
    assert.ok((await downloading).suggestedFilename().startsWith(`${list}-sandbox-`))
    await page.context().close()
  }
})

test('views: saved, chosen, renamed and deleted', async () => {
  const page = await open('/payments')
  await page.getByText('ORDER-1').waitFor()
  await page.getByText('More filters').click()
  await page.getByLabel('Amount to').fill('100')
  await page.keyboard.press('Enter')
  await page.getByText('ORDER-1').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Small <b>ones</b>')
  await assertAccessibleInAllLooks(page, 'save-view')
  await page.keyboard.press('Enter')
  await page.getByLabel('View', { exact: true }).waitFor()
  await page.getByLabel('View', { exact: true }).selectOption('All payments')
  await page.getByText('ORDER-1').waitFor()
  assert.equal(await page.getByLabel('Amount to').inputValue(), '')
  await page.getByLabel('View', { exact: true }).selectOption('Small <b>ones</b>')
  await page.getByText('ORDER-1').waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel('Amount to').inputValue(), '100')
  await assertAccessibleInAllLooks(page, 'payments-view')
  await page.getByRole('button', { name: 'Manage views' }).click()
  await assertAccessibleInAllLooks(page, 'manage-views')
  await page.getByRole('button', { name: 'Rename Small <b>ones</b>' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Small')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Delete Small' }).click()
  await page.getByText('No views.').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Save view' }).waitFor()
  await page.context().close()
})

test('a long export shows its progress and is cancelled', async () => {
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email, metadata,
                          expires_at)
    select ${place}, ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, ${uuidOf(merchantId)}, 'sandbox', 'MANY-' || n, 'many' || n, 100,
           'NGN', 'NG', false, 'ada@example.com', '{}', now() from generate_series(1, 20000) n`)
  const page = await open('/payments')
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
  await page.getByText(/^[1-9][\d,]* rows of 20,002$/).waitFor()
  await page.getByRole('button', { name: 'Cancel the export' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).waitFor()
  await page.context().close()
})
