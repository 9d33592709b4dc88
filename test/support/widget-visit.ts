import assert from 'node:assert/strict'
import { afterEach } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { eventually, startPaying } from './paying.ts'
import { openWidgetShop } from './widget-shop.ts'

/** All that a shop is told, in the order in which it is told. */
const LISTENING = `
  window.told = []
  const hear = (name) => (about) => void told.push(about ? name + ' ' + (about.code ?? about.status) : name)
  window.start = (reference, more) => {
    const on = { onLoad: 'load', onStatus: 'status', onSuccess: 'success', onCancel: 'cancel', onError: 'error', onClose: 'close' }
    for (const name in on) on[name] = hear(on[name])
    const handle = Pay.open({ reference, ...on, ...more })
    handle.result.then(hear('result'))
    return handle
  }
  for (const name of ['status', 'success', 'cancel', 'error', 'close'])
    addEventListener('pay:' + name, (event) => hear(event.type)(event.detail))`

interface VisitOptions {
  /** Time passes when the test says so. */
  stopClock?: boolean
  viewport?: { width: number; height: number }
}

export interface Visit {
  page: Page
  complaints: string[]
  told(): Promise<string[]>
  hears(...what: string[]): Promise<void>
  framed(): Promise<Frame>
  say(type: string, more?: object): Promise<void>
}

/** The widget on pages of a shop, and browsers that visit them. */
export async function openWidgetVisits() {
  const service = await startPaying()
  const merchant = await service.addShop()
  const clientId = merchant.headers['client-id']
  for (const reference of ['ORD-1', 'ORD-2']) {
    await merchant.call('POST', '/payments/v1/checkouts', {
      reference,
      amount: 1_250_000,
      country: 'NG',
      user: { email: 'ada@example.com' },
    })
  }
  const { pay, shop, stock } = await openWidgetShop(service.baseUrl)
  const browser = await openBrowser()
  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())))
  const TAG = `<script src="${pay}/widget/v1.js" data-client-id="${clientId}" defer></script>`
  const BODY = `<h1>Shop</h1><button id="buy">Buy</button>
<a id="link" href="${pay}/pay/chk_long_link" data-pay-reference="ORD-1"><b>Pay</b></a>${'<p>Words.</p>'.repeat(99)}`
  const SHOP = stock('/', `<!doctype html><html lang="en"><title>Shop</title><body>${BODY}${TAG}`)
  const SHOP_WITHOUT = stock('/without', `<!doctype html><html lang="en"><title>Shop</title><body>${BODY}`)

  async function visit(url = SHOP, { stopClock = false, ...options }: VisitOptions = {}): Promise<Visit> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    page.setDefaultTimeout(10_000)
    const complaints: string[] = []
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    if (stopClock) await page.clock.install()
    await page.addInitScript(LISTENING)
    await page.goto(url)
    const told = () => page.evaluate<string[]>('told')
    const framed = async () => {
      const isThere = (frame: Frame) => frame.url().startsWith(`${pay}/pay/`)
      const frame = await eventually(
        async () => page.frames().find(isThere),
        (found) => found !== undefined,
      )
      await frame?.waitForFunction('window.say')
      return frame as Frame
    }
    return {
      page,
      complaints,
      told,
      hears: async (...what) => {
        await eventually(told, (all) => all.length >= what.length)
        assert.deepEqual(await told(), what)
      },
      framed,
      say: async (type, more = {}) => (await framed()).evaluate(`say('${type}', ${JSON.stringify(more)})`),
    }
  }

  return { service, merchant, clientId, pay, shop, stock, browser, TAG, BODY, SHOP, SHOP_WITHOUT, visit }
}

export const start = (reference: string, more: object = {}) => `void start('${reference}', ${JSON.stringify(more)})`

export const isOpen = ({ page }: Visit) => page.evaluate<boolean>(`document.querySelector('dialog:modal') !== null`)

export const closeButton = ({ page }: Visit) => page.getByRole('button', { name: 'Close' })

/** With the focus in the shop's document; inside the frame it is the page that hears the key. */
export async function pressEscape({ page }: Visit): Promise<void> {
  await page.mouse.click(5, 5)
  await page.keyboard.press('Escape')
}
