import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser } from '../support/browser.ts'
import { newCustomer } from '../support/customer.ts'
import { freePort } from '../support/free-port.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { installExample, startShop, typeCheck, versionOf } from './install.ts'
import { declineThenPay } from './pay.ts'

/** `examples/nextjs` in a real Next.js from npm, with the packed client. */
const folder = await installExample('nextjs')
console.log(await versionOf(folder, 'next'))

const { baseUrl, addShop } = await startPaying({ deliver: true, worker: true })
const shop = await addShop()
const { secret } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
const port = String(await freePort())
const address = `http://localhost:${port}`
const next = await startShop(
  ['node_modules/next/dist/bin/next', 'dev', '--port', port],
  folder,
  {
    PORT: port,
    MANILLA: baseUrl,
    CLIENT_ID: shop.headers['client-id'],
    CLIENT_SECRET: shop.headers['client-secret'],
    WEBHOOK_SECRET: secret,
    NEXT_TELEMETRY_DISABLED: '1',
  },
  'Ready in',
)

test('the example for Next.js has no type errors', () => typeCheck(folder))

test('declined, then paid: the webhook is verified, and the return page asks for the payment', async () => {
  const { page } = await newCustomer(await openBrowser())
  page.setDefaultTimeout(60_000) // Next.js compiles each page at its first request
  await page.goto(address)
  await page.getByRole('button', { name: 'Pay ₦12,500.00' }).click()
  await page.waitForURL(`${baseUrl}/pay/*`)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  const { reference } = await shop.payment(id)
  const thanks = async () => (await fetch(`${address}/thanks?status=successful&reference=${reference}`)).text()
  assert.match(await thanks(), /Your payment is pending/, 'a forged return proves nothing')
  assert.equal((await fetch(`${address}/webhooks`, { method: 'POST', body: '{}' })).status, 401)
  await declineThenPay(page, page.url())
  await page.getByText('Thank you!').waitFor()
  await eventually(
    async () => next.output(),
    (output) => output.includes(`${reference} is paid: deliver it`),
  )
})
