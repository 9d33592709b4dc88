import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { build } from 'esbuild'
import { fastify } from 'fastify'
import {
  Manilla,
  ManillaError,
  type ManillaOptions,
  verifyWebhook,
  WebhookVerificationError,
} from '../../clients/typescript/src/index.ts'
import {
  expressWebhook,
  fastifyWebhook,
  type HandleEvent,
  honoWebhook,
  nextWebhook,
} from '../../clients/typescript/src/webhooks.ts'
import { createDatabase } from '../support/database.ts'
import { closedPort, type Heard, startListener } from '../support/listener.ts'
import { eventually, startPaying } from '../support/paying.ts'

const { url: databaseUrl, database } = await createDatabase()
const { baseUrl, addShop } = await startPaying({ database, databaseUrl, deliver: true })
const CLIENT = join(import.meta.dirname, '../../clients/typescript')
const ORDER = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
const PAYS = '4084 0840 8408 4081'

async function openClient(changes: Partial<ManillaOptions> = {}) {
  const shop = await addShop()
  const { 'client-id': clientId, 'client-secret': clientSecret } = shop.headers
  const manilla = new Manilla({ baseUrl, clientId, clientSecret, ...changes })
  return { shop, clientSecret, manilla }
}

async function cancelledEvent(manilla: Manilla): Promise<void> {
  const { reference } = await manilla.checkouts.create(ORDER)
  await manilla.payments.cancel(reference)
}

test('a webhook is verified by its raw body; forged, altered, old and early ones are rejected, each with its reason', async () => {
  const { manilla } = await openClient()
  const listener = await startListener()
  const { secret, id } = await manilla.webhookEndpoints.create({ url: listener.url })
  await cancelledEvent(manilla)
  const [{ body, headers }] = (await listener.hears(1)) as [Heard]
  const event = await manilla.webhooks.verify(body, headers, secret)
  assert.ok(event.type === 'payment.cancelled' && event.data.payment.status === 'cancelled')
  assert.deepEqual(await verifyWebhook(new TextEncoder().encode(body), new Headers(headers as never), secret), event)
  assert.equal((await manilla.webhookEndpoints.test(id)).delivered, true)
  const tested = listener.heard[1] as Heard
  assert.equal((await verifyWebhook(tested.body, tested.headers, secret)).type, 'endpoint.test')

  const other = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const at = (seconds: number) => ({ now: new Date((Number(headers['webhook-timestamp']) + seconds) * 1000) })
  const cases: [string, RegExp, () => Promise<unknown>][] = [
    ['missing_headers', /webhook-signature/, () => verifyWebhook(body, {}, secret)],
    ['no_match', /secret is that of another/, () => verifyWebhook(body, headers, other)],
    ['no_match', /altered/, () => verifyWebhook(body.replace('cancelled', 'successful'), headers, secret)],
    ['no_match', /./, () => verifyWebhook(body, { ...headers, 'webhook-signature': 'v1,%% v1a,x v1,' }, secret)],
    ['too_old', /replay.*clock/, () => verifyWebhook(body, headers, secret, at(301))],
    ['in_future', /future.*clock/, () => verifyWebhook(body, headers, secret, at(-301))],
    ['body_not_raw', /express\.raw/, () => verifyWebhook(JSON.parse(body), headers, secret)],
    ['body_not_raw', /undefined/, () => verifyWebhook(undefined as never, headers, secret)],
    [
      'body_not_raw',
      /serialised it again/,
      () => verifyWebhook(JSON.stringify(JSON.parse(body), null, 2), headers, secret),
    ],
  ]
  for (const [reason, message, verify] of cases) {
    const error = await verify().catch((error: unknown) => error)
    assert.ok(error instanceof WebhookVerificationError, `${reason}: ${error}`)
    assert.equal(error.reason, reason)
    assert.match(error.message, message)
    assert.ok(!error.message.includes(secret) && !error.message.includes(other))
  }
  const sent = (name: string) => String(headers[`webhook-${name}`])
  const asSent = {
    ...{ 'Webhook-Id': sent('id'), 'WEBHOOK-TIMESTAMP': [sent('timestamp')], 'webhook-Signature': sent('signature') },
  }
  assert.equal((await verifyWebhook(Buffer.from(body), asSent, secret)).id, event.id)
  assert.equal((await verifyWebhook(new TextEncoder().encode(body).buffer, headers, secret)).id, event.id)
  for (const wrong of ['whsec_A', 'whsec_A=', 'whsec_', '', secret.slice(6), `${secret}\n`, undefined as never])
    await assert.rejects(verifyWebhook(body, headers, wrong), { name: 'ManillaError' }, wrong)
  await assert.rejects(verifyWebhook(body, headers, []), { reason: 'no_match' })
  await assert.rejects(verifyWebhook(`\ufeff${body}`, headers, secret), { reason: 'no_match' })
  await assert.rejects(verifyWebhook(body, headers, secret, { ...at(1), toleranceSeconds: 0 }), { reason: 'too_old' })
  await verifyWebhook(body, headers, secret, { ...at(0), toleranceSeconds: 0 })
  await verifyWebhook(body, headers, secret, at(299))
  await verifyWebhook(body, headers, secret, { ...at(900), toleranceSeconds: 1_000 })
})

test('during a rotation the old, the new and both secrets verify', async () => {
  const { manilla } = await openClient()
  const listener = await startListener()
  const { secret: old, id } = await manilla.webhookEndpoints.create({ url: listener.url })
  await cancelledEvent(manilla)
  await listener.hears(1)
  const { secret: fresh } = await manilla.webhookEndpoints.rotateSecret(id)
  await cancelledEvent(manilla)
  const [before, during] = (await listener.hears(2)) as [Heard, Heard]
  for (const secrets of [old, fresh, [fresh, old]]) await verifyWebhook(during.body, during.headers, secrets)
  await verifyWebhook(before.body, before.headers, [fresh, old])
  await assert.rejects(verifyWebhook(before.body, before.headers, fresh), WebhookVerificationError)
})

test('the helpers for Express, Fastify, Next.js and Hono accept a real webhook and answer 401 to an altered one', async () => {
  const { manilla } = await openClient()
  const listener = await startListener()
  const { secret } = await manilla.webhookEndpoints.create({ url: listener.url })
  await cancelledEvent(manilla)
  const [{ body, headers }] = (await listener.hears(1)) as [Heard]
  const seen: string[] = []
  const handle: HandleEvent = ({ type }) => seen.push(type)

  const inFastify = fastify()
  after(() => inFastify.close())
  await inFastify.register(fastifyWebhook('/hook', secret, handle))
  inFastify.post('/json', async (request) => request.body)
  // The request of Express is Node's own.
  const express = expressWebhook(secret, handle)
  const failed: unknown[] = []
  const server = createServer((request, response) =>
    express(request, response, (error) => response.end(`failed ${failed.push(error)}`)),
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  after(() => server.close())

  const sent = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type'].map((name) => [
      name,
      String(headers[name]),
    ]),
  )
  const request = (body: string) => new Request('http://shop.test/hook', { method: 'POST', headers: sent, body })
  const next = nextWebhook(secret, handle)
  const hono = honoWebhook(secret, handle)
  const statusOf: Record<string, (body: string) => Promise<number>> = {
    fastify: async (payload) =>
      (await inFastify.inject({ method: 'POST', url: '/hook', headers: sent, payload })).statusCode,
    express: async (body) =>
      (
        await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}`, {
          method: 'POST',
          headers: sent,
          body,
        })
      ).status,
    next: async (body) => (await next(request(body))).status,
    hono: async (body) => {
      const raw = request(body)
      return (await hono({ req: { raw, text: () => raw.text() } })).status
    },
  }
  for (const [name, status] of Object.entries(statusOf)) {
    assert.equal(await status(body), 200, name)
    assert.equal(await status(body.replace('cancelled', 'successful')), 401, name)
  }
  assert.deepEqual(seen, Array(4).fill('payment.cancelled'))
  assert.deepEqual(failed, [])
  const untouched = await inFastify.inject({ method: 'POST', url: '/json', payload: { a: 1 } })
  assert.deepEqual(untouched.json(), { a: 1 }, 'other routes still parse JSON')

  let thrown: unknown
  await express({ headers: sent, body: JSON.parse(body) } as never, {} as never, (error) => {
    thrown = error
  })
  assert.ok(thrown instanceof WebhookVerificationError && thrown.reason === 'body_not_raw')
  const read = request(body)
  await read.json()
  await assert.rejects(next(read), { reason: 'body_not_raw', message: /read before/ })
})

test('the program of the README creates a payment, verifies its webhook and explains a used reference', async () => {
  const { shop } = await openClient()
  const text = readFileSync(join(CLIENT, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(/<!-- run by test\/journeys\/client-webhooks\.test\.ts -->\n```ts\n([\s\S]*?)```/g)]
  assert.equal(blocks.length, 5)
  const port = new URL(await closedPort()).port
  const program = blocks
    .map(([, block]) => block)
    .join('')
    .replaceAll("'@manilla/client/webhooks'", `'${join(CLIENT, 'src/webhooks.ts')}'`)
    .replaceAll("'@manilla/client'", `'${join(CLIENT, 'src/index.ts')}'`)
    .replaceAll('http://localhost:3000', baseUrl)
    .replaceAll('8080', port)
  const { secret: WEBHOOK_SECRET } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
  const { 'client-id': CLIENT_ID, 'client-secret': CLIENT_SECRET } = shop.headers
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
    env: { PATH: process.env.PATH, CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET },
  })
  after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const says = (wanted: string) =>
    eventually(
      async () => output,
      (said) => said.includes(wanted),
      60_000, // a process has to start
    )
  await says('It exists: ')
  assert.match(
    output,
    /Send the customer to http.*\/pay\/chk_\w+\nYour payment is pending\.\nORD-20931 1250000\n1 null\n/,
  )
  const { body } = await shop.initialize({ reference: 'ORD-20931' })
  await shop.call('POST', `/sandbox/gateway/charges/${body.data.data.reference}`, { card: PAYS })
  await says('ORD-20931 is paid')
})

test('the example for Next.js creates a payment, takes its webhook once and asks before it says thank you', async (t) => {
  const { shop } = await openClient()
  const listener = await startListener()
  const { secret: WEBHOOK_SECRET } = (await shop.call('POST', '/payments/v1/webhook-secret/rotate')).body.data
  const { 'client-id': CLIENT_ID, 'client-secret': CLIENT_SECRET } = shop.headers
  const PORT = new URL(listener.url).port
  const env = { CLIENT_ID, CLIENT_SECRET, WEBHOOK_SECRET, MANILLA: baseUrl, PORT }
  const [pay, thanks, webhooks] = await Promise.all(
    ['pay/route.ts', 'thanks/page.tsx', 'webhooks/route.ts'].map((file) => loadNext(file, env)),
  )
  const { status, headers } = await pay.POST()
  assert.equal(status, 303)
  const { reference, amount } = await shop.payment(headers.get('location').split('/pay/')[1])
  const page = async () => (await thanks.default({ searchParams: Promise.resolve({ reference }) })).props.children
  assert.equal(await page(), 'Your payment is pending.')
  const { body } = await shop.initialize({ reference, amount })
  await shop.call('POST', `/sandbox/gateway/charges/${body.data.data.reference}`, { card: PAYS })
  const [heard] = (await listener.hears(1)) as [Heard]
  const said = t.mock.method(console, 'log', () => {})
  const send = (text: string) =>
    webhooks.POST(
      new Request(listener.url, { method: 'POST', headers: heard.headers as Record<string, string>, body: text }),
    )
  assert.equal((await send(heard.body.replace('1250000', '1'))).status, 401)
  for (const _twice of [1, 2]) assert.equal((await send(heard.body)).status, 200)
  assert.deepEqual(
    said.mock.calls.map((call) => call.arguments),
    [[`${reference} is paid: deliver it`]],
  )
  assert.equal(await page(), 'Thank you!')
})

/** A module of the example without Next.js: its routes use Web standards only, and a page is a function. */
// biome-ignore lint/suspicious/noExplicitAny: a module of the example
async function loadNext(file: string, env: Record<string, string>): Promise<any> {
  const { outputFiles } = await build({
    entryPoints: [join(CLIENT, '../../examples/nextjs/app', file)],
    alias: {
      '@manilla/client': join(CLIENT, 'src/index.ts'),
      '@manilla/client/webhooks': join(CLIENT, 'src/webhooks.ts'),
    },
    define: { 'process.env': JSON.stringify(env) },
    ...{ bundle: true, write: false, format: 'esm', jsx: 'automatic', jsxImportSource: 'preact' },
    nodePaths: [join(CLIENT, '../../node_modules')],
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? '').toString('base64')}`)
}

test('a secret is in no text of the client or of an error', async () => {
  const { manilla, clientSecret } = await openClient()
  const fails = (changes: Partial<ManillaOptions>) =>
    new Manilla({ baseUrl, clientId: 'cid_x', clientSecret, maxRetries: 0, ...changes }).payments
      .retrieve('x')
      .catch((error: unknown) => error)
  const things: unknown[] = [
    manilla,
    await fails({}),
    await fails({ baseUrl: new URL(await closedPort()).origin }),
    await fails({ fetch: () => Promise.reject(new Error(`bad header ${clientSecret}`)) }),
    await fails({
      fetch: async (_, request) =>
        Response.json({ code: 'x', detail: JSON.stringify(request?.headers), existing: request }, { status: 400 }),
    }),
  ]
  for (const wrong of [{ clientSecret: `${clientSecret}\n` }, { baseUrl: `http://x:${clientSecret}@pay.test` }]) {
    assert.throws(
      () => new Manilla({ baseUrl, clientId: 'cid_x', clientSecret, ...wrong }),
      (error) => things.push(error) > 0 && error instanceof ManillaError,
    )
  }
  const whsec = 'whsec_***not base64***'
  things.push(
    await verifyWebhook(
      '{}',
      { 'webhook-id': '1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' },
      whsec,
    ).catch((error: unknown) => error),
  )
  for (const thing of things) {
    const texts = [inspect(thing, { showHidden: true, depth: 20 }), JSON.stringify(thing), String(thing)]
    for (const text of texts) assert.ok(!text.includes(clientSecret) && !text.includes('not base64'), text)
  }
})
