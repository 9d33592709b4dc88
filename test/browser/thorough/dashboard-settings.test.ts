import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { findings, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { addMember, signedInBrowser } from '../../support/dashboard.ts'
import { createDatabase } from '../../support/database.ts'
import { startPaying } from '../../support/paying.ts'

const { url, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl: url })
const { app, baseUrl } = service
const shop = await service.addShop()
const { merchantId } = shop
const { id: memberId } = await addMember(database, { role: 'owner', merchantId })
const { cookies } = await signedInBrowser(app, database, memberId, { origin: baseUrl })
const browser = await openBrowser()

interface Look {
  colorScheme?: 'light' | 'dark'
  width?: number
}

const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 360 },
] as const

async function open(path: string, { colorScheme = 'light', width = 1280 }: Look = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme })
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: baseUrl })))
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  page.on('pageerror', (error) => assert.fail(error))
  await page.goto(`${baseUrl}/dashboard${path}`)
  return page
}

/** Where PICTURES names a folder, each screen is also kept there. */
async function picture(page: Page, name: string): Promise<void> {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true })
}

/** No accessibility finding and no sideways scrolling, light and dark, phone and desk. */
async function inspect(name: string, path: string, ready: (page: Page) => Promise<unknown>): Promise<void> {
  for (const look of LOOKS) {
    const page = await open(path, look)
    await ready(page)
    const shown = `${name}-${look.colorScheme}-${look.width}`
    await picture(page, shown)
    await loadAxe(page)
    assert.deepEqual(await findings(page), [], shown)
    const sideways = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.equal(sideways, 0, shown)
    await page.context().close()
  }
}

const at = (screen: string) => `/${merchantId}/sandbox${screen}`

test('settings: a new name is in the bar, and times are shown in the new zone', async () => {
  await inspect('settings', at('/settings'), (page) => page.getByLabel('Time zone').waitFor())
  const page = await open(at('/settings'))
  await page.getByLabel('Name').fill('Adaeze Foods')
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.locator('.merchant-name', { hasText: 'Adaeze Foods' }).waitFor()
  await page.getByLabel('Limit for one payment').fill('1,250.50')
  await page.getByRole('button', { name: 'Save limit' }).click()
  await page.getByText('Refund limit saved').waitFor()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByText('Times in Asia/Tokyo').waitFor()
  await page.getByText('125050').waitFor()
  await page.context().close()
})
