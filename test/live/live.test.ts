import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { providerHttp } from '../../src/outbound/provider-http.ts'
import { findProvider } from '../../src/providers/registry.ts'
import { findFake } from '../fakes/index.ts'
import { startFakeMonnify } from '../fakes/monnify/fake.ts'
import { startFakePaystack } from '../fakes/paystack/fake.ts'
import { brokenKey, variableOf } from './keys.ts'
import { SANDBOXES } from './sandboxes.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The script as `npm run gate -- live` runs it, with these keys only, not those of the environment. */
async function runLive(env: Record<string, string>, chosen: string[] = []): Promise<{ code: number; lines: string[] }> {
  const child = spawn(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'test/live/main.ts'), ...chosen], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const [code] = await once(child, 'close')
  return { code, lines: output.split('\n').filter(Boolean) }
}

function environmentFor(name: string, { settings, url }: { settings: Record<string, string>; url: string }) {
  const entries = Object.entries(settings).map(([setting, value]) => [variableOf(name, setting), value])
  return { ...Object.fromEntries(entries), [`LIVE_${name.toUpperCase()}_BASE_URL`]: url }
}

test('without keys no sandbox is called, and the output names the missing variables', async () => {
  const { code, lines } = await runLive({})
  assert.equal(code, 0)
  assert.equal(lines.length, SANDBOXES.length)
  assert.match(
    lines.find((line) => line.includes('paystack')) ?? '',
    /^– paystack is left out: set LIVE_PAYSTACK_SECRET_KEY \(sk_test_…\), LIVE_PAYSTACK_PUBLIC_KEY \(pk_test_…\)/,
  )
  for (const { provider } of SANDBOXES)
    assert.ok(lines.some((line) => line.startsWith(`– ${provider.capabilities.name}`)))
})

test('monnify by name is called with the keys that it publishes', async (t) => {
  const { sharedKeys } = SANDBOXES.find(({ provider }) => provider.capabilities.name === 'monnify') ?? assert.fail()
  assert.ok(sharedKeys)
  const { upstream, settings, asked } = await startFakeMonnify(t)
  for (const { name, pattern } of findProvider('monnify')?.settings ?? []) {
    assert.match(sharedKeys[name] ?? '', pattern.sandbox)
  }
  const { lines } = await runLive({ LIVE_MONNIFY_BASE_URL: upstream.url }, ['monnify'])
  const basic = `Basic ${Buffer.from(`${sharedKeys.apiKey}:${sharedKeys.secretKey}`).toString('base64')}`
  assert.equal(asked[0]?.headers.authorization, basic)
  assert.ok(
    lines.every((line) => line.includes('monnify:')),
    'no other provider is asked',
  )
  assert.notEqual(settings.apiKey, sharedKeys.apiKey, 'the fake has keys of its own')
})

test('without internet access the run fails and says why', async (t) => {
  const { upstream } = await startFakeMonnify(t)
  await upstream.close()
  const { code, lines } = await runLive({ LIVE_MONNIFY_BASE_URL: upstream.url }, ['monnify'])
  assert.equal(code, 1)
  assert.deepEqual(lines, [
    `✗ monnify is not asked: ${upstream.url} cannot be reached from here. This needs internet access.`,
  ])
})

test('a provider that is chosen by name and has no keys is a failure', async () => {
  const { code, lines } = await runLive({}, ['paystack', 'unknown'])
  assert.equal(code, 1)
  assert.match(lines[0] ?? '', /^✗ unknown has no sandbox here; there are paystack, /)
  assert.match(lines[1] ?? '', /^✗ paystack is left out: set LIVE_PAYSTACK_SECRET_KEY/)
  assert.equal(lines.length, 2)
})

for (const { provider, channels = [], wrongToken } of SANDBOXES) {
  const { name, offers } = provider.capabilities
  test(`${name} gets every question that needs no customer`, async (t) => {
    const { settings, upstream, ordersMade, refundsMade } = await (
      findFake(name) ?? assert.fail(`${name} has a fake`)
    ).start(t)
    const { code, lines } = await runLive(environmentFor(name, { settings, url: upstream.url }))
    const said = lines.filter((line) => line.includes(`${name}:`) && !line.startsWith('–'))
    assert.deepEqual(
      said.filter((line) => !line.startsWith(`✓ ${name}: `)),
      [],
    )
    const account = { mode: 'sandbox' as const, settings, baseURL: upstream.url, http: providerHttp() }
    const { listReversals, lists = {} } = provider.connect(account)
    const optional = [listReversals, ...Object.values(lists), offers['virtual-bank-account']].filter(Boolean).length
    // Five are about cards.
    assert.equal(said.length, (wrongToken ? 7 : 2) + optional + channels.length)
    assert.equal(lines.length - said.length, SANDBOXES.length - 1, 'the others are left out')
    assert.equal(code, 0)
    assert.equal(ordersMade(), (wrongToken ? 1 : 0) + (offers['virtual-bank-account'] ? 1 : 0) + channels.length)
    assert.equal(refundsMade(), 0)
  })

  test(`${name}: a broken key still looks like one`, async (t) => {
    const { settings } = await (findFake(name) ?? assert.fail(`${name} has a fake`)).start(t)
    const { keyToBreak } = SANDBOXES.find((sandbox) => sandbox.provider === provider) ?? assert.fail()
    const key = settings[keyToBreak] ?? assert.fail(`${name} has ${keyToBreak}`)
    const pattern = provider.settings.find((setting) => setting.name === keyToBreak)?.pattern.sandbox ?? /^$/
    for (const good of [key, brokenKey(key)]) {
      assert.match(brokenKey(good), pattern)
      assert.notEqual(brokenKey(good), good)
    }
  })
}

test('a key of live mode is refused before any request, and not printed', async (t) => {
  const { settings, upstream, asked } = await startFakePaystack(t)
  const secretKey = settings.secretKey?.replace('test', 'live') ?? ''
  const { code, lines } = await runLive(
    environmentFor('paystack', { settings: { ...settings, secretKey }, url: upstream.url }),
  )
  assert.equal(code, 1)
  assert.match(
    lines.join('\n'),
    /✗ paystack is not asked: .*LIVE_PAYSTACK_SECRET_KEY does not look like one \(sk_test_…\)/,
  )
  assert.ok(!lines.join('\n').includes(secretKey))
  assert.deepEqual(asked, [])
})

test('an incomplete set of keys is a failure', async () => {
  const { code, lines } = await runLive({ LIVE_STRIPE_SECRET_KEY: 'sk_test_51Abcdefgh' })
  assert.equal(code, 1)
  assert.match(lines.join('\n'), /✗ stripe is not asked: also set LIVE_STRIPE_PUBLIC_KEY .*LIVE_STRIPE_WEBHOOK_SECRET/)
})

test('a different answer of the sandbox is a failure, and the other questions are still asked', async (t) => {
  const { settings, upstream } = await startFakePaystack(t)
  upstream.garble = (said) => ({ ...said, text: said.text.replace('"status":"abandoned"', '"status":"success"') })
  const { code, lines } = await runLive(environmentFor('paystack', { settings, url: upstream.url }))
  assert.equal(code, 1)
  assert.ok(lines.some((line) => /^✗ paystack: a card is taken on a page.*: expected pending, and it is /.test(line)))
  assert.ok(lines.includes('✓ paystack: an unknown saved card is declined'))
})
