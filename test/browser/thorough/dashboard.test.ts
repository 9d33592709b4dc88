import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { focusedOn } from '../../support/customer.ts'
import { PASSWORD, totpCode } from '../../support/dashboard.ts'
import {
  joinWithPasskey,
  joinWithPassword,
  navigationOf,
  newStaff,
  openDashboard,
  signOut,
} from '../../support/staff.ts'

const dashboard = await openDashboard()
const { service, browser } = dashboard
const { database, baseUrl } = service

/** A merchant of its own for each test, with its owner signed in by passkey. */
async function newOwner(name: string, email: string) {
  const shop = await service.addShop(`Shop of ${name}`)
  const staff = await newStaff(browser)
  await joinWithPasskey(staff.page, await dashboard.welcomeLink(shop), name, email)
  return { shop, ...staff, open: (path: string) => staff.page.goto(`${baseUrl}/dashboard/${shop.merchantId}${path}`) }
}

async function invite(page: Awaited<ReturnType<typeof newOwner>>['page'], email: string, role: string) {
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Role').selectOption(role)
  await page.getByRole('button', { name: 'Create invitation' }).click()
  const link = await page.getByRole('dialog').locator('code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  return link
}

test('a password, an authenticator app, recovery codes, and both to sign in', async () => {
  const shop = await service.addShop()
  const { page, complaints } = await newStaff(browser)
  const account = { name: 'Bola Ade', email: 'bola@example.com', password: PASSWORD }
  await joinWithPassword(page, await dashboard.welcomeLink(shop), account)

  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('E-mail address').fill('chidi@example.com')
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await page.getByRole('alert').getByRole('link', { name: 'Open Security' }).click()

  await page.getByRole('button', { name: 'Set up' }).click()
  await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
  await page.getByText('Enter a key instead').click()
  const secret = await page.getByRole('dialog').locator('code').innerText()
  await page.getByLabel('Code that the app shows').fill('000000')
  await page.getByRole('button', { name: 'Confirm' }).click()
  await page.getByText('The code is not right').waitFor()
  await page.getByLabel('Code that the app shows').fill(totpCode(secret, dashboard.advance(30)))
  await page.getByRole('button', { name: 'Confirm' }).click()
  const shown = page.getByRole('dialog', { name: 'Your recovery codes' }).locator('code')
  await shown.nth(9).waitFor()
  const codes = await shown.allInnerTexts()
  assert.equal(codes.length, 10)
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText('10 of 10 left').waitFor()

  for (const proof of ['code', 'recovery code']) {
    await signOut(page)
    await page.getByLabel('E-mail address').fill('bola@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('heading', { name: 'One more step' }).waitFor()
    await page.reload()
    if (proof === 'code') {
      await page.getByLabel('Code from your authenticator app').fill(totpCode(secret, dashboard.advance(30)))
    } else {
      await page.getByRole('button', { name: 'Use a recovery code' }).click()
      await page.getByLabel('Recovery code').fill(codes[0] ?? '')
    }
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  }
  await page.goto(`${baseUrl}/dashboard/account`)
  await page.getByText('9 of 10 left').waitFor()
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByRole('textbox', { name: 'New password' }).fill('bola@example.com')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('.field-error').waitFor()
  await page.getByRole('textbox', { name: 'New password' }).fill('another long sentence')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Password changed').waitFor()
  assert.deepEqual(complaints, [])
})

test('an invited viewer sees only what the role may open; a changed role ends the session and adds screens', async () => {
  const owner = await newOwner('Ngozi Eze', 'ngozi@example.com')
  await owner.open('/live/members')
  const link = await invite(owner.page, 'emeka@example.com', 'viewer')
  await owner.page.getByText('emeka@example.com').waitFor()

  const viewer = await newStaff(browser)
  await joinWithPasskey(viewer.page, link, 'Emeka Obi')
  assert.deepEqual(await navigationOf(viewer.page), [
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
    'Alerts',
  ])
  await viewer.page.goto(`${baseUrl}/dashboard/${owner.shop.merchantId}/sandbox/members`)
  await viewer.page.getByRole('heading', { name: 'Not allowed' }).waitFor()
  await viewer.page.goto(link)
  await viewer.page.getByRole('heading', { name: 'This link does not work' }).waitFor()

  await owner.page.reload()
  await owner.page.getByRole('button', { name: 'Manage Emeka Obi' }).click()
  await owner.page.getByLabel('Role').selectOption('developer')
  await owner.page.getByRole('button', { name: 'Save role' }).click()
  await owner.page.getByText('Role changed').waitFor()
  await viewer.page.goto(`${baseUrl}/dashboard/${owner.shop.merchantId}/live/api-keys`)
  await viewer.page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await viewer.page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
  assert.deepEqual(await navigationOf(viewer.page), [
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
    'Alerts',
  ])

  await owner.page.getByRole('button', { name: 'Manage Emeka Obi' }).click()
  await owner.page.getByRole('button', { name: 'Make owner' }).click()
  await owner.page.getByRole('button', { name: 'Transfer the ownership' }).click()
  await owner.page.getByText('Emeka Obi is the owner now').waitFor()
  await owner.page.getByRole('row', { name: /Ngozi Eze \(you\).*Admin/ }).waitFor()
  await owner.page.getByRole('link', { name: 'Audit log' }).click()
  await owner.page.getByRole('row', { name: /Ngozi Eze Merchant: owner changed/ }).waitFor()
  assert.deepEqual([...owner.complaints, ...viewer.complaints], [])
})

test('a member of two merchants joins by link, switches, and keeps the screen when the mode changes', async () => {
  const first = await newOwner('Ife Bello', 'ife@example.com')
  const second = await newOwner('Kofi Mensah', 'kofi@example.com')
  await second.open('/live/members')
  const link = await invite(second.page, 'ife@example.com', 'admin')
  await first.page.goto(link)
  await first.page.getByText('You are signed in as ife@example.com').waitFor()
  await first.page.getByRole('button', { name: 'Join' }).click()
  await first.page.getByLabel('Merchant').selectOption('Shop of Kofi Mensah')
  await first.page.waitForURL(`${baseUrl}/dashboard/${second.shop.merchantId}/sandbox`)
  await first.page.getByRole('link', { name: 'API keys' }).first().click()
  await first.page.getByRole('navigation', { name: 'Mode' }).getByRole('link', { name: 'Live' }).click()
  await first.page.getByText('No live keys').waitFor()
  assert.equal(await first.page.getByText('No real money moves here').count(), 0)
  assert.equal(await focusedOn(first.page), 'API keys')
  await first.page.goto(`${baseUrl}/dashboard`)
  await first.page.waitForURL(`${baseUrl}/dashboard/${second.shop.merchantId}/live`)
})

test('a lost connection shows an error with Retry, or the old rows with their time; a change is not lost silently', async () => {
  const { page, open, complaints } = await newOwner('Tunde Ojo', 'tunde@example.com')
  await page.clock.install()
  await open('/sandbox/api-keys')
  await page.getByRole('row').nth(1).waitFor()
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'New sandbox key' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').getByText('The service did not answer').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('heading', { name: 'This could not be loaded' }).waitFor()
  await page.clock.fastForward(10_000)
  await page.getByRole('link', { name: 'API keys' }).first().click()
  await page.getByText(/^Not up to date: this is from \d\d:\d\d \(/).waitFor()
  assert.equal(await page.getByRole('row').count(), 2)
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText(/^Not up to date/).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('row', { name: /Tunde Ojo/ }).waitFor()
  assert.deepEqual(complaints, [])
})

test('a session that ended leads to the sign-in and back to the same screen', async () => {
  const { page, shop, open, complaints } = await newOwner('Amaka Udo', 'amaka@example.com')
  await open('/sandbox/api-keys')
  await page.getByRole('button', { name: /^Revoke/ }).click()
  await database.rows(sql`delete from sessions`)
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${baseUrl}/dashboard/${shop.merchantId}/sandbox/api-keys`)
  await page.getByText('Active').waitFor()
  assert.deepEqual(complaints, [])
})

test('the step-up dialog can be closed, and nothing is changed', async () => {
  const { page, open } = await newOwner('Zainab Musa', 'zainab@example.com')
  await open('/live/api-keys')
  await page.getByText('No live keys').waitFor()
  await database.rows(sql`update sessions set confirmed_at = now() - interval '11 minutes'`)
  await page.getByRole('button', { name: 'New live key' }).click()
  await page.getByRole('button', { name: 'Create key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await page.getByRole('alert').count(), 0)
  assert.equal(await focusedOn(page), 'Create key', 'the focus is back')
  await page.keyboard.press('Escape')
  await page.getByText('No live keys').waitFor()
})

test('a live webhook endpoint is paused, changed and deleted after a step-up', async () => {
  const { page, open, complaints } = await newOwner('Simi Ojo', 'simi@example.com')
  await open('/live/webhooks')
  const confirm = () =>
    page.getByRole('dialog', { name: 'Confirm that it is you' }).getByRole('button', { name: 'Use a passkey' }).click()
  const forget = () => database.rows(sql`update sessions set confirmed_at = now() - interval '11 minutes'`)
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('Address').fill('https://shop.example/hook')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('button', { name: 'Done' }).click()

  await forget()
  await page.getByRole('button', { name: /^Pause/ }).click()
  await confirm()
  await page.getByRole('button', { name: /^Resume/ }).waitFor()

  await forget()
  await page.getByRole('button', { name: /^Change/ }).click()
  await page.getByLabel('Address').fill('https://shop.example/other')
  await page.getByRole('button', { name: 'Save' }).click()
  await confirm()
  await page.getByText('https://shop.example/other').waitFor()

  await forget()
  await page.getByRole('button', { name: /^Delete/ }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await confirm()
  await page.getByText('No endpoints').waitFor()
  assert.deepEqual(complaints, [])
})

test('a phone and the keyboard alone: skip link, navigation, account menu, theme', async () => {
  const { page } = await newOwner('Yemi Cole', 'yemi@example.com')
  await page.setViewportSize({ width: 360, height: 740 })
  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await focusedOn(page), 'Skip to content')
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('main').evaluate((main) => main === main.ownerDocument.activeElement), true)
  await page.getByRole('button', { name: 'Navigation' }).focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  assert.equal(await focusedOn(page), 'Payments')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Payments', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Members' }).waitFor({ state: 'hidden' }) // the navigation has closed
  await page.getByRole('button', { name: /account of Yemi Cole/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel('Theme').selectOption('dark')
  const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  assert.equal(await ground(), 'rgb(18, 20, 25)')
  await page.reload()
  await page.getByRole('heading', { name: 'Payments', exact: true }).waitFor()
  assert.equal(await ground(), 'rgb(18, 20, 25)')
})
