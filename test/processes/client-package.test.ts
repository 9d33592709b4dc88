import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { openBrowser } from '../support/browser.ts'
import { closedPort, startListener } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge } from '../support/sandbox-payments.ts'
import { openWidgetShop } from '../support/widget-shop.ts'

/** `@manilla/client` as a merchant gets it: packed, installed in an empty folder, used from every kind of program. */
const ROOT = join(import.meta.dirname, '../..')
const CLIENT = join(ROOT, 'clients/typescript')
const MAX_BYTES = 8 * 1024
const BUN = '1.4.4'

const folder = await mkdtemp(join(tmpdir(), 'manilla-client-'))
after(() => rm(folder, { recursive: true, force: true }))

async function run(command: string, args: string[], { cwd = folder, env = {} } = {}): Promise<string> {
  const PATH = `${join(CLIENT, 'node_modules/.bin')}:${join(ROOT, 'node_modules/.bin')}:${process.env.PATH}`
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env, PATH }, maxBuffer: 16 * 1024 * 1024 }
    execFile(command, args, options, (error, out, complaints) =>
      error ? reject(new Error(`${command} ${args.join(' ')}\n${out}${complaints}`)) : resolve(out),
    )
  })
}

// As the guides say, in a folder without the .npmrc of the service, which forbids scripts. It also installs the tools
// of the checks below: publint, attw and an edge runtime.
await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', '.', CLIENT])
const packed = join(folder, 'manilla-client-0.1.0.tgz')
await writeFile(
  join(folder, 'package.json'),
  '{"name":"shop","private":true,"type":"module","allowScripts":{"bun":true}}',
)
await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', '--omit=peer', packed])

const service = await startPaying({ deliver: true })
const shop = await service.addShop()
const env = {
  BASE_URL: service.baseUrl,
  CLIENT_ID: shop.headers['client-id'],
  CLIENT_SECRET: shop.headers['client-secret'],
}

const ESM_IMPORTS = `import { Manilla, ManillaApiError } from '@manilla/client'
import { expressWebhook } from '@manilla/client/webhooks'`
const PROGRAM = `
const manilla = new Manilla({ baseUrl: process.env.BASE_URL, clientId: process.env.CLIENT_ID, clientSecret: process.env.CLIENT_SECRET })
manilla.checkouts.create({ amount: 100, country: 'NG', user: { email: 'ada@example.com' } }).then(async ({ reference }) => {
  const error = await manilla.payments.retrieve('none').catch((error) => error)
  if (!(error instanceof ManillaApiError) || typeof expressWebhook !== 'function') throw error
  console.log(reference)
})`

async function assertMade(reference: string): Promise<void> {
  assert.equal((await shop.payment(reference.trim())).amount, 100)
}

test('the package works from ESM', async () => {
  await writeFile(join(folder, 'esm.mjs'), ESM_IMPORTS + PROGRAM)
  await assertMade(await run('node', ['esm.mjs'], { env }))
})

test('the package works from CommonJS', async () => {
  const imports = `const { Manilla, ManillaApiError } = require('@manilla/client')
const { expressWebhook } = require('@manilla/client/webhooks')`
  await writeFile(join(folder, 'common.cjs'), imports + PROGRAM)
  await assertMade(await run('node', ['common.cjs'], { env }))
})

test('the package works in Bun', async () => {
  const flags = ['--ignore-scripts=false', '--no-audit', '--no-fund', '--loglevel=error', '--no-save']
  await run('npm', ['install', ...flags, `bun@${BUN}`])
  await writeFile(
    join(folder, 'bun.ts'),
    `${ESM_IMPORTS}\nif (!process.versions.bun) throw new Error('not Bun')${PROGRAM}`,
  )
  await assertMade(await run(join(folder, 'node_modules/.bin/bun'), ['bun.ts'], { env }))
})

const TYPED = `
import { type Checkout, Manilla, ManillaApiError, type WebhookEvent } from '@manilla/client'
import { nextWebhook } from '@manilla/client/webhooks'

const manilla = new Manilla({ baseUrl: 'http://x', clientId: 'x', clientSecret: 'x' })
export async function pay(): Promise<string> {
  const checkout: Checkout = await manilla.checkouts.create({ amount: 1, country: 'NG', user: { email: 'a@b.co' } })
  for await (const payment of manilla.payments.list({ status: 'pending', limit: 10 })) payment.attempts[0]?.status
  const started = await manilla.payments.initialize({ provider: 'gateway', amount: 1, user: { email: 'a@b.co' } })
  if (started.channel === 'mobile-money') return started.data.input?.kind ?? started.data.payTo?.number ?? ''
  return started.channel === 'virtual-bank-account' ? started.data.accountNumber + checkout.url : started.data.message
}
export function missing(event: WebhookEvent): number {
  switch (event.type) {
    case 'payment.underpaid':
      return event.data.missing.amount
    case 'dispute.lost':
      return event.data.refund.amount
    case 'case.opened':
    case 'case.closed':
      return event.data.case.amount ?? event.data.payment?.amount ?? 0
    case 'settlement.paid':
    case 'settlement.difference':
      return event.data.settlement.net ?? 0
    default:
      return event.data.payment.amount
  }
}
export const existing = (error: unknown) =>
  error instanceof ManillaApiError && error.is('duplicate_reference') ? error.existing.url : undefined
export const POST = nextWebhook('whsec_x', (event) => (event.type === 'endpoint.test' ? undefined : missing(event)))
// @ts-expect-error: country is required
void manilla.checkouts.create({ amount: 1, user: { email: 'a@b.co' } })
// @ts-expect-error: there is no such status
manilla.payments.list({ status: 'paid' })
`

test('the types hold in strict TypeScript with skipLibCheck: false, in ESM, CommonJS and for bundlers', async () => {
  await writeFile(join(folder, 'typed.mts'), TYPED)
  await writeFile(join(folder, 'typed.cts'), TYPED)
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false']
  const lib = ['--target', 'es2022', '--lib', 'es2022,dom,dom.iterable']
  await run('tsc', [...strict, ...lib, '--module', 'nodenext', 'typed.mts', 'typed.cts'])
  await run('tsc', [...strict, ...lib, '--module', 'esnext', '--moduleResolution', 'bundler', 'typed.mts'])
})

test('publint and attw find nothing', async () => {
  assert.match(await run('publint', [packed, '--strict']), /All good!/)
  // attw exits with 1 on a problem, also of `node10`, the resolution of TypeScript that does not know the exports map.
  await run('attw', [packed])
})

test('the package is at most 8 KB, minified and compressed', async () => {
  for (const entry of ['index', 'webhooks']) {
    const { outputFiles } = await build({
      entryPoints: [join(folder, `node_modules/@manilla/client/dist/${entry}.js`)],
      ...{ bundle: true, minify: true, write: false, format: 'esm', target: 'es2022' },
    })
    const size = gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
    console.log(`${entry}: ${size} bytes`)
    assert.ok(size > 0 && size <= MAX_BYTES)
  }
})

test('the package works in an edge runtime: only Web standards, no Node', async () => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import { Manilla, verifyWebhook } from '@manilla/client'
globalThis.shop = { Manilla, verifyWebhook }`,
      resolveDir: folder,
    },
    ...{ bundle: true, write: false, format: 'iife', platform: 'browser' },
  })
  const { EdgeRuntime } = createRequire(join(CLIENT, 'package.json'))('edge-runtime')
  const runtime = new EdgeRuntime({ initialCode: outputFiles[0]?.text })
  const listener = await startListener()
  const { secret } = (await shop.call('POST', '/payments/v1/webhook-endpoints', { url: listener.url })).body.data
  const given = { baseUrl: env.BASE_URL, clientId: env.CLIENT_ID, clientSecret: env.CLIENT_SECRET }
  const reference: string = await runtime.evaluate(`(async () => {
    if (typeof process !== 'undefined' || typeof require !== 'undefined') throw new Error('this is Node')
    const manilla = new shop.Manilla(${JSON.stringify(given)})
    const { reference } = await manilla.checkouts.create({ amount: 100, country: 'NG', user: { email: 'ada@example.com' } })
    await manilla.payments.cancel(reference)
    return reference
  })()`)
  await assertMade(reference)
  const [heard] = await listener.hears(1)
  const event = await runtime.evaluate(
    `shop.verifyWebhook(${JSON.stringify(heard?.body)}, ${JSON.stringify(heard?.headers)}, '${secret}')`,
  )
  assert.equal(event.data.payment.reference, reference)
})

const PAY_BUTTON = {
  react: `import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { PayButton } from '@manilla/client/react'
createRoot(root).render(createElement(PayButton, { ...window.payment, onClose: window.whenClosed }, 'Pay'))`,
  vue: `import { createApp, h } from 'vue'
import { PayButton } from '@manilla/client/vue'
createApp(() => h(PayButton, { ...window.payment, onClose: window.whenClosed }, () => 'Pay')).mount(root)`,
}

test('the buttons for React and Vue open the widget and report the result', async () => {
  const { body } = await shop.call('POST', '/payments/v1/checkouts', {
    ...{ reference: 'ORD-1', amount: 100, country: 'NG', user: { email: 'ada@example.com' } },
  })
  assert.equal(body.data.reference, 'ORD-1')
  const { stock } = await openWidgetShop(service.baseUrl)
  const browser = await openBrowser()
  for (const [name, contents] of Object.entries(PAY_BUTTON)) {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: folder },
      nodePaths: [join(CLIENT, 'node_modules')],
      define: { 'process.env.NODE_ENV': '"production"' },
      ...{ bundle: true, minify: true, write: false, format: 'iife' },
    })
    const payment = { baseUrl: service.baseUrl, clientId: env.CLIENT_ID, reference: 'ORD-1' }
    const setup = `const root = document.getElementById('root'); window.payment = ${JSON.stringify(payment)}
      window.whenClosed = (result) => { document.title = result.status }`
    const script = `${setup}\n${outputFiles[0]?.text}`.replaceAll('</script', '<\\/script')
    const page = await browser.newPage()
    await page.goto(
      stock(`/${name}`, `<!doctype html><title>Shop</title><div id="root"></div><script>${script}</script>`, {}),
    )
    await page.getByRole('button', { name: 'Pay' }).click()
    await page.frameLocator('dialog iframe').getByText('Reference ORD-1').waitFor()
    await page.mouse.click(5, 5) // the focus is in the shop's document
    await page.keyboard.press('Escape')
    await page.waitForFunction("document.title === 'pending'")
    await page.close()
  }
})

for (const [name, dependencies] of Object.entries({ express: ['express'], hono: ['hono', '@hono/node-server'] })) {
  test(`the example for ${name} sells one product: pay, return and a verified webhook`, async () => {
    const example = join(ROOT, 'examples', name)
    const program = await readFile(join(example, 'server.ts'), 'utf8')
    assert.ok(program.split('\n').length < 100)
    const wanted = JSON.parse(await readFile(join(example, 'package.json'), 'utf8')).dependencies
    const types = ['@types/node@24', '@types/express@5']
    const packages = [...types, ...dependencies.map((each) => `${each}@${wanted[each]}`)]
    await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages])
    await copyFile(join(example, 'server.ts'), join(folder, `${name}.ts`))
    const lib = ['--target', 'es2022', '--lib', 'es2022', '--types', 'node', '--skipLibCheck']
    await run('tsc', ['--noEmit', '--strict', '--module', 'nodenext', ...lib, `${name}.ts`])
    const { secret } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
    const PORT = new URL(await closedPort()).port
    const child = spawn(join(ROOT, 'node_modules/.bin/node'), [`${name}.ts`], {
      cwd: folder,
      env: { ...process.env, ...env, MANILLA: service.baseUrl, WEBHOOK_SECRET: secret, PORT },
    })
    after(() => child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const says = (text: string) =>
      eventually(
        async () => output,
        (said) => said.includes(text),
      )
    await says('The shop is open')
    const address = `http://localhost:${PORT}`
    assert.match(await (await fetch(address)).text(), /<button>Pay/)
    const bought = await fetch(`${address}/pay`, { method: 'POST', redirect: 'manual' })
    assert.equal(bought.status, 303, output)
    const [, id = ''] = (bought.headers.get('location') ?? '').split('/pay/')
    const { reference, amount, user } = await shop.payment(id)
    const thanks = async () => (await fetch(`${address}/thanks?status=successful&reference=${reference}`)).text()
    assert.match(await thanks(), /Your payment is pending/, 'a forged return proves nothing')
    assert.equal((await fetch(`${address}/webhooks`, { method: 'POST', body: '{}' })).status, 401)
    const { body } = await shop.initialize({ reference, amount, user: { email: user.email } })
    await charge(shop, body.data.data.reference)
    await says(`${reference} is paid: deliver it`)
    assert.match(await thanks(), /Thank you!/)
  })
}

test('the helpers work in real Express and Hono, and name the mistake when the body was parsed before', async () => {
  const load = createRequire(join(folder, 'package.json'))
  const [express, { Hono }, { serve }] = ['express', 'hono', '@hono/node-server'].map((name) => load(name))
  const { expressWebhook, honoWebhook } = load('@manilla/client/webhooks')
  const listener = await startListener()
  const { id, secret } = (await shop.call('POST', '/payments/v1/webhook-endpoints', { url: listener.url })).body.data
  await shop.call('POST', `/payments/v1/webhook-endpoints/${id}/test`)
  const [heard] = await listener.hears(1)
  const seen: string[] = []
  const handle = ({ type }: { type: string }) => seen.push(type)

  const inExpress = express()
  inExpress.post('/plain', expressWebhook(secret, handle))
  inExpress.post('/raw', express.raw({ type: '*/*' }), expressWebhook(secret, handle))
  inExpress.post('/text', express.text({ type: '*/*' }), expressWebhook(secret, handle))
  inExpress.use(express.json())
  inExpress.post('/parsed', expressWebhook(secret, handle))
  inExpress.use((error: { reason: string }, _request: unknown, response: ServerResponse, _next: unknown) =>
    response.writeHead(500).end(error.reason),
  )
  const inHono = new Hono()
  inHono.use('/read', async (context: { req: Request }, next: () => Promise<void>) => {
    await context.req.json()
    await next()
  })
  for (const path of ['/plain', '/read']) inHono.post(path, honoWebhook(secret, handle))

  const addressOf = async (server: Server) => {
    after(() => server.close())
    if (!server.listening) await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const expressUrl = await addressOf(inExpress.listen(0, '127.0.0.1'))
  const honoUrl = await addressOf(serve({ fetch: inHono.fetch, port: 0, hostname: '127.0.0.1' }))
  const headers = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type'].map((name) => [
      name,
      String(heard?.headers[name]),
    ]),
  )
  const send = async (url: string, body = heard?.body ?? '') => {
    const answer = await fetch(url, { method: 'POST', headers, body })
    return `${answer.status} ${await answer.text()}`
  }
  const expressUrls = ['/plain', '/raw', '/text'].map((path) => expressUrl + path)
  for (const url of [...expressUrls, `${honoUrl}/plain`, `${honoUrl}/read`]) {
    assert.equal(await send(url), '200 ok', url)
    assert.match(await send(url, '{"type":"payment.successful"}'), /^401 No signature matches/, url)
  }
  assert.equal(await send(`${expressUrl}/parsed`), '500 body_not_raw')
  assert.deepEqual(seen, Array(5).fill('endpoint.test'))
})
