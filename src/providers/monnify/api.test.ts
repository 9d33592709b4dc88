import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { KEYS, startFakeMonnify } from '../../../test/fakes/monnify/fake.ts'
import { httpTo } from '../../../test/fakes/upstream.ts'
import type { OrderHandle, ProviderClient } from '../provider.ts'
import { monnify } from './adapter.ts'

async function setUp(t: TestContext, settings = KEYS) {
  const fake = await startFakeMonnify(t)
  const http = httpTo(fake.upstream)
  const connection = monnify.connect({ mode: 'sandbox', settings, baseURL: fake.upstream.url, http })
  const login = () => fake.asked.filter(({ path }) => path === '/api/v1/auth/login')
  return { ...fake, connection, login, others: () => fake.asked.length - login().length }
}

const handle = (reference: string): OrderHandle => ({
  reference,
  providerReference: reference,
  channel: 'card',
  startedAt: new Date(),
})
const ask = (connection: ProviderClient) => connection.check(handle('nobody'))

test('monnify is logged in to once, by the two keys, and the token serves every call', async (t) => {
  const { connection, login } = await setUp(t)
  for (let i = 0; i < 3; i++) assert.equal((await ask(connection)).kind, 'missing')
  const [{ method, headers, body } = assert.fail('there was a login'), ...more] = login()
  assert.deepEqual(more, [])
  assert.deepEqual([method, body, headers['content-type']], ['POST', '{}', 'application/json'])
  const right = Buffer.from(`${KEYS.apiKey}:${KEYS.secretKey}`).toString('base64')
  assert.equal(headers.authorization, `Basic ${right}`)
})

test('calls that come at once share one login', async (t) => {
  const { connection, login } = await setUp(t)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(connection)))
  assert.ok(outcomes.every(({ kind }) => kind === 'missing'))
  assert.equal(login().length, 1)
})

test('calls whose token has ended share one more login', async (t) => {
  const { connection, login, others, endTokens } = await setUp(t)
  await ask(connection)
  endTokens()
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(connection)))
  assert.ok(outcomes.every(({ kind }) => kind === 'missing'))
  assert.equal(login().length, 2)
  assert.equal(others(), 1 + 20 + 20, 'each was asked twice, and no more')
})

test('a call that is refused for its token is made again once, and then no more', async (t) => {
  const { connection, login, others, upstream } = await setUp(t)
  await ask(connection)
  upstream.garble = (said) =>
    said.text.includes('accessToken') ? said : { status: 401, text: '{"responseMessage":"Token expired"}' }
  assert.equal((await ask(connection)).kind, 'unknown')
  assert.deepEqual([login().length, others()], [2, 3])
})

test('a token is not used in its last minute', async (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const { connection, login } = await setUp(t)
  await ask(connection)
  now += (3_588 - 61) * 1000
  await ask(connection)
  assert.equal(login().length, 1)
  now += 2_000
  await ask(connection)
  assert.equal(login().length, 2)
})

test('a token of a short life is used for half of it', async (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const { connection, login, switches } = await setUp(t)
  switches.tokenSeconds = 30
  for (const [seconds, logins] of [
    [0, 1],
    [14, 1],
    [2, 2],
  ] as const) {
    now += seconds * 1000
    await ask(connection)
    assert.equal(login().length, logins)
  }
})

test('a call without a login was never sent, however the login failed', async (t) => {
  const { connection, others, upstream } = await setUp(t)
  upstream.trouble = 'answering 503 after the work'
  const unwell = await ask(connection)
  assert.deepEqual(unwell, {
    kind: 'unknown',
    because: 'no login: it answered 503',
    errorStatus: 503,
    neverSent: true,
  })
  upstream.trouble = undefined
  upstream.garble = () => ({ status: 200, text: '{"requestSuccessful":true,"responseCode":"0","responseBody":{}}' })
  assert.equal((await ask(connection)).kind, 'unknown')
  assert.equal(others(), 0)
  upstream.garble = undefined
  assert.equal((await ask(connection)).kind, 'missing', 'and the next call tries again')
})

test('wrong keys are told, and nothing is asked with them', async (t) => {
  const { connection, others } = await setUp(t, { ...KEYS, secretKey: 'ANOTHER0SECRET0KEY0FOR0TESTS00001' })
  assert.deepEqual(await connection.verifyKeys(), { kind: 'bad', because: 'it refused the API key and secret key' })
  assert.deepEqual(await ask(connection), { kind: 'unknown', because: 'it refused the keys', neverSent: true })
  assert.equal(others(), 0)
})

test('keys are verified anew each time', async (t) => {
  const { connection, login, upstream } = await setUp(t)
  assert.deepEqual(await connection.verifyKeys(), { kind: 'good' })
  const no = '{"requestSuccessful":false,"responseMessage":"Bad","responseCode":"99"}'
  for (const status of [200, 400, 401]) {
    upstream.garble = () => ({ status, text: no })
    assert.equal((await connection.verifyKeys()).kind, 'bad')
  }
  assert.equal(login().length, 4)
})

test('a token that could break out of its header is none', async (t) => {
  const { connection, upstream, others } = await setUp(t)
  upstream.garble = (said) => ({ ...said, text: said.text.replace('eyJ', 'e\\r\\nx: ') })
  assert.equal((await ask(connection)).kind, 'unknown')
  assert.equal(others(), 0)
})
