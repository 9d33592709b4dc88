import { after } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { createWelcomeLink } from '../../src/members/one-time-links.ts'
import { openBrowser } from './browser.ts'
import { type PayingService, type Shop, startPaying } from './paying.ts'

/** The service, a merchant without an owner, and a browser for its staff. */
export interface OpenDashboard {
  service: PayingService
  shop: Shop
  browser: Browser
  /** Advances the clock of the service, so that the next code of an app is a new one. */
  advance(seconds: number): Date
  /** The link of the first run. */
  welcomeLink(of?: Shop): Promise<string>
}

export async function openDashboard(): Promise<OpenDashboard> {
  let nowMs = Date.now()
  const clock = { now: () => new Date(nowMs) }
  const service = await startPaying({ clock, host: 'localhost', deliver: true })
  const shop = await service.addShop()
  return {
    service,
    shop,
    browser: await openBrowser(),
    advance(seconds) {
      nowMs += seconds * 1_000
      return clock.now()
    },
    async welcomeLink(of = shop) {
      const deps = { database: service.database, clock, baseUrl: () => service.baseUrl }
      const link = await createWelcomeLink(deps, 'test', of.merchantId)
      if (!link) throw new Error('the merchant has an owner')
      return link.url
    },
  }
}

export interface Member {
  page: Page
  /** Errors in the browser: scripts, policies, requests to other hosts. */
  complaints: string[]
}

const DESKTOP = { width: 1280, height: 800 }

/** A member's browser on a computer with a fingerprint reader, which holds passkeys. */
export async function newStaff(browser: Browser, options: BrowserContextOptions = {}): Promise<Member> {
  const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options })
  after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    // A refusal is a 4xx, such as the 401 of a visitor who is not signed in.
    if (message.type() === 'error' && !/status of 4\d\d|net::ERR/.test(message.text())) complaints.push(message.text())
  })
  const devices = await context.newCDPSession(page)
  await devices.send('WebAuthn.enable')
  await devices.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { page, complaints }
}

/** Makes an account from a link with a passkey. */
export async function joinWithPasskey(page: Page, link: string, name: string, email?: string): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Your name').fill(name)
  if (email) await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Continue with a passkey' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

/** Makes an account from a link with a password. */
export async function joinWithPassword(
  page: Page,
  link: string,
  account: { name: string; email?: string; password: string },
): Promise<void> {
  await page.goto(link)
  await page.getByLabel('Your name').fill(account.name)
  if (account.email) await page.getByLabel('E-mail address').fill(account.email)
  await page.getByRole('button', { name: 'Use a password instead' }).click()
  await page.getByLabel('Password').fill(account.password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}

export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /account of/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
}

/** The names in the navigation. */
export function navigationOf(page: Page): Promise<string[]> {
  return page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()
}
