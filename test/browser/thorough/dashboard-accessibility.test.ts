import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createInvitation } from '../../../src/members/one-time-links.ts'
import { findings, loadAxe } from '../../support/axe.ts'
import { joinWithPasskey, newStaff, openDashboard } from '../../support/staff.ts'

const dashboard = await openDashboard()
const { service, shop, browser } = dashboard
const { baseUrl } = service

const LOOKS = [
  ['light', 360],
  ['dark', 360],
  ['light', 1280],
  ['dark', 1280],
] as const

const SIDEWAYS = `document.documentElement.scrollWidth > document.documentElement.clientWidth
  ? ['the page is ' + document.documentElement.scrollWidth + ' px wide'] : []`

/** WCAG 2.2 target size: 24 px, except for links inside a sentence. */
const SMALL = `[...document.querySelectorAll('button, a, summary, select, input')]
  .filter((each) => each.checkVisibility() && !each.closest('p, .skip'))
  .map((each) => ({ each, box: each.getBoundingClientRect() }))
  .filter(({ each, box }) => box.width > 0 && Math.min(box.width, box.height) < 24 && !each.closest('label'))
  .map(({ each }) => 'too small: ' + each.outerHTML.slice(0, 120))`

async function look(page: Page, name: string): Promise<string[]> {
  const found: string[] = []
  await loadAxe(page)
  for (const [colorScheme, width] of LOOKS) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 800 })
    const here = [await findings(page), await page.evaluate<string[]>(SIDEWAYS), await page.evaluate<string[]>(SMALL)]
    found.push(...here.flat().map((each) => `${name}, ${colorScheme}, ${width} px: ${each}`))
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  return found
}

test('before the sign-in: welcome, invitation, sign-in, forgotten password, dead link', async () => {
  const { page } = await newStaff(browser)
  const found: string[] = []
  await page.goto(await dashboard.welcomeLink())
  await page.getByLabel('Your name').waitFor()
  found.push(...(await look(page, 'welcome')))
  await page.getByRole('button', { name: 'Use a password instead' }).click()
  found.push(...(await look(page, 'welcome with a password')))
  const deps = { ...service.parts, baseUrl: () => baseUrl }
  const wanted = { merchantId: shop.merchantId, email: 'guest@example.com', role: 'viewer' as const }
  await page.goto((await createInvitation(deps, 'test', wanted)).url)
  await page.reload() // only the fragment of the address differs
  await page.getByRole('heading', { name: 'Join Adaeze Kitchen' }).waitFor()
  found.push(...(await look(page, 'invitation')))
  await page.goto(`${baseUrl}/dashboard/welcome#none`)
  await page.reload()
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
  found.push(...(await look(page, 'dead link')))
  await page.goto(`${baseUrl}/dashboard`)
  await page.getByLabel('Password').fill('wrong')
  await page.getByLabel('E-mail address').fill('nobody@example.com')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  found.push(...(await look(page, 'sign-in')))
  await page.getByRole('button', { name: 'Forgot your password?' }).click()
  found.push(...(await look(page, 'forgotten password')))
  assert.deepEqual(found, [])
})

test('every screen and dialog of a member', async () => {
  const { page } = await newStaff(browser)
  const found: string[] = []
  await joinWithPasskey(page, await dashboard.welcomeLink(), 'Ada Obi', 'ada@example.com')
  const at = (path: string) => page.goto(`${baseUrl}/dashboard/${shop.merchantId}${path}`)
  const rows = () => page.getByRole('row').nth(1).waitFor()
  const closeDialog = () => page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

  await page.getByText('0 of 3 steps').waitFor()
  found.push(...(await look(page, 'overview')))
  await page.getByRole('button', { name: /account of Ada Obi/ }).click()
  found.push(...(await look(page, 'account menu')))
  await at('/sandbox/links')
  await page.getByText('No reusable links yet').waitFor()
  found.push(...(await look(page, 'no links')))
  await page.getByRole('button', { name: 'New link' }).first().click()
  found.push(...(await look(page, 'new link')))
  await page.getByLabel('Title').fill('Cooking class')
  await page.getByLabel('Amount').selectOption('chosen')
  await page.getByLabel('At least').fill('much')
  found.push(...(await look(page, 'new link with a mistake')))
  await page.getByLabel('At least').fill('500')
  await page.getByRole('button', { name: 'Make the link' }).click()
  await page.getByRole('heading', { name: 'QR code' }).waitFor()
  found.push(...(await look(page, 'link')))
  await page.getByRole('link', { name: 'Poster' }).click()
  await page.getByRole('heading', { name: 'Cooking class' }).waitFor()
  found.push(...(await look(page, 'poster')))
  await at('/sandbox/links')
  await rows()
  found.push(...(await look(page, 'links')))

  await at('/sandbox/api-keys')
  await rows()
  found.push(...(await look(page, 'API keys')))
  await page.getByRole('button', { name: 'New sandbox key' }).click()
  await page.getByRole('dialog', { name: 'New key' }).waitFor()
  found.push(...(await look(page, 'limits of a new API key')))
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog', { name: 'Your new key' }).waitFor()
  found.push(...(await look(page, 'new API key')))
  await at('/live/api-keys')
  await page.getByText('No live keys').waitFor()
  found.push(...(await look(page, 'no API keys')))

  await at('/sandbox/members')
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('E-mail address').fill('chidi@example.com')
  found.push(...(await look(page, 'invite')))
  await page.getByRole('button', { name: 'Create invitation' }).click()
  await page.getByRole('button', { name: 'Copy link' }).waitFor()
  found.push(...(await look(page, 'invited')))
  const link = await page.getByRole('dialog').locator('code').innerText()
  const guest = await newStaff(browser)
  await joinWithPasskey(guest.page, link, 'Chidi Okeke')
  await page.reload()
  await page.getByRole('button', { name: 'Manage Chidi Okeke' }).waitFor()
  found.push(...(await look(page, 'members')))
  await page.getByRole('button', { name: 'Manage Chidi Okeke' }).click()
  found.push(...(await look(page, 'manage a member')))
  await guest.page.goto(page.url())
  await guest.page.getByRole('heading', { name: 'Not allowed' }).waitFor()
  found.push(...(await look(guest.page, 'not allowed')))

  await at('/sandbox/settings')
  await page.getByLabel('Time zone').waitFor()
  found.push(...(await look(page, 'settings')))
  await at('/sandbox/branding')
  await page.getByText('Button text').waitFor()
  found.push(...(await look(page, 'branding')))
  await page.goto(`${baseUrl}/dashboard/operator`)
  await page.getByText('Payments to expire').waitFor()
  found.push(...(await look(page, 'operator')))
  await page.getByRole('button', { name: 'New merchant' }).click()
  found.push(...(await look(page, 'new merchant')))
  await closeDialog()

  await at('/sandbox/audit-log')
  await rows()
  found.push(...(await look(page, 'audit log')))
  await page.goto(`${baseUrl}/dashboard/account`)
  await rows()
  found.push(...(await look(page, 'security')))
  await page.getByRole('button', { name: 'Set up' }).click()
  await page.getByText('Enter a key instead').click()
  found.push(...(await look(page, 'authenticator app')))
  await closeDialog()
  await page.goto(`${baseUrl}/dashboard/nothing/here`)
  await page.getByRole('heading', { name: 'Not found' }).waitFor()
  found.push(...(await look(page, 'not found')))
  assert.deepEqual(found, [])
})
