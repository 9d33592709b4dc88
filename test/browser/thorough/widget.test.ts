import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { eventually } from '../../support/paying.ts'
import { closeButton, isOpen, openWidgetVisits, pressEscape, start } from '../../support/widget-visit.ts'

const { clientId, pay, shop, stock, browser, TAG, BODY, SHOP, SHOP_WITHOUT, visit } = await openWidgetVisits()

test('the page opens in a modal over the shop, which allows no styles, and the shop hears that it is there', async () => {
  const there = await visit()
  const { page, complaints } = there
  await page.evaluate(start('ORD-1'))
  await there.hears('load')
  const frame = page.locator('dialog iframe')
  assert.equal(await frame.getAttribute('title'), 'Payment')
  assert.equal(await frame.getAttribute('allow'), 'payment; clipboard-write; publickey-credentials-get')
  const address = new URL((await there.framed()).url())
  assert.match(address.pathname, /^\/pay\/emb_[\w-]+$/)
  assert.equal(address.search, `?embed=1&origin=${encodeURIComponent(shop)}`)
  assert.equal(await isOpen(there), true)
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'IFRAME', 'the focus is in the page')
  assert.equal(await (await there.framed()).evaluate('document.hasFocus()'), true)
  await page.mouse.wheel(0, 500)
  assert.equal(await page.evaluate('scrollY'), 0, 'the shop does not scroll')
  const box = await frame.boundingBox()
  assert.deepEqual([box?.width, box?.height], [736, 704])
  assert.deepEqual(complaints, [], 'nothing that the policy of the shop forbids')
})

test('it leaves one global, no cookie and nothing stored', async () => {
  const globals = 'Object.keys(window).sort().join()'
  const without = await (await visit(SHOP_WITHOUT)).page.evaluate<string>(globals)
  const there = await visit()
  const names = (await there.page.evaluate<string>(globals)).split(',')
  assert.deepEqual(
    names.filter((name) => !without.split(',').includes(name)),
    ['Pay'],
  )
  assert.deepEqual(await there.page.evaluate('Object.keys(Pay)'), ['open', 'preload'])
  await there.page.evaluate(start('ORD-1'))
  await there.hears('load')
  assert.deepEqual(await there.page.context().cookies(), [])
  assert.equal(await there.page.evaluate('localStorage.length + sessionStorage.length'), 0)
})

test('a success is reported once and is final; close comes last and restores the focus', async () => {
  const there = await visit()
  const { page } = there
  await page.focus('#buy')
  await page.evaluate(start('ORD-1'))
  await there.hears('load')
  await there.say('status', { status: 'pending' })
  await there.say('status', { status: 'successful' })
  await there.say('status', { status: 'successful' })
  await there.say('status', { status: 'expired' })
  await there.say('status', { status: 'nonsense' })
  await there.say('close')
  await there.hears('load', 'status successful', 'success successful', 'close successful', 'result successful')
  assert.equal(await page.locator('dialog').count(), 0)
  assert.equal(await page.evaluate('document.activeElement.id'), 'buy')
  await page.mouse.wheel(0, 500)
  await page.waitForFunction('scrollY > 0')
})

test('a payment cancelled by the customer is reported; later money is still a success', async () => {
  const there = await visit()
  await there.page.evaluate(start('ORD-1'))
  await there.say('status', { status: 'cancelled' })
  await there.say('close', { status: 'successful' })
  await there.hears(
    'load',
    'status cancelled',
    'cancel cancelled',
    'status successful',
    'success successful',
    'close successful',
    'result successful',
  )
})

test('closing is not cancelling: Esc asks the page, and the payment stays pending', async () => {
  const there = await visit()
  await there.page.evaluate(start('ORD-1'))
  await there.hears('load')
  assert.equal(await closeButton(there).count(), 0, 'the page has its own')
  await pressEscape(there)
  await there.hears('load', 'close pending', 'result pending')
  await there.page.evaluate(start('ORD-1'))
  await there.hears('load', 'close pending', 'result pending', 'load')
})

test('a page that asks the customer first stays open until it says so, however often Esc is pressed', async () => {
  const there = await visit(SHOP, { stopClock: true })
  const { page } = there
  await page.evaluate(start('ORD-1'))
  await there.hears('load')
  const frame = await there.framed()
  await frame.evaluate('isBusy = true')
  await page.mouse.click(5, 5)
  for (let times = 1; times <= 3; times++) {
    await page.keyboard.press('Escape')
    await frame.waitForFunction(`heard.length === ${times}`)
  }
  assert.deepEqual(await frame.evaluate('heard[0]'), { pay: 1, type: 'ask-close' })
  await page.clock.runFor(10_000)
  assert.equal(await isOpen(there), true)
  await there.say('close')
  await there.hears('load', 'close pending', 'result pending')
})

test('a page that does not answer can still be closed', async () => {
  const there = await visit(SHOP, { stopClock: true })
  await there.page.evaluate(start('ORD-1'))
  await there.hears('load')
  await (await there.framed()).evaluate('say = () => {}')
  await pressEscape(there)
  assert.equal(await isOpen(there), true)
  await there.page.clock.runFor(2_000)
  await there.hears('load', 'close pending', 'result pending')
})

test('before the page is there the words say so, Esc closes at once, and after 15 s there is a link to the full page', async () => {
  const there = await visit(SHOP, { stopClock: true })
  const { page } = there
  await page.evaluate(start('ORD-1', { locale: 'silent' }))
  await page.getByText('Loading secure payment…').waitFor()
  const link = page.getByRole('link', { name: 'Open the payment page' })
  assert.equal(await link.isVisible(), false)
  await page.clock.runFor(10_000)
  assert.deepEqual(await there.told(), [])
  await page.clock.runFor(5_000)
  await there.hears('error load_timeout')
  const full = new URL((await link.getAttribute('href')) ?? '')
  assert.deepEqual([full.pathname, full.searchParams.get('reference')], ['/widget/open', 'ORD-1'])
  assert.equal(full.searchParams.has('origin'), false)

  await there.say('ready')
  await there.hears('error load_timeout', 'load')
  assert.equal(await link.isVisible(), false, 'late is not never')
  await page.evaluate(start('ORD-2', { locale: 'silent' }))
  await page.getByText('Loading secure payment…').waitFor()
  await page.keyboard.press('Escape')
  assert.equal(await isOpen(there), false)
  await link.waitFor({ state: 'detached' })
  await page.clock.runFor(20_000)
  await there.hears('error load_timeout', 'load', 'close pending', 'result pending', 'close pending', 'result pending')
})

test('the same reference twice is the same window, another one closes the first', async () => {
  const there = await visit()
  const { page } = there
  assert.equal(await page.evaluate(`start('ORD-1') === start('ORD-1', { theme: 'dark' })`), true)
  await there.hears('load')
  await page.evaluate(`void Pay.open({ reference: 'ORD-1', theme: 'dark' })`)
  await (await there.framed()).waitForFunction('heard.length > 0')
  assert.deepEqual(await (await there.framed()).evaluate('heard.at(-1)'), { pay: 1, type: 'theme', theme: 'dark' })
  assert.equal(await page.locator('dialog').count(), 1)
  assert.equal(await page.evaluate(`start('ORD-2').reference`), 'ORD-2')
  assert.equal(await page.locator('dialog').count(), 1)
  await eventually(there.told, (told) => told.filter((each) => each === 'load').length === 2)
  // Both calls of the first were promised the one result.
  assert.deepEqual((await there.told()).slice(1, 4), ['close pending', 'result pending', 'result pending'])
})

test('the shop closes it by its handle, without a question, once', async () => {
  const there = await visit()
  await there.page.evaluate(`start('ORD-1').close()`)
  await there.hears('close pending', 'result pending')
  await there.page.evaluate(`{ const handle = start('ORD-1'); handle.close(); handle.close() }`)
  await there.hears('close pending', 'result pending', 'close pending', 'result pending')
})

test('a link with data-pay-reference opens the widget and fires events that bubble', async () => {
  const there = await visit()
  const { page, complaints } = there
  await page.click('#link b')
  await there.say('status', { status: 'successful' })
  await there.say('close')
  await there.hears('pay:status successful', 'pay:success successful', 'pay:close successful')
  assert.equal(page.url(), SHOP)
  assert.equal(await page.evaluate('document.activeElement.id'), 'link')
  assert.deepEqual(complaints, [])
})

test('so does a button that was added later, by the keyboard too, in the language and colours that it names', async () => {
  const there = await visit()
  const { page } = there
  await page.evaluate(`
    const late = document.createElement('button')
    Object.assign(late.dataset, { payReference: 'ORD-2', payTheme: 'dark', payLocale: 'fr' })
    late.id = 'late'
    document.body.append(late)`)
  await page.focus('#late')
  await page.keyboard.press('Enter')
  await there.framed()
  const asked = new URL((await there.framed()).url()).searchParams
  assert.deepEqual([asked.get('lang'), asked.get('theme')], ['fr', 'dark'])
  await page.getByText('Chargement du paiement sécurisé…').waitFor()
  await page.getByRole('button', { name: 'Fermer' }).press('Escape')
  await there.hears('pay:close pending')
  assert.equal(await page.evaluate('document.activeElement.id'), 'late')
})

test('a link opened in another tab, or without scripts, is a link', async () => {
  const there = await visit()
  const [tab] = await Promise.all([
    there.page.context().waitForEvent('page'),
    there.page.click('#link', { modifiers: ['ControlOrMeta'] }),
  ])
  await tab.waitForURL(`${pay}/pay/chk_long_link`)
  assert.equal(await isOpen(there), false)

  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(SHOP)
  await page.click('#link')
  await page.waitForURL(`${pay}/pay/chk_long_link`)
})

test('a browser without modal dialogs goes to the page', async () => {
  const old = async () => {
    const there = await visit()
    await there.page.evaluate('delete HTMLDialogElement.prototype.showModal')
    return there.page
  }
  const byLink = await old()
  await byLink.click('#link')
  await byLink.waitForURL(`${pay}/pay/chk_long_link`)
  const byCall = await old()
  await byCall.evaluate(start('ORD-1'))
  await byCall.waitForURL(new RegExp(`^${pay}/pay/emb_[\\w-]+$`))
})

test('a mistake in the shop’s callbacks is reported there and stops nothing', async () => {
  const there = await visit()
  await there.page.evaluate(`
    const wrong = () => { throw new Error('of the shop') }
    void start('ORD-1', { onLoad: wrong, onStatus: wrong, onSuccess: wrong })`)
  await there.say('status', { status: 'successful' })
  await there.say('close')
  await there.hears('close successful', 'result successful')
  assert.deepEqual(there.complaints, Array(3).fill('of the shop'))
})

test('under 720 px it fills the screen, down to 320, and follows when the window changes', async () => {
  const there = await visit(SHOP, { viewport: { width: 320, height: 568 } })
  const { page } = there
  await page.evaluate(start('ORD-1', { locale: 'silent' }))
  const frame = page.locator('dialog iframe')
  assert.deepEqual(await frame.boundingBox(), { x: 0, y: 0, width: 320, height: 568 })
  assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
  const button = await closeButton(there).boundingBox()
  assert.ok(button && button.width >= 44 && button.height >= 44 && button.x + button.width <= 320)
  await there.say('ready')
  await there.hears('load')
  for (const [screen, wanted] of [
    [719, 800, 719, 800],
    [720, 800, 720, 704],
    [1280, 400, 736, 400],
  ].map(([width, height, ...box]) => [{ width, height } as { width: number; height: number }, box] as const)) {
    await page.setViewportSize(screen)
    await eventually(
      () => frame.boundingBox(),
      (box) => box?.width === wanted[0] && box?.height === wanted[1],
    )
  }
})

test('the shop’s styles do not affect the widget', async () => {
  const style =
    '* { margin: 40px; border: 9px solid red; opacity: .1; transform: rotate(9deg) } dialog, button { display: none }'
  const loud = stock('/loud', `<!doctype html><title>Shop</title><style>${style}</style><body>${BODY}${TAG}`, {})
  const there = await visit(loud)
  await there.page.evaluate(start('ORD-1', { locale: 'silent' }))
  assert.deepEqual(await there.page.locator('dialog iframe').boundingBox(), { x: 272, y: 8, width: 736, height: 704 })
  assert.equal(await there.page.evaluate(`getComputedStyle(document.querySelector('dialog button')).opacity`), '1')
})

test('the module is the same without a global', async () => {
  const there = await visit(SHOP_WITHOUT)
  const { page } = there
  const names = await page.evaluate(`import('${pay}/widget/v1.mjs').then((module) => {
    const handle = module.open({ reference: 'ORD-1', clientId: '${clientId}', onLoad: () => told.push('load') })
    handle.result.then(({ status }) => told.push(status))
    return [...Object.keys(module), typeof Pay]
  })`)
  assert.deepEqual(names, ['open', 'preload', 'undefined'])
  await there.hears('load')
  await there.say('close')
  await there.hears('load', 'pending')
  assert.deepEqual(there.complaints, [])
})

test('preload connects ahead of time, once', async () => {
  const { page } = await visit()
  await page.evaluate('Pay.preload(), Pay.preload()')
  const hints = `[...document.querySelectorAll('link')].map(({ rel, href }) => rel + ' ' + href)`
  assert.deepEqual(await page.evaluate(hints), [`preconnect ${pay}/`])
})

test('axe finds nothing in what the widget shows by itself, light and dark', async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  for (const theme of ['light', 'dark']) {
    const there = await visit()
    await there.page.evaluate(start('ORD-NOWHERE', { theme }))
    await there.hears('error not_found')
    await there.page.evaluate(axe)
    const { violations } = await there.page.evaluate<{ violations: { id: string }[] }>(
      `axe.run('dialog', { iframes: false })`,
    )
    assert.deepEqual(
      violations.map(({ id }) => id),
      [],
    )
  }
})
