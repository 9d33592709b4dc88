import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { startFakePaystack } from '../../fakes/paystack/fake.ts'
import { openBrowser } from '../../support/browser.ts'
import { fillCard, NO_MONEY, newCustomer, providerFrame, reaches, VISA } from '../../support/customer.ts'
import { startListener } from '../../support/listener.ts'
import { startProcess } from '../../support/process.ts'
import { joinWithPasskey, newStaff } from '../../support/staff.ts'

// What a newcomer does first, with the real program and nothing but a browser.

const folder = await mkdtemp(join(tmpdir(), 'manilla-journey-'))
const service = await startProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn' })
after(async () => {
  service.child.kill('SIGTERM')
  await service.exited
  await rm(folder, { recursive: true, force: true })
})
const hook = await startListener()
const browser = await openBrowser()
const { page, complaints } = await newStaff(browser)

const go = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click()

/** Leaves the page at the new payment, and returns the link for its customer. */
async function makeLink(amount: string, reference: string): Promise<string> {
  await go('Payments')
  await page.getByRole('button', { name: 'New payment link' }).first().click() // an empty list has one, too
  await page.getByLabel('Amount', { exact: true }).fill(amount)
  await page.getByLabel("Customer's e-mail address").fill('chidi@example.com')
  await page.getByLabel('Reference').fill(reference)
  await page.getByRole('button', { name: 'Make the link' }).click()
  await page.getByText('No attempts yet').waitFor()
  return page
    .getByText(/^https?:\/\/\S+$/)
    .first()
    .innerText()
}

test('the printed link, a passkey, a payment link; declined and paid before our eyes; half refunded, resent, exported', async () => {
  const welcome = /http\S+\/dashboard\/welcome#\S+/.exec(service.output())?.[0] ?? assert.fail(service.output())
  await joinWithPasskey(page, welcome, 'Ada Obi', 'ada@example.com')
  await go('Webhooks')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('Address').fill(hook.url)
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  const url = await makeLink('12,500', 'ORDER-1')

  const { page: phone } = await newCustomer(browser)
  await phone.goto(url)
  await phone.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(phone), NO_MONEY)
  await reaches(phone, 'failed')
  await page.getByText('There is not enough money on this card or account.').first().waitFor()
  await phone.getByRole('button', { name: 'Try again' }).click()
  await fillCard(providerFrame(phone), VISA)
  await reaches(phone, 'succeeded')
  await page.getByRole('button', { name: 'Refund' }).click()
  await page.getByRole('dialog').getByLabel('Amount in NGN').fill('6250')
  await page.getByRole('button', { name: 'Refund ₦6,250.00' }).click()
  await page.getByText('Partly refunded').waitFor()

  await hook.hears(3) // attempt.failed, payment.successful and the refund
  const heard = hook.heard.length
  await page.getByRole('button', { name: 'Show delivery of payment.successful' }).click()
  await page.getByRole('button', { name: 'Send again' }).click()
  await hook.hears(heard + 1)

  await go('Payments')
  await page.getByRole('button', { name: 'Export' }).click()
  const downloading = page.waitForEvent('download')
  await page.getByRole('dialog').getByRole('button', { name: 'Export' }).click()
  assert.match(await readFile(await (await downloading).path(), 'utf8'), /ORDER-1/)
  await page.getByRole('button', { name: 'Done' }).click()
  assert.deepEqual(complaints, [])
})

async function enterKeys(dialog: ReturnType<Page['getByRole']>, secretKey: string, publicKey: string) {
  await dialog.getByLabel('Secret key').fill(secretKey)
  await dialog.getByLabel('Public key').fill(publicKey)
  await dialog.getByRole('button', { name: 'Save and check' }).click()
}

test('Paystack: wrong keys, right keys, its notice URL; first by keyboard; paid while its keys are rotated', async () => {
  const paystack = await startFakePaystack({ after })
  const { secretKey = '', publicKey = '' } = paystack.settings
  const dialog = page.getByRole('dialog')
  await go('Providers')
  await page.getByRole('button', { name: 'Set up Paystack' }).click()
  await dialog.getByText('Another server').click()
  await dialog.getByLabel('Base URL').fill(paystack.upstream.url)
  await enterKeys(dialog, `sk_test_${'f'.repeat(40)}`, publicKey)
  await dialog.getByText(/Paystack does not accept these keys/).waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Change Paystack' }).click()
  await enterKeys(dialog, secretKey, publicKey)
  await dialog.getByText('The keys work.').waitFor()
  const noticeURL = await dialog.getByText(/^https?:\/\/\S+\/notices\/\S+$/).innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  for (const [direction, place] of [
    ['later', 2],
    ['earlier', 1],
  ]) {
    await page.getByRole('button', { name: `Use Paystack ${direction}` }).focus()
    await page.keyboard.press('Enter')
    await page.getByText(`Paystack is now number ${place} of 2`).waitFor()
  }

  const url = await makeLink('2500', 'ORDER-2')
  const { page: phone } = await newCustomer(browser)
  await phone.goto(url)
  await phone.getByRole('button', { name: /^Pay/ }).click()
  await phone.getByRole('button', { name: 'Pay', exact: true }).waitFor()

  // The keys change while the customer is at the provider. The payment was started with the old ones.
  const newKey = `sk_test_${'e'.repeat(40)}`
  await go('Providers')
  paystack.keys.secretKey = newKey
  await page.getByRole('button', { name: 'Change Paystack' }).click()
  await enterKeys(dialog, newKey, publicKey)
  await dialog.getByText('The keys work.').waitFor()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await phone.getByRole('button', { name: 'Pay', exact: true }).click()
  for (const { headers, body } of paystack.takeNotices())
    assert.equal((await fetch(noticeURL, { method: 'POST', headers, body: new Uint8Array(body) })).status, 200)
  await go('Payments')
  await page
    .getByRole('row', { name: /ORDER-2/ })
    .getByText('Paid')
    .waitFor()
  assert.deepEqual(complaints, [])
})
