// `npm run screenshots`: the pictures of the README and of docs/channels, taken from the running service so that they
// stay true.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { fillCard, NO_MONEY, providerFrame, reaches, VISA } from '../support/customer.ts'
import { PASSWORD } from '../support/dashboard.ts'
import { request } from '../support/paying.ts'
import { startProcess } from '../support/process.ts'
import { joinWithPassword } from '../support/staff.ts'

const IMAGES = join(import.meta.dirname, '../../docs/images')
const CHANNEL_IMAGES = join(import.meta.dirname, '../../docs/channels/images')
const PHONE = { viewport: { width: 360, height: 800 } }
const ACCRA = { amount: 12_000, country: 'GH', currency: 'GHS' }
const DESKTOP = { viewport: { width: 1280, height: 960 } }

let order = 20_931
const folder = await mkdtemp(join(tmpdir(), 'manilla-screenshots-'))
for (const images of [IMAGES, CHANNEL_IMAGES]) {
  await rm(images, { recursive: true, force: true })
  await mkdir(images, { recursive: true })
}
const service = await startProcess({ DATA_DIR: folder, LOG_LEVEL: 'warn' })
const browser = await launchBrowser()
try {
  await takeDashboard() // before there are payments of others
  for (const colorScheme of ['light', 'dark'] as const) {
    await takePhone(colorScheme)
    await takeTransfer(colorScheme)
    await takePrompt(colorScheme)
    await takeDial(colorScheme)
  }
  await takeChannels()
  await takeDesktop()
  await takeShop()
} finally {
  await browser.close()
  service.child.kill('SIGTERM')
  await service.exited
  await rm(folder, { recursive: true, force: true })
}

/** Declined, then paid with a card that is saved; which the next one finds. */
async function takePhone(colorScheme: 'light' | 'dark'): Promise<void> {
  const email = `${colorScheme}@example.com`
  const page = await openPage({ ...PHONE, colorScheme })
  await page.goto(await newCheckout(email))
  await page.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(page), NO_MONEY)
  await reaches(page, 'failed')
  await take(page, `phone-failed-${colorScheme}`)
  await page.getByRole('button', { name: 'Try again' }).click()
  await fillCard(providerFrame(page), VISA, { save: true })
  await reaches(page, 'succeeded')
  await take(page, `phone-succeeded-${colorScheme}`)
  await page.goto(await newCheckout(email))
  await take(page, `phone-choose-${colorScheme}`)
}

async function takeTransfer(colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await openPage({ ...PHONE, colorScheme })
  await page.goto(`${await newCheckout(`${colorScheme}@example.com`)}?method=transfer`)
  await page.getByRole('button', { name: 'Get account number' }).click()
  await reaches(page, 'awaiting')
  await take(page, `phone-awaiting-${colorScheme}`)
}

/** In Accra: the number is approved after three seconds, later than the picture. */
async function takePrompt(colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await openPage({ ...PHONE, colorScheme })
  await page.goto(await newCheckout('ama@example.com', ACCRA))
  await page.getByLabel('Mobile money number').fill('055 123 4000')
  await page.getByRole('button', { name: /^Pay GH/ }).click()
  await reaches(page, 'prompt')
  await take(page, `phone-prompt-${colorScheme}`)
}

async function takeDial(colorScheme: 'light' | 'dark'): Promise<void> {
  const page = await openPage({ ...PHONE, colorScheme })
  await page.goto(`${await newCheckout('ada@example.com')}?method=ussd`)
  await chooseBank(page)
  await reaches(page, 'dial')
  await take(page, `phone-dial-${colorScheme}`)
}

/** The pages of docs/channels: what the customer gives, and what they get. */
async function takeChannels(): Promise<void> {
  const open = async (query: string, more = {}) => {
    const page = await openPage({ ...PHONE, colorScheme: 'light' })
    await page.goto((await newCheckout('ama@example.com', more)) + query)
    return page
  }
  const wallet = await open('', ACCRA)
  await wallet.getByLabel('Mobile money number').fill('055 123 4059')
  await take(wallet, 'mobile-money-form', CHANNEL_IMAGES)
  await wallet.getByRole('button', { name: /^Pay GH/ }).click()
  await reaches(wallet, 'code')
  await take(wallet, 'mobile-money-code', CHANNEL_IMAGES)
  await wallet.getByRole('link', { name: 'Use another number' }).click()
  await wallet.getByLabel('Mobile money number').fill('055 123 4000')
  await wallet.getByRole('button', { name: /^Pay GH/ }).click()
  await reaches(wallet, 'prompt')
  await wallet.getByText('I did not get a request').click()
  await take(wallet, 'mobile-money-prompt', CHANNEL_IMAGES)

  const ussd = await open('?method=ussd')
  await take(ussd, 'ussd-form', CHANNEL_IMAGES)
  await chooseBank(ussd)
  await reaches(ussd, 'dial')
  await take(ussd, 'ussd-dial', CHANNEL_IMAGES)
  const transfer = await open('?method=transfer')
  await transfer.getByRole('button', { name: 'Get account number' }).click()
  await transfer.getByText('Dial from your phone instead').click()
  await transfer.getByText('Dial from your phone instead').scrollIntoViewIfNeeded()
  await take(transfer, 'ussd-transfer', CHANNEL_IMAGES)

  const bank = await open('?method=bank')
  await take(bank, 'bank-form', CHANNEL_IMAGES)
  await chooseBank(bank)
  await bank.waitForURL(/sandbox/)
  await take(bank, 'bank-page', CHANNEL_IMAGES)

  const qr = await open('?method=qr')
  await qr.getByRole('button', { name: 'Show the QR code' }).click()
  await reaches(qr, 'qr')
  await take(qr, 'qr-code', CHANNEL_IMAGES)
}

async function chooseBank(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: 'Bank' }).selectOption('058')
  await page.getByRole('button', { name: /^(Pay ₦|Get)/ }).click()
}

async function takeDesktop(): Promise<void> {
  const page = await openPage({ ...DESKTOP, colorScheme: 'dark' })
  await page.goto(await newCheckout('dark@example.com', { customerBearsCharge: true }))
  await take(page, 'desktop-choose-dark')
}

/** The shop after an order by transfer, then with the widget over it. */
async function takeShop(): Promise<void> {
  const page = await openPage({ ...DESKTOP, colorScheme: 'light' })
  await page.goto(`${service.baseUrl}/demo`)
  await page.getByRole('button', { name: /^Pay by bank transfer/ }).click()
  await page.getByRole('button', { name: 'Send the transfer (sandbox)' }).click()
  await page.locator('.webhooks').getByText('payment.successful').waitFor()
  await page.getByRole('link', { name: 'Back to the shop' }).click()
  await page.locator('.live').waitFor()
  await take(page, 'demo-shop')
  await page.getByRole('button', { name: /^Pay in a widget/ }).click()
  const widget = page.frameLocator('dialog iframe')
  await widget.getByRole('button', { name: /^Pay/ }).click()
  await providerFrame(widget).getByLabel('Card number').fill(VISA)
  await take(page, 'widget')
}

/** With the demo data, as a newcomer sees it. */
async function takeDashboard(): Promise<void> {
  const { code, output } = await runCommand(['demo-data'], { DATA_DIR: folder })
  if (code !== 0) throw new Error(output)
  const page = await openPage({ viewport: { width: 1280, height: 1000 }, colorScheme: 'light' })
  const link = /http\S+\/dashboard\/welcome#\S+/.exec(service.output())?.[0] ?? ''
  await joinWithPassword(page, link, { name: 'Ada Obi', email: 'ada@example.com', password: PASSWORD })
  await page.locator('canvas').nth(1).waitFor()
  await page.waitForLoadState('networkidle')
  await take(page, 'dashboard-overview')
  await page.getByRole('link', { name: 'Payments', exact: true }).click()
  await page.getByRole('row').nth(5).waitFor()
  await take(page, 'dashboard-payments')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(`${page.url()}?q=insufficient_funds`)
  await page.getByRole('row').nth(2).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await page.waitForLoadState('networkidle')
  await take(page, 'dashboard-payment-dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.getByRole('link', { name: 'Settlements' }).click()
  await page.getByRole('row').nth(5).waitFor()
  await page.waitForLoadState('networkidle')
  await take(page, 'dashboard-settlements')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(page.url().replace('/settlements', '/attention?reason=settlement_difference'))
  await page.getByRole('row').nth(1).getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Lines' }).waitFor()
  await page.waitForLoadState('networkidle')
  await take(page, 'dashboard-settlement-dark')
}

async function openPage(options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  return context.newPage()
}

/** As WebP, which is a fifth of a PNG. */
async function take(page: Page, name: string, folder = IMAGES): Promise<void> {
  await page.mouse.move(0, 0) // nothing is to look pointed at
  const session = await page.context().newCDPSession(page)
  const top = Number(await page.evaluate('scrollY'))
  const clip = { x: 0, y: top, ...(page.viewportSize() ?? PHONE.viewport), scale: 1.5 }
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80, clip })
  await writeFile(join(folder, `${name}.webp`), data, 'base64')
}

async function newCheckout(email: string, more = {}): Promise<string> {
  const redirectURL = `${service.baseUrl}/demo/thanks`
  const { status, body } = await request(`${service.baseUrl}/payments/v1/checkouts`, 'POST', service.headers, {
    amount: 1_250_000,
    country: 'NG',
    reference: `ORD-${order++}`,
    user: { email, id: email },
    redirectURL,
    ...more,
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.data.url
}
