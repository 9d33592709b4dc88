import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { eventually, startPaying } from '../../support/paying.ts'
import { atProvider, lastRefundFails, listingProvider, needsReview, refund } from '../../support/returns.ts'
import { loseNotices, type Paid, paid } from '../../support/sandbox-payments.ts'
import { assertAccessible, LOOKS, openScreen } from '../../support/screens.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url, worker: true })
const { app, baseUrl, parts } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const member = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()
const { pendingRefund } = listingProvider(service)

const open = (id: string, look: Parameters<typeof openScreen>[3] = {}) =>
  openScreen(browser, member, `${baseUrl}/dashboard/${merchantId}/sandbox/payments/${id}`, look)
const attentionOn = (page: Page) => page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem')

/** The sentences, and the word beside the reference, in every look. */
async function shows(name: string, { id }: { id: string }, word: string, sentences: RegExp[]): Promise<void> {
  for (const look of LOOKS) {
    const page = await open(id, look)
    await attentionOn(page).first().waitFor()
    const texts = await attentionOn(page).allInnerTexts()
    assert.equal(texts.length, sentences.length, texts.join('\n'))
    for (const [index, sentence] of sentences.entries())
      assert.match((texts[index] ?? '').replaceAll(/\s+/g, ' '), sentence)
    assert.equal(await page.locator('.about .status').innerText(), word)
    await page.getByText('payment created').first().waitFor()
    await assertAccessible(page, `payment-${name}-${look.colorScheme}-${look.width}`)
    await page.context().close()
  }
}

async function disputed(changes: Record<string, unknown> = {}): Promise<Paid> {
  const payment = await paid(shop, changes)
  await atProvider(shop, '/disputes', { reference: payment.order, amount: 400_000, reason: 'product_not_received' })
  await eventually(
    () => database.rows(sql`select from disputes where payment_id = ${uuidOf(payment.id as PaymentId)}`),
    (disputes) => disputes.length === 1,
  )
  return payment
}

test('a payment that was paid and nothing else has no line above it', async () => {
  const page = await open((await paid(shop)).id)
  await page.getByText('payment created').first().waitFor()
  assert.equal(await attentionOn(page).count(), 0)
  assert.equal(await page.locator('.about .status').innerText(), 'Paid')
  await page.context().close()
})

test('an open dispute stands above everything, with its amount and the time to answer', async () => {
  const payment = await disputed({ reference: 'DISPUTED-1' })
  await shows('disputed', payment, 'Disputed', [
    /^Disputed The customer’s bank disputes ₦4,000\.00 \(product not received\): answer at Sandbox provider by \S.+, or the money is taken back\.$/,
  ])
  await database.rows(sql`update disputes set respond_by = now() - interval '1 hour'`)
  const page = await open(payment.id)
  await attentionOn(page)
    .getByText(/the time to answer at Sandbox provider ended on .+, and the bank decides\./)
    .waitFor()
  await page.context().close()
})

test('the refund dialog shows what is left after pending refunds, refuses in naira and warns of a dispute', async () => {
  const payment = await disputed({ reference: 'DISPUTED-2' })
  await pendingRefund(payment, 250_000)
  for (const look of LOOKS) {
    const page = await open(payment.id, look)
    await page.getByRole('button', { name: 'Refund' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The customer’s bank disputes ₦4,000.00 of this payment.').waitFor()
    await dialog.getByText('all that is left: ₦10,000.00. ₦2,500.00 is in refunds that are not finished.').waitFor()
    await dialog.getByRole('button', { name: 'Refund ₦10,000.00' }).waitFor()
    await dialog.getByLabel('Amount in NGN').fill('11000')
    await dialog.getByText('Only ₦10,000.00 can still be refunded').waitFor()
    await dialog.getByRole('button', { name: 'Refund ₦11,000.00' }).click()
    const refusal = dialog.getByRole('alert')
    await refusal.waitFor()
    assert.equal(
      await refusal.innerText(),
      '₦10,000.00 of ₦12,500.00 can still be refunded. ₦2,500.00 is in refunds that are not finished.',
    )
    await assertAccessible(page, `refund-dialog-${look.colorScheme}-${look.width}`)
    await page.context().close()
  }
  assert.equal((await shop.payment(payment.id)).amountRefunded, 0)
})

test('nothing is left to refund while refunds of all of it are pending', async () => {
  const payment = await paid(shop)
  await pendingRefund(payment, 1_250_000)
  const page = await open(payment.id)
  await attentionOn(page).first().waitFor()
  assert.equal(await page.getByRole('button', { name: 'Refund' }).count(), 0)
  await page.context().close()
})

test('a screen that cannot read the disputes does not say "Paid"', async () => {
  const payment = await disputed()
  const page = await open(payment.id)
  await page.route('**/disputes?**', (route) => route.fulfill({ status: 503, json: { detail: 'Not now.' } }))
  await page.reload()
  await page.getByRole('alert').getByText('Not now.').waitFor()
  assert.equal(await page.locator('.about .status').count(), 0)
  await page.context().close()
})

test('a review, a failed and a pending refund are told with their amounts, the most urgent first', async () => {
  const payment = await paid(shop, { reference: 'REFUNDS-1' })
  await loseNotices(shop) // they would say that the refund was made
  assert.equal((await refund(shop, payment.reference, { amount: 300_000 })).status, 201)
  await lastRefundFails(parts, payment)
  await pendingRefund(payment, 250_000)
  await needsReview(parts, payment, 'refund_mismatch: a refund of ₦10.00 is listed.')
  await shows('refunds', payment, 'Needs review', [
    /^Needs review ₦12,500\.00 received: a refund of ₦10\.00 is listed\.$/,
    /^Refund failed The refund of ₦3,000\.00 failed on .+ \(account closed\): the customer does not have the money\.$/,
    /^Refund pending The refund of ₦2,500\.00, asked for on .+, is not finished: Sandbox provider has until \S.+\.$/,
  ])
})

test('a failed refund is told until a later one sends as much', async () => {
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 0 })
  const payment = await paid(shop)
  await loseNotices(shop)
  await refund(shop, payment.reference, { amount: 300_000 })
  await lastRefundFails(parts, payment)
  const page = await open(payment.id)
  await attentionOn(page).getByText('₦3,000.00').waitFor()
  assert.equal((await refund(shop, payment.reference, { amount: 300_000 })).status, 201)
  await attentionOn(page).first().waitFor({ state: 'detached' })
  await page.getByText('Partly refunded').waitFor()
  await page.context().close()
})
