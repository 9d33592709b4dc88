import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { BrowserContextOptions, Frame, Page } from 'playwright-core'
import { documents } from '../../../src/http/checkout/document.ts'
import { errorPage, type PageError } from '../../../src/http/checkout/payment-page.ts'
import { brandMerchant } from '../../../src/merchants/manage-merchants.ts'
import { buildAssets } from '../../../web/build.ts'
import { findings, loadAxe } from '../../support/axe.ts'
import { openBrowser } from '../../support/browser.ts'
import { fillCard, newCheckout, providerFrame, reaches, transfer, VERVE, VISA } from '../../support/customer.ts'
import { everyState } from '../../support/every-state.ts'
import { openShop } from '../../support/open-shop.ts'
import { request } from '../../support/paying.ts'

const { service, shop, site, redirectURL, browser } = await openShop()
await brandMerchant(service.parts, 'test', shop.merchantId, { returnAfterSeconds: 60 })
const states = await everyState(service, shop, { redirectURL, customerBearsCharge: true })
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())))

type Look = ['light' | 'dark', width: number]
/** Between them every colour and every width; where it matters, all four ways to put them together. */
const TWO: Look[] = [
  ['light', 320],
  ['dark', 1280],
]
const FOUR: Look[] = [...TWO, ['light', 1280], ['dark', 320]]

async function newPage(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 360, height: 740 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  return page
}

/** All that is on the page but not in sight yet: what is shut, what comes later, what a lost connection brings. */
const SHOW_ALL = `for (const details of document.querySelectorAll('details')) details.open = true
for (const note of document.querySelectorAll('#offline, [data-after]')) note.hidden = false`

const SIDEWAYS = `(() => {
  const { scrollWidth, clientWidth } = document.documentElement
  const cut = [...document.querySelectorAll('.card, main, header, button, a')].filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 1)
  return [...(scrollWidth > clientWidth ? ['the page is ' + scrollWidth + ' wide'] : []), ...cut.map((each) => 'cut off: ' + each.outerHTML.slice(0, 120))]
})()`

const SMALL = `[...document.querySelectorAll('button, a, summary, label, select, input:not([type=hidden])')]
  .filter((each) => each.checkVisibility() && !each.closest('label:has(input)') || each.matches('label:has(input)'))
  .map((each) => ({ each, box: each.getBoundingClientRect() }))
  .filter(({ each, box }) => box.width > 0 && (box.width < 44 || box.height < 44) && !(each.matches('label') && !each.querySelector('input')))
  .map(({ each, box }) => Math.round(box.width) + '×' + Math.round(box.height) + ' ' + each.outerHTML.slice(0, 120))`

async function look(page: Page, name: string, { where = page as Page | Frame, looks = TWO } = {}): Promise<string[]> {
  const found: string[] = []
  await loadAxe(where)
  for (const [colorScheme, width] of looks) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 800 })
    const here = [
      await findings(where),
      await where.evaluate<string[]>(SIDEWAYS),
      await where.evaluate<string[]>(SMALL),
    ]
    found.push(...here.flat().map((each) => `${name}, ${colorScheme}, ${width} px: ${each}`))
  }
  return found
}

for (const lang of ['en', 'ar']) {
  test(`in ${lang === 'ar' ? 'Arabic, from right to left' : 'English'}: every state is without a finding, light and dark, on 320 px and wide; nothing is cut off, nothing too small to press`, async () => {
    const page = await newPage()
    const found: string[] = []
    for (const [state, { url }] of Object.entries(states)) {
      await page.goto(`${url}${url.includes('?') ? '&' : '?'}lang=${lang}`)
      assert.equal(await page.locator('#panel').getAttribute('data-state'), state)
      await page.evaluate(SHOW_ALL)
      found.push(...(await look(page, `${state} ${lang}`, { looks: lang === 'en' ? FOUR : TWO })))
    }
    assert.deepEqual(found, [])
  })
}

test('inside a shop, with its question before closing, and with saved cards to choose from', async () => {
  const user = { email: 'returning@example.com', id: 'customer-7' }
  const page = await newPage()
  await page.goto((await newCheckout(shop, { user })).url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  await fillCard(providerFrame(page), VISA, { save: true })
  await reaches(page, 'succeeded')
  await page.goto((await newCheckout(shop, { user })).url)
  await page.getByLabel('Visa ending 4081').waitFor()
  const found = await look(page, 'saved cards')
  await page.goto(`${states.awaiting.url}?embed=1&origin=${encodeURIComponent(site)}`)
  await page.evaluate(SHOW_ALL)
  found.push(...(await look(page, 'embedded')))
  await page.evaluate(`document.getElementById('closing').showModal()`)
  found.push(...(await look(page, 'the question before closing')))
  assert.deepEqual(found, [])
})

test('in any colour of a merchant’s, and in the light that a shop asks for', async () => {
  const page = await newPage()
  const found: string[] = []
  for (const colour of ['#ffff00', '#808080', '#000000', '#ffffff']) {
    const other = await service.addShop()
    await brandMerchant(service.parts, 'test', other.merchantId, { colour, corners: 'pill' })
    const { url } = await newCheckout(other, { redirectURL })
    for (const theme of ['light', 'dark']) {
      await page.goto(`${url}?theme=${theme}`)
      found.push(...(await look(page, `${colour} ${theme}`)))
    }
  }
  assert.deepEqual(found, [])
})

test('the provider’s card page, in our frame and by itself: the form, a mistake in it, a code, and what it says afterwards', async () => {
  const page = await newPage()
  await page.goto((await newCheckout(shop)).url)
  await page.getByRole('button', { name: /^Pay/ }).click()
  const form = providerFrame(page)
  await form.getByLabel('Card number').waitFor()
  const framed = () => page.frames().find((frame) => frame !== page.mainFrame()) as Frame
  const link = framed().url()
  const found = await look(page, 'card page in the frame', { where: framed(), looks: FOUR })
  await page.goto(link)
  await page.getByText('Test cards').click()
  found.push(...(await look(page, 'card page')))
  await fillCard(page, '1234')
  await page.getByRole('alert').waitFor()
  found.push(...(await look(page, 'card page with a mistake')))
  await fillCard(page, VERVE)
  await page.getByLabel('One-time code').waitFor()
  found.push(...(await look(page, 'code')))
  await page.goto(link)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.waitForURL(/\/pay\/(chk|emr)_/)
  await page.goto(link)
  found.push(...(await look(page, 'cancelled there')))
  assert.deepEqual(found, [])
})

test('the pages for trouble, and what a provider’s page leaves behind in its frame', async () => {
  const page = await newPage()
  const rendered = documents(await buildAssets())
  const attempt = (await shop.payment(states.provider.id)).attempts[0].id
  const left = await request(`${service.baseUrl}/return/${attempt}`, 'GET', { 'sec-fetch-dest': 'iframe' })
  const texts = new Map([['left behind', left.body]])
  for (const lang of ['en', 'ar']) {
    for (const trouble of ['notFound', 'tooManyTries', 'wentWrong', 'cannotShow'] as PageError[])
      texts.set(`${trouble} ${lang}`, errorPage(rendered, trouble, lang).text)
  }
  const found: string[] = []
  for (const [name, body] of texts) {
    await page.route(`${service.baseUrl}/shown`, (route) => route.fulfill({ contentType: 'text/html', body }))
    await page.goto(`${service.baseUrl}/shown`)
    found.push(...(await look(page, name)))
    await page.unroute(`${service.baseUrl}/shown`)
  }
  assert.deepEqual(found, [])
})

test('with the text spaced out, or twice as large, or magnified four times, nothing is lost and nothing scrolls sideways', async () => {
  const page = await newPage()
  const found: string[] = []
  const note = async (what: string) => {
    const seen = await page.evaluate<string[]>(SIDEWAYS)
    found.push(...seen.map((each) => `${what}: ${each}`))
  }
  for (const [state, { url }] of Object.entries(states)) {
    // The longest words, and the other direction.
    for (const lang of ['fr', 'ar']) {
      // 1280 px magnified four times are 320.
      await page.setViewportSize({ width: 320, height: 256 })
      await page.goto(`${url}${url.includes('?') ? '&' : '?'}lang=${lang}`)
      await page.evaluate(SHOW_ALL)
      await note(`${state} ${lang} four times`)
      // WCAG 1.4.12. Through the object model, which the page's policy allows.
      await page.evaluate(`document.styleSheets[0].insertRule(
        '* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important }', 0)
        document.styleSheets[0].insertRule('p { margin-bottom: 2em !important }', 0)`)
      await note(`${state} ${lang} spaced`)
      await page.setViewportSize({ width: 640, height: 800 })
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      await note(`${state} ${lang} twice as large`)
    }
  }
  assert.deepEqual(found, [])
})

test('who has set the browser to letters twice as large can read and press everything, at every width', async () => {
  const large = await openBrowser('--blink-settings=defaultFontSize=32')
  const page = await large.newPage()
  const found: string[] = []
  for (const lang of ['en', 'fr', 'ar']) {
    for (const width of [360, 719, 720, 900, 1280, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${states.choose.url}?lang=${lang}`)
      assert.equal(await page.evaluate('getComputedStyle(document.documentElement).fontSize'), '32px')
      for (const tab of await page.getByRole('tab').all()) {
        await tab.click()
        const seen = await page.evaluate<string[]>(SIDEWAYS)
        found.push(...seen.map((each) => `${lang} ${width}: ${each}`))
      }
    }
  }
  assert.deepEqual(found, [])
})

test('with the colours of the system, what is chosen and what can be pressed still shows; who wants no motion sees none', async () => {
  const page = await newPage({ forcedColors: 'active', reducedMotion: 'reduce' })
  const styleOf = (selector: string, name: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${name}`)
  await page.goto(states.choose.url)
  const [chosen, other] = [
    await styleOf('[role=tab][aria-selected=true]', 'borderTopColor'),
    await styleOf('[role=tab][aria-selected=false]', 'borderTopColor'),
  ]
  assert.notEqual(chosen, other)
  for (const selector of ['.main', '.tabs a']) assert.notEqual(await styleOf(selector, 'borderTopStyle'), 'none')
  await page.goto(states.failed.url)
  assert.equal(await styleOf('.mark', 'borderTopStyle'), 'solid')
  await page.goto(states.checking.url)
  assert.equal(await styleOf('.spinner', 'animationName'), 'none')
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  assert.equal(await styleOf('.spinner', 'animationName'), 'turn')
})

/** What has the focus, in whichever frame: its name for people. And it can be seen that it has. */
async function focused(page: Page): Promise<string> {
  for (const frame of page.frames().toReversed()) {
    const found = await frame.evaluate<{ name: string; ring: boolean } | null>(`(() => {
      const { activeElement: here } = document
      if (!document.hasFocus() || !here || here === document.body || here.tagName === 'IFRAME') return null
      const { outlineStyle, outlineWidth } = getComputedStyle(here)
      const name = here.getAttribute('aria-label') ?? here.labels?.[0]?.innerText ?? here.innerText
      return { name: name.trim(), ring: (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) || here.id === 'heading' }
    })()`)
    if (!found) continue
    assert.ok(found.ring, `the focus can be seen on “${found.name}”`)
    return found.name
  }
  return ''
}

/** Presses Tab until the focus is there, as somebody without a mouse would. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const passed: string[] = []
  for (let presses = 0; presses < 20; presses++) {
    await page.keyboard.press('Tab')
    const here = await focused(page)
    if (typeof name === 'string' ? here === name : name.test(here)) return
    passed.push(here)
  }
  assert.fail(`no “${name}” among ${passed.join(' · ')}`)
}

test('the keyboard alone pays by card, into the frame and out of it', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const page = await newPage()
  await page.goto(url)
  await tabTo(page, /^Pay ₦12,500\.00/)
  await page.keyboard.press('Enter')
  await reaches(page, 'provider')
  await providerFrame(page).getByLabel('Card number').waitFor()
  await tabTo(page, 'Card number')
  await page.keyboard.type(VISA)
  await tabTo(page, 'Expiry date')
  await page.keyboard.type('12 / 39')
  await tabTo(page, 'Security code')
  await page.keyboard.type('123')
  await page.keyboard.press('Enter')
  await reaches(page, 'succeeded')
  assert.equal(await focused(page), 'Payment received')
  await tabTo(page, 'Return to Adaeze Kitchen')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${redirectURL}?status=successful&reference=${reference}`)
})

test('the keyboard alone pays by transfer: arrows choose it, and each screen begins at its heading', async () => {
  const { url, reference } = await newCheckout(shop)
  const page = await newPage()
  await page.goto(url)
  await tabTo(page, 'Card')
  await page.keyboard.press('ArrowRight')
  assert.equal(await focused(page), 'Bank transfer')
  await tabTo(page, 'Get account number')
  await page.keyboard.press('Enter')
  await reaches(page, 'awaiting')
  assert.equal(await focused(page), 'Transfer exactly ₦12,500.00')
  await tabTo(page, 'Copy account number')
  await tabTo(page, 'I’ve sent the money')
  await page.keyboard.press('Enter')
  await reaches(page, 'checking')
  assert.equal(await focused(page), 'Checking for your transfer')
  await transfer(shop, reference, 1_250_000)
  await reaches(page, 'succeeded')
  assert.equal(await focused(page), 'Payment received')
})

test('the keyboard alone cancels, and is asked first when money may be on its way', async () => {
  const { url, reference } = await newCheckout(shop, { redirectURL })
  const page = await newPage()
  await page.goto(`${url}?method=transfer`)
  await tabTo(page, 'Get account number')
  await page.keyboard.press('Enter')
  await reaches(page, 'awaiting')
  await tabTo(page, 'Cancel payment')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Keep paying')
  await page.keyboard.press('Enter')
  assert.equal(await focused(page), 'Cancel payment', 'the focus is where it was')
  await page.keyboard.press('Enter')
  await tabTo(page, 'Stop')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${redirectURL}?status=cancelled&reference=${reference}`)
})

test('the tabs are one stop, and arrows follow the direction of reading, or of the column where there is room for one', async () => {
  const page = await newPage()
  for (const [lang, width, forwards, back] of [
    ['en', 360, 'ArrowRight', 'ArrowLeft'],
    ['ar', 360, 'ArrowLeft', 'ArrowRight'],
    ['en', 1280, 'ArrowDown', 'ArrowUp'],
    ['ar', 1280, 'ArrowDown', 'ArrowUp'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.goto(`${states.choose.url}?lang=${lang}`)
    const tabs = page.getByRole('tab')
    const [card = '', bank = ''] = await tabs.allInnerTexts()
    const [first, second] = [await tabs.nth(0).boundingBox(), await tabs.nth(1).boundingBox()]
    assert.ok(first && second)
    if (width === 1280) assert.deepEqual([first.x === second.x, first.y < second.y], [true, true])
    else assert.deepEqual([first.y === second.y, first.x < second.x], [true, lang === 'en'])
    await tabTo(page, card.trim())
    await page.keyboard.press(forwards)
    assert.equal(await focused(page), bank.trim())
    assert.equal(await page.locator('#method-transfer').isVisible(), true)
    assert.equal(await page.locator('#method-card').isVisible(), false)
    for (let left = (await tabs.count()) - 1; left > 0; left--) await page.keyboard.press(forwards)
    assert.equal(await focused(page), card.trim(), 'round and round')
    await page.keyboard.press(forwards)
    await page.keyboard.press(forwards)
    await page.keyboard.press(back)
    assert.equal(await focused(page), bank.trim())
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(`document.activeElement.closest('#method-transfer') !== null`), true, 'one stop')
  }
})

test('an arrow that chooses a method does not scroll the page as well; with Alt, Control or Meta it is the browser’s', async () => {
  const page = await newPage()
  await page.goto(states.choose.url)
  await page.evaluate('addEventListener("keydown", ({ defaultPrevented }) => { window.isTaken = defaultPrevented })')
  const [card, bank] = await page.getByRole('tab').all()
  await card?.focus()
  for (const other of ['Alt', 'Control', 'Meta']) {
    await page.keyboard.press(`${other}+ArrowDown`)
    assert.deepEqual(
      [await page.evaluate('isTaken'), await card?.getAttribute('aria-selected')],
      [false, 'true'],
      other,
    )
  }
  await page.keyboard.press('ArrowDown')
  assert.deepEqual([await page.evaluate('isTaken'), await bank?.getAttribute('aria-selected')], [true, 'true'])
})

test('a shop’s name is read in its own direction, whatever the page’s: a full stop stays at its end', async () => {
  const page = await newPage()
  for (const [name, lang, endsRight] of [
    ['Acme Inc.', 'ar', true],
    ['متجر السوق!', 'en', false],
  ] as const) {
    await page.goto(`${(await newCheckout(await service.addShop(name))).url}?lang=${lang}`)
    const [first, last] = await page.evaluate<[number, number]>(`(() => {
      const text = document.createTreeWalker(document.querySelector('h1'), NodeFilter.SHOW_TEXT).nextNode()
      return [0, text.length - 1].map((at) => {
        const range = document.createRange()
        range.setStart(text, at)
        range.setEnd(text, at + 1)
        return range.getBoundingClientRect().x
      })
    })()`)
    assert.equal(last > first, endsRight, name)
  }
})
