import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { demoShop } from '../../src/demo/shop.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { createCredential } from '../../src/merchants/manage-merchants.ts'
import { sandboxServers } from '../../src/providers/sandbox-servers.ts'
import { type Answer, addMerchant, BASE_URL, call, checkout, startOn, startService } from '../support/service.ts'
import { untilLimited } from '../support/until-limited.ts'

const { app, database } = await startService({ rateLimit: true })

function assertLimited({ status, headers }: Answer): void {
  assert.equal(status, 429)
  assert.ok(Number(headers['retry-after']) >= 1, 'it says when to come back')
}

async function many(count: number, ask: () => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, ask))
}

test('a sandbox client may make 25 calls a second with bursts of 50; the next is 429 with Retry-After and RateLimit headers', async () => {
  const shop = await addMerchant(database)
  const start = performance.now()
  const answers = await many(200, () => checkout(app, shop))
  const limited = answers.filter(({ status }) => status === 429)
  // the burst and 25 a second, however slow this machine is
  const most = 51 + Math.ceil(((performance.now() - start) * 25) / 1_000)
  assert.ok(limited.length >= 200 - most && limited.length <= 150, `${limited.length} of 200, at least ${200 - most}`)
  const first = limited[0] as Answer
  assertLimited(first)
  assert.deepEqual([first.body.code, first.body.retryable], ['rate_limited', true])
  assert.equal(first.headers['ratelimit-remaining'], '0')
  assert.match(String(first.headers.ratelimit), /r=0/)
})

test('a live client may make bursts of 200', async () => {
  const shop = await addMerchant(database, { mode: 'live' })
  const answers = await many(200, () => checkout(app, shop))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
})

test('calls that the limits of a credential refuse do not use up its rate limit', async () => {
  const own = await startOn(database, { rateLimit: true, trustProxy: ['127.0.0.1'] })
  const { merchantId } = await addMerchant(database)
  const parts = { database, clock: systemClock }
  const limits = { allowedAddresses: ['203.0.113.7'] }
  const { clientId, clientSecret } = await createCredential(parts, 'test', merchantId, 'sandbox', limits)
  const from = (ip: string) =>
    call(own, 'GET', '/payments/v1/payments', {
      headers: { 'client-id': clientId, 'client-secret': clientSecret, 'x-forwarded-for': ip },
    })
  const refused = await many(80, () => from('203.0.113.8'))
  assert.deepEqual([...new Set(refused.map(({ status }) => status))], [403])
  assert.equal((await from('203.0.113.7')).status, 200)
})

test('one client at its limit leaves another alone', async () => {
  const [busy, quiet] = [await addMerchant(database), await addMerchant(database)]
  await many(80, () => checkout(app, busy))
  assert.equal((await checkout(app, quiet)).status, 201)
})

test('wrong credentials are limited per address, while a right one from there is still served', async () => {
  const shop = await addMerchant(database)
  const guess = () =>
    call(app, 'GET', '/payments/v1/payments', { headers: { 'client-id': 'cid_sandbox_guess', 'client-secret': 'x' } })
  const start = performance.now()
  const answers = await many(10, guess)
  const tried = answers.filter(({ status }) => status === 401).length
  const most = 5 + Math.floor((performance.now() - start) / 12_000)
  assert.ok(tried >= 5 && tried <= most, `${tried} of 10, at most ${most}`)
  for (const answer of answers.filter(({ status }) => status !== 401)) assertLimited(answer)
  assert.equal((await checkout(app, shop)).status, 201)
})

test('wrong secrets are slowed down per client-id and address, and lock nobody out', async () => {
  const own = await startOn(database, { rateLimit: true, trustProxy: ['127.0.0.1'] })
  const shop = await addMerchant(database)
  const from = (ip: string, secret = shop.clientSecret) =>
    call(own, 'GET', '/payments/v1/payments', {
      headers: { 'client-id': shop.clientId, 'client-secret': secret, 'x-forwarded-for': ip },
    })
  // The stranger is first: this process has not seen the right secret yet.
  await many(30, () => from('203.0.113.7', 'sec_wrong'))
  const guessed = await from('203.0.113.7', 'sec_wrong')
  assertLimited(guessed)
  assert.match(guessed.body.detail, /Too many wrong secrets/)
  assert.equal((await from('203.0.113.7')).status, 200, 'the merchant behind the same address')
  assert.equal((await from('203.0.113.10')).status, 200, 'another address')
})

test('guessing links is cut off after ten wrong ones a minute, with a page that says so', async () => {
  const fresh = await startService({ rateLimit: true })
  const shop = await addMerchant(fresh.database)
  const { data } = (await checkout(fresh.app, shop)).body
  const page = new URL(data.url).pathname
  assert.equal((await call(fresh.app, 'GET', page)).status, 200)
  const since = { startMs: performance.now(), everyMs: 6_000 }
  const guess = () => call(fresh.app, 'GET', '/s/3RtDm8en6NZe7pF')
  for (let count = 0; count < 10; count++) assert.equal((await guess()).status, 404)
  assertLimited(await untilLimited(guess, since))
  const refused = await untilLimited(async () => {
    await guess()
    return call(fresh.app, 'GET', page)
  }, since)
  assertLimited(refused)
  assert.match(refused.body, /Too many tries/)
})

test('the addresses of one IPv6 /64 share each limit: wrong links, payments of a link, wrong credentials', async () => {
  const own = await startOn(database, { rateLimit: true, trustProxy: ['127.0.0.1'] })
  const shop = await addMerchant(database)
  const body = { title: 'Class', amount: 5_000, country: 'NG' }
  const link = (await call(own, 'POST', '/payments/v1/links', { headers: shop.headers, body })).body.data
  const path = new URL(link.url).pathname
  const page = String((await call(own, 'GET', path)).body)
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page)?.[1] ?? ''
  const form = new URLSearchParams({ key: hidden('key'), token: hidden('token'), email: 'ada@example.com' })
  const formHeaders = { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL }
  const asks: Record<string, (from: { 'x-forwarded-for': string }) => Promise<Answer>> = {
    'wrong links': (headers) => call(own, 'GET', '/s/3RtDm8en6NZe7pF', { headers }),
    'wrong credentials': (from) => {
      const headers = { 'client-id': `cid_sandbox_${from['x-forwarded-for']}`, 'client-secret': 'x', ...from }
      return call(own, 'GET', '/payments/v1/payments', { headers })
    },
    'payments of a link': (from) =>
      call(own, 'POST', path, { headers: { ...formHeaders, ...from }, body: String(form) }),
  }
  for (const [number, [what, ask]] of Object.entries(asks).entries()) {
    let addresses = 0
    const askFrom = (network: string) => ask({ 'x-forwarded-for': `${network}::${++addresses}` })
    const [one, other] = [`2001:db8:${number}:1`, `2001:db8:${number}:2`]
    const since = { startMs: performance.now(), everyMs: 6_000 }
    const first = await askFrom(one)
    assert.notEqual(first.status, 429, what)
    for (let count = 0; count < 19; count++) assert.ok([429, first.status].includes((await askFrom(one)).status), what)
    assertLimited(await untilLimited(() => askFrom(one), since))
    assert.equal((await askFrom(other)).status, first.status, `${what}: another network`)
    assert.equal((await ask({ 'x-forwarded-for': `::ffff:192.0.2.${number}` })).status, first.status, what)
  }
})

test('a page is served ten times a second to one address, with bursts of twenty', async () => {
  const fresh = await startService({ rateLimit: true })
  const shop = await addMerchant(fresh.database)
  const { data } = (await checkout(fresh.app, shop)).body
  const start = performance.now()
  const answers = await many(30, () => call(fresh.app, 'GET', new URL(data.url).pathname))
  const served = answers.filter(({ status }) => status === 200).length
  // ten a second on top of the burst, however slow this machine is
  const most = 21 + Math.ceil((performance.now() - start) / 100)
  assert.ok(served >= 20 && served <= most, `${served} of 30, at most ${most}`)
})

test('refusals of strangers are sampled in the log, and the lines that were left out are counted', async () => {
  const lines: { status?: number; count?: number }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const fresh = await startService({ rateLimit: true, log })
  for (let request = 0; request < 2_000; request++) await call(fresh.app, 'GET', `/nothing-${request}`)
  assert.ok(lines.length >= 100 && lines.length < 1_000, `${lines.length} lines for 2 000 refusals`)
  const counted = lines.reduce((sum, { count = 0 }) => sum + 1 + count, 0)
  assert.ok(counted <= 2_000, 'each refusal is on a line or counted once')
  const shop = await addMerchant(fresh.database)
  const before = lines.length
  assert.equal((await checkout(fresh.app, shop)).status, 201)
  assert.equal((await checkout(fresh.app, shop, { amount: 0 })).status, 400)
  assert.equal(lines.length, before + 2, 'a known caller has a line for each answer')
})

test('documentation and metrics are limited by address', async () => {
  const fresh = await startService({ rateLimit: true })
  for (const path of ['/openapi.json', '/docs/', '/metrics']) {
    const answers = await many(100, () => call(fresh.app, 'GET', path))
    assert.ok(
      answers.some(({ status }) => status === 429),
      path,
    )
  }
})

test('the card pages of the sandbox provider are limited by address, its API is not', async () => {
  const log = pino({ level: 'silent' })
  const url = () => BASE_URL
  const guests = sandboxServers({
    ...{ database, clock: systemClock, log, masterKey: Buffer.alloc(32), publicUrl: url, serverUrl: url },
    verifyCredential: () => undefined,
  })
  const limited = await startOn(database, { rateLimit: true, guests })
  const pages = await many(100, () => call(limited, 'GET', `/sandbox/gateway/pay/${'1'.repeat(30)}`))
  const refused = pages.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 10, `${refused.length} of 100`)
  assertLimited(refused[0] as Answer)
  const calls = await many(100, () => call(limited, 'POST', '/sandbox/gateway/v1/payments', { body: {} }))
  assert.ok(calls.every(({ status }) => status === 401))
})

test('the demo shop takes 20 orders at once from one address; then a browser gets a page that says how long to wait', async () => {
  const url = () => BASE_URL
  const credential = { clientId: 'cid_sandbox_x', clientSecret: 'x' }
  const shop = demoShop({ baseUrl: url, serverUrl: url, credential, webhookSecret: '', script: '', style: '' })
  const limited = await startOn(database, { rateLimit: true, guests: [shop] })
  const order = (accept: string) => () =>
    call(limited, 'POST', '/demo/buy', { headers: { accept, 'content-type': 'application/x-www-form-urlencoded' } })
  const since = { startMs: performance.now(), everyMs: 5_000 }
  const answers = await many(20, order('text/html'))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [400], 'an order of nothing')
  const page = await untilLimited(order('text/html,application/xhtml+xml'), since)
  assertLimited(page)
  assert.match(page.body, new RegExp(`not carried out\\. Wait ${page.headers['retry-after']} s, then try again`))
  assert.match(String(page.headers['content-type']), /^text\/html/)
  const answer = await untilLimited(order('application/json'), since)
  assertLimited(answer)
  assert.equal(answer.body.code, 'rate_limited')
})

test('RATE_LIMIT=off lifts all of them', async () => {
  const free = await startService()
  const shop = await addMerchant(free.database)
  const answers = await many(120, () => checkout(free.app, shop))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  const guesses = await many(20, () =>
    call(free.app, 'GET', '/payments/v1/payments', { headers: { 'client-id': 'x', 'client-secret': 'y' } }),
  )
  assert.ok(guesses.every(({ status }) => status === 401))
})
