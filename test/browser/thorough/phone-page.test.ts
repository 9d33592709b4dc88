import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { findings, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { openMerchantSite } from '../../support/customer.ts'
import { startPaying } from '../../support/paying.ts'
import { becomes, isPaid } from '../../support/sandbox-payments.ts'

// The sandbox provider's pages on which a tester acts for the customer.

const service = await startPaying()
const shop = await service.addShop('Adaeze Kitchen')
const merchant = await openMerchantSite()
const browser = await openBrowser()

const BY_PHONE = { provider: 'gateway-mobile-money', currency: 'GHS', country: 'GH', phoneNumber: '0551234000' }
const BY_BANK = { provider: 'gateway-bank', currency: 'NGN', country: 'NG', bank: '058' }

async function start(changes: object) {
  const { body } = await shop.initialize({ redirectURL: `${merchant}/thanks`, ...changes })
  return { id: body.data.reference as string, data: body.data.data }
}

async function open(url: string, { scripts = false, dark = false } = {}): Promise<Page> {
  const context = await browser.newContext({
    javaScriptEnabled: scripts,
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width: 360, height: 740 },
  })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  await page.goto(url)
  return page
}

const addressIn = (message: string) => /https?:\S+/.exec(message)?.[0] ?? assert.fail('the message has its page')

test('the message of a prompt leads to the phone, and an approval there pays', async () => {
  const { id, data } = await start(BY_PHONE)
  const page = await open(addressIn(data.message))
  assert.match(await page.getByRole('main').innerText(), /MTN MoMo asks whether to pay/)
  await page.getByRole('button', { name: 'Approve GH₵12,500.00' }).click()
  await page.getByRole('heading', { name: 'Approved' }).waitFor()
  await becomes(shop, { id }, isPaid)
})

test('the page of the bank sends the customer back to the shop, paid or not', async () => {
  for (const [button, isSo] of [
    ['Pay ₦12,500.00', isPaid],
    [
      'Refuse',
      ({ attempts }: { attempts: { failure: { code: string } | null }[] }) =>
        attempts[0]?.failure?.code === 'customer_cancelled',
    ],
  ] as const) {
    const { id, data } = await start(BY_BANK)
    const page = await open(data.link)
    assert.match(await page.getByRole('main').innerText(), /Guaranty Trust Bank/)
    await page.getByRole('button', { name: button }).click()
    await page.waitForURL((url) => !url.pathname.startsWith('/sandbox/'))
    await becomes(shop, { id }, isSo)
  }
})

test('the pages are accessible on a phone, in light and dark, before and after the time', async () => {
  for (const dark of [false, true]) {
    for (const changes of [BY_PHONE, BY_BANK]) {
      const { data } = await start(changes)
      const page = await open(data.link ?? addressIn(data.message), { scripts: true, dark })
      await loadAxe(page)
      // The page of the bank then sends the customer back.
      for (const stage of data.link ? (['open'] as const) : (['open', 'over'] as const)) {
        for (const details of await page.locator('summary').all()) await details.click()
        assert.deepEqual(await findings(page), [], stage)
        const [content, screen] = (await page.evaluate(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        )) as [number, number]
        assert.ok(content <= screen, `${content} > ${screen}`)
        if (stage === 'open' && !data.link) {
          await page.getByRole('button', { name: 'Let the time run out' }).click()
          await page.getByText(/^The time is over/).waitFor()
          await loadAxe(page)
        }
      }
    }
  }
})
