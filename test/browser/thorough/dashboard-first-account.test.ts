import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { charge, VISA } from '../../support/customer.ts'
import { startListener } from '../../support/listener.ts'
import { joinWithPasskey, navigationOf, newStaff, openDashboard, signOut } from '../../support/staff.ts'

const dashboard = await openDashboard()
const { shop, browser, service } = dashboard
const listener = await startListener()

test('the first account: welcome with a passkey, the checklist, a key, sign out, sign in, a change with step-up', async () => {
  const { page, complaints } = await newStaff(browser)
  await joinWithPasskey(page, await dashboard.welcomeLink(), 'Ada Obi', 'ada@example.com')
  assert.equal(new URL(page.url()).pathname, `/dashboard/${shop.merchantId}/sandbox`)
  await page.waitForFunction(`document.title === 'Overview · Adaeze Kitchen · Manilla'`)
  assert.deepEqual(await navigationOf(page), [
    ...[
      'Overview',
      'Payments',
      'Links',
      'Customers',
      'Needs attention',
      'Transfers',
      'Refunds',
      'Disputes',
      'Settlements',
      'Webhooks',
      'API keys',
      'Providers',
      'Branding',
      'Members',
      'Settings',
      'Alerts',
      'Audit log',
    ],
  ])

  await page.getByText('0 of 3 steps done in sandbox mode').waitFor()
  const { reference } = (await shop.initialize({ webhook: listener.url })).body.data
  await charge(shop, reference, VISA)
  await listener.hears(1)
  await page.getByText('All three steps have happened in sandbox mode').waitFor()

  await page.getByRole('link', { name: 'API keys' }).first().click()
  await page.getByRole('heading', { name: 'API keys' }).and(page.locator(':focus')).waitFor()
  await page.getByRole('button', { name: 'New sandbox key' }).click()
  await page.getByLabel('Refund payments').uncheck()
  await page.getByLabel('Allowed addresses').fill('203.0.113.7, somewhere')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('allowedAddresses has "somewhere"').waitFor()
  await page.getByLabel('Allowed addresses').fill('203.0.113.7, 10.0.0.0/8')
  await page.getByLabel('Last day').fill(new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10))
  await page.getByRole('button', { name: 'Create key' }).click()
  const secret = await page.getByRole('dialog', { name: 'Your new key' }).locator('code').nth(1).innerText()
  assert.match(secret, /^sec_sandbox_/)
  await page.getByRole('button', { name: 'Done' }).click()
  await page
    .getByRole('row', {
      name: /Expires soon payments:write, payments:read, integrations, webhooks, cases:read, cases:write 203\.0\.113\.7, 10/,
    })
    .waitFor()
  assert.equal(await page.getByText(secret).count(), 0)

  await signOut(page)
  await page.goto(`${service.baseUrl}/dashboard/${shop.merchantId}/live/api-keys`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('heading', { name: 'API keys' }).waitFor()

  await service.database.rows(sql`update sessions set confirmed_at = now() - interval '11 minutes'`)
  await page.getByRole('button', { name: 'New live key' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page
    .getByRole('dialog', { name: 'Confirm that it is you' })
    .getByRole('button', { name: 'Use a passkey' })
    .click()
  await page
    .getByRole('dialog', { name: 'Your new key' })
    .getByText(/^sec_live_/)
    .waitFor()
  assert.deepEqual(complaints, [])
})
