import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { CASE_REASONS } from '../../../src/payments/state/case.ts'
import { openBrowser } from '../../support/browser.ts'
import { openCases } from '../../support/cases.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { eventually, startPaying } from '../../support/paying.ts'
import { payElsewhere } from '../../support/payment-records.ts'
import { listingProvider } from '../../support/returns.ts'
import { paid } from '../../support/sandbox-payments.ts'
import { assertAccessible, LOOKS, type Look, openScreen } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, worker: true })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

/** What each reason says, as the code that opens it writes it. */
const SUMMARIES: Record<Exclude<(typeof CASE_REASONS)[number], 'unmatched_money'>, string> = {
  contradiction: 'contradiction: ₦12,500.00 is on record, and the provider now names ₦8,000.00. Nothing was changed.',
  missing_at_provider: 'missing_at_provider: ₦12,500.00 is on record, and the provider does not know the order.',
  unanswered: 'unanswered: the provider has given no clear answer for seven days. It is asked once a day.',
  refund_mismatch: 'refund_mismatch: ₦1,000.00 was asked for, and the provider lists ₦1,500.00 as refunded.',
  refund_failed: 'refund_failed: the provider kept ₦1,000.00 that is on record as given back.',
  surplus: 'surplus: ₦12,500.00 came twice, and the provider has no ids for these transactions.',
  underpaid: 'underpaid: ₦9,000.00 of ₦12,500.00 arrived, and the payment has expired.',
  settlement_difference: 'settlement_difference: ₦100.00 of the settlement belongs to no payment.',
  review: 'reversed: ₦500.00 was given back at the provider; ₦12,000.00 is left.',
}
for (const [reason, summary] of Object.entries(SUMMARIES)) {
  await shop.initialize({ reference: `ORDER-${reason}`, provider: 'gateway-virtual-bank-account' })
  await openCases(database, [`ORDER-${reason}`], summary)
}
// No scheduled check answers what a person shall ask about.
await database.rows(sql`update attempts set next_check_at = now() + interval '1 day'`)
const { transactionId } = await payElsewhere(service, shop, 1_250_000)
await eventually(
  () => shop.call('GET', '/payments/v1/cases?reason=unmatched_money'),
  ({ body }) => body.data.length === 1,
)

const open = (path: string, look?: Look) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox${path}`, look)

test('every reason is shown in words, on a phone and a desk, light and dark, without an accessibility finding', async () => {
  for (const look of LOOKS) {
    const page = await open('/attention', look)
    await page.locator(`text=${transactionId}`).waitFor()
    assert.equal(await page.locator('tbody tr').count(), CASE_REASONS.length)
    await assertAccessible(page, `attention-${look.colorScheme}-${look.width}`)
    await page.context().close()
  }
})

test('a case is closed with a note, and is found among the done ones', async () => {
  const page = await open('/attention?reason=contradiction')
  await page.getByRole('button', { name: 'Close with a note: ORDER-contradiction' }).click()
  await page.getByRole('dialog').getByLabel('Note').fill('The dashboard has ₦12,500.00.')
  await assertAccessible(page, 'close-case-dialog')
  await page.getByRole('dialog').getByRole('button', { name: 'Close the case' }).click()
  await page.getByRole('heading', { name: 'No result' }).waitFor()
  await page.getByLabel('Show').selectOption('Done')
  await page.getByText('Note: The dashboard has ₦12,500.00.').waitFor()
})

test('"Ask again" makes the provider be asked, and its clear answer closes the case', async () => {
  const page = await open('/attention?reason=unanswered')
  await page.getByRole('button', { name: 'Ask again: ORDER-unanswered' }).click()
  await page.getByText('The provider is asked again').waitFor()
  const answered = await eventually(
    () => shop.call('GET', '/payments/v1/cases?reason=unanswered'),
    ({ body }) => body.data[0].status === 'closed',
  )
  assert.equal(answered.body.data[0].closedBy, 'books')
})

test('a refund that was asked for and lost fails with "It was not made", and a note', async () => {
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 0 })
  const payment = await paid(shop, { reference: 'ORDER-lost-refund' })
  const refund = uuidOf(await listingProvider(service).pendingRefund(payment, 250_000))
  const { reference } = payment
  await database.rows(sql`update refunds set asked_at = now(), due_at = now() + interval '1 day' where id = ${refund}`)
  await database.rows(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, amount, currency, summary, opened_at)
    select place, id, merchant_id, mode, payment_id, 'gateway', 'unanswered', 'refund', id::text, amount, currency,
           'unanswered: the provider was asked for it, and does not list it for a day.', now()
      from refunds where id = ${refund}`)
  const page = await open('/attention?reason=unanswered')
  await page.getByRole('button', { name: `It was not made: ${reference}` }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Note').fill('Their dashboard has no such refund.')
  await assertAccessible(page, 'end-refund-dialog')
  await dialog.getByRole('button', { name: 'It was not made' }).click()
  await page.getByText('The refund has failed').waitFor()
  const { body } = await shop.call('GET', `/payments/v1/payments/${reference}/refunds`)
  assert.deepEqual([body.data.length, body.data[0].status], [1, 'failed'])
})

test('money is matched and returned where it is shown, and a failed refund is made again on its payment', async () => {
  const page = await open('/attention?reason=unmatched_money')
  await page.getByRole('link', { name: `Match or return: ${transactionId}` }).click()
  await page.getByRole('heading', { name: 'Transfers' }).waitFor()
  for (const reason of ['surplus', 'underpaid']) {
    await page.goto(`${baseUrl}/dashboard/${merchantId}/sandbox/attention?reason=${reason}`)
    await page.getByRole('link', { name: `Match or return: ORDER-${reason}` }).click()
    await page.getByRole('heading', { name: 'Transfers' }).waitFor()
  }
  await page.goto(`${baseUrl}/dashboard/${merchantId}/sandbox/attention?reason=refund_failed`)
  await page.getByRole('link', { name: 'Refund: ORDER-refund_failed' }).click()
  await page.waitForURL(/\/payments\/ORDER-refund_failed$/)
})
