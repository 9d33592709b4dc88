import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { fillCard, NO_MONEY, newCustomer, providerFrame, reaches, VISA } from '../support/customer.ts'
import type { PayingService, Shop } from '../support/paying.ts'

/** Credentials with the scopes that the README of the plug-in names, and no others. */
export async function credentialOf(plugin: string, { parts }: PayingService, { merchantId }: Shop) {
  const readme = await readFile(join(import.meta.dirname, `../../clients/${plugin}/README.md`), 'utf8')
  const scopes = [...readme.matchAll(/--scope (\S+)/g)].map(([, scope = '']) => scope)
  const { clientId, clientSecret } = await createCredential(parts, 'test', merchantId, 'sandbox', { scopes })
  return { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }
}

/**
 * Opens the payment page, is declined, pays with another card, and waits for the result. The customer returns by the
 * page's countdown.
 */
export async function declineThenPay(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await fillCard(providerFrame(page), NO_MONEY)
  await reaches(page, 'failed')
  await page.getByRole('button', { name: 'Try again' }).click()
  await fillCard(providerFrame(page), VISA)
}

/** In Accra: opens the payment page, and approves on the phone after three seconds. */
export async function payByPhone(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.getByLabel('Mobile money number').fill('055 123 4789')
  await page.getByRole('button', { name: /^Pay GH₵/ }).click()
}

/** A customer who does not come back before `release()`. */
export async function customerWhoWaits(browser: Browser, address: string): Promise<{ page: Page; release(): void }> {
  const { page } = await newCustomer(browser)
  page.setDefaultTimeout(60_000)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(
    (url) => url.href.startsWith(address),
    async (route) => {
      await released
      await route.continue()
    },
  )
  return { page, release }
}

export async function redeliver(shop: Shop, reference: string): Promise<void> {
  const { body } = await shop.call('GET', `/payments/v1/events?type=payment.successful&payment=${reference}`)
  for (const { id } of body.data) await shop.call('POST', `/payments/v1/events/${id}/redeliver`)
}
