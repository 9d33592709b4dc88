import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { askForAccount, newCheckout, newCustomer, providerFrame, reaches, transfer } from '../../support/customer.ts'
import { openShop } from '../../support/open-shop.ts'

const { shop, redirectURL, browser } = await openShop()

/** A network that delivers the page in pieces, each after the browser has painted the one before. */
async function openSlowNetwork(url: string, pieces: string[]) {
  const release = Array.from({ length: pieces.length }, () => Promise.withResolvers<void>())
  const server = createServer(async (_, response) => {
    const answer = await fetch(url)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
    let rest = await answer.text()
    for (const [index, end] of pieces.entries()) {
      const at = rest.indexOf(end) + end.length
      response.write(rest.slice(0, at))
      rest = rest.slice(at)
      await release[index]?.promise
    }
    response.end(rest)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, release }
}

test('the layout does not shift while the page arrives on a slow network (CLS 0)', async () => {
  const { url } = await newCheckout(shop)
  for (const viewport of [
    { width: 360, height: 740 },
    { width: 1280, height: 960 },
  ]) {
    const { page } = await newCustomer(browser, { viewport })
    const { address, release } = await openSlowNetwork(url, ['</header>', '</nav>', '</main>'])
    await page.addInitScript(`window.shifts = []
      const moved = ({ node, previousRect, currentRect }) =>
        [node?.outerHTML?.slice(0, 80) ?? node?.nodeName, previousRect.y, currentRect.y, previousRect.x, currentRect.x].join(' ')
      new PerformanceObserver((list) =>
        window.shifts.push(...list.getEntries().map(({ value, sources }) => [value, ...sources.map(moved)])))
        .observe({ type: 'layout-shift', buffered: true })`)
    const painted = () => page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))')
    await page.goto(address, { waitUntil: 'commit' })
    await page.locator('header .price').waitFor()
    await page.waitForFunction("performance.getEntriesByType('paint').length > 0")
    release[0]?.resolve()
    await page.locator('.tabs').waitFor({ state: 'attached' })
    await painted()
    release[1]?.resolve()
    await page.locator('.ask').first().waitFor()
    await painted()
    release[2]?.resolve()
    await page.waitForLoadState('load')
    await painted()
    assert.deepEqual(await page.evaluate('window.shifts'), [], `${viewport.width} px`)
  }
})

test('cancelling asks once before it cancels, with scripts and without', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { url, reference } = await newCheckout(shop, { redirectURL })
    const { page } = await newCustomer(browser, { javaScriptEnabled })
    await page.goto(url)
    await page.getByText('Cancel payment').click()
    await page.getByText('Stop this payment?').waitFor()
    assert.equal((await shop.payment(reference)).status, 'pending')
    await page.getByRole('button', { name: 'Stop' }).click()
    if (javaScriptEnabled) await page.waitForURL(`${redirectURL}**`)
    else await page.getByText('Payment cancelled').waitFor()
    assert.equal((await shop.payment(reference)).status, 'cancelled')
  }
})

test('inside our frame the provider’s page repeats neither merchant, amount nor Cancel', async () => {
  const { url } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await page.goto(url)
  assert.doesNotMatch(await page.locator('body').innerText(), /bank’s secure page/)
  await page.getByRole('button', { name: /^Pay/ }).click()
  const frame = providerFrame(page)
  await frame.getByLabel('Card number').waitFor()
  const text = await frame.locator('main').innerText()
  assert.doesNotMatch(text, /Adaeze|Cancel/)
  assert.equal(text.match(/₦12,500\.00/g)?.length, 1, 'only on the button')
  assert.doesNotMatch(await page.locator('body').innerText(), /bank’s secure page/)
})

test('an overpaid payment names the excess and whom to ask for it', async () => {
  const { url, reference } = await newCheckout(shop)
  const { page } = await newCustomer(browser)
  await askForAccount(page, url)
  await transfer(shop, reference, 1_300_000)
  await reaches(page, 'succeeded')
  assert.match(
    await page.locator('#panel').innerText(),
    /You sent ₦500\.00 more than was due\. Ask Adaeze Kitchen to send it back\./,
  )
})
