import assert from 'node:assert/strict'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { findings, loadAxe } from './axe.ts'
import type { DashboardBrowser } from './dashboard.ts'

export interface Look {
  colorScheme?: 'light' | 'dark'
  width?: number
}

/** Light and dark, desk and phone. */
export const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 360 },
] as const

/** A page of the dashboard in the browser of a member who is signed in. An error of its script fails the test. */
export async function openScreen(
  browser: Browser,
  { cookies }: Pick<DashboardBrowser, 'cookies'>,
  url: string,
  { colorScheme = 'light', width = 1280 }: Look = {},
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, ...options })
  await context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: new URL(url).origin })))
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  page.on('pageerror', (error) => assert.fail(error))
  await page.goto(url)
  return page
}

/** Where PICTURES names a folder, each screen is also kept there. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, fullPage: true })
}

/** No accessibility finding and no sideways scrolling. */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await picture(page, name)
  await loadAxe(page)
  assert.deepEqual(await findings(page), [], name)
  const sideways = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
  assert.equal(sideways, 0, name)
}

/** The same in every look, without another request for the page. */
export async function assertAccessibleInAllLooks(page: Page, name: string): Promise<void> {
  for (const { colorScheme, width } of LOOKS) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 900 })
    await assertAccessible(page, `${name}-${colorScheme}-${width}`)
  }
}
