import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { sql } from '../../src/database/sql.ts'
import { declareScopes } from '../../src/http/api/scopes.ts'
import type { App } from '../../src/http/server/framework.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { parseLimits, type WantedLimits } from '../../src/merchants/credential-limits.ts'
import { CREDENTIAL_SCOPES } from '../../src/merchants/credential-scopes.ts'
import { createCredential, revokeCredential, setMerchantStatus } from '../../src/merchants/manage-merchants.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { addMember, signedInBrowser } from '../support/dashboard.ts'
import { addMerchant, call, checkout, startOn, startService } from '../support/service.ts'

const { app, database } = await startService()
const parts = { database, clock: systemClock }
const shop = await addMerchant(database)
const list = (headers: Record<string, string>) => call(app, 'GET', '/payments/v1/payments', { headers })

test('F1: unknown id, wrong secret, revoked and other-mode credentials get one and the same 401', async () => {
  const revoked = await createCredential(parts, 'test', shop.merchantId, 'sandbox')
  await revokeCredential(parts, 'test', revoked.clientId)
  const live = await addMerchant(database, { mode: 'live' })
  const attempts = [
    { 'client-id': 'cid_sandbox_nobody', 'client-secret': shop.clientSecret },
    { 'client-id': shop.clientId, 'client-secret': `${shop.clientSecret}x` },
    { 'client-id': shop.clientId, 'client-secret': shop.clientSecret.toLowerCase() },
    { 'client-id': revoked.clientId, 'client-secret': revoked.clientSecret },
    { 'client-id': shop.clientId, 'client-secret': live.clientSecret },
    { 'client-id': "' or 1=1 --", 'client-secret': "' or 1=1 --" },
  ]
  const details = new Set<string>()
  for (const headers of attempts) {
    const { status, body } = await list(headers)
    assert.deepEqual([status, body.code, body.retryable], [401, 'invalid_credentials', false])
    details.add(body.detail)
  }
  assert.equal(details.size, 1)
})

test('a missing header is named', async () => {
  assert.match((await list({ 'client-id': shop.clientId })).body.detail, /missing: client-secret/)
  assert.match((await list({})).body.detail, /missing: client-id, client-secret/)
  assert.equal((await list({ 'client-id': '', 'client-secret': '' })).status, 401)
})

test('an id and a secret that are swapped are told, and not whether they are valid', async () => {
  const swapped = { 'client-id': shop.clientSecret, 'client-secret': shop.clientId }
  const madeUp = { 'client-id': 'sec_sandbox_x', 'client-secret': 'cid_sandbox_x' }
  const [real, other] = [await list(swapped), await list(madeUp)]
  assert.deepEqual([real.status, real.body.code], [401, 'invalid_credentials'])
  assert.match(real.body.detail, /client-id begins with cid_ .* swapped/)
  assert.equal(real.body.detail, other.body.detail)
})

test('credentials are asked for before the body is read', async () => {
  const { status } = await call(app, 'POST', '/payments/v1/checkouts', { body: '{not json' })
  assert.equal(status, 401)
})

test('the mode of a payment is the mode of the credential, and nothing crosses', async () => {
  const live = await createCredential(parts, 'test', shop.merchantId, 'live')
  const { body } = await checkout(app, shop, { reference: 'only-sandbox' })
  const headers = { 'client-id': live.clientId, 'client-secret': live.clientSecret }
  for (const name of ['only-sandbox', body.data.id]) {
    assert.equal((await call(app, 'GET', `/payments/v1/payments/${name}`, { headers })).status, 404)
    assert.equal((await call(app, 'POST', `/payments/v1/payments/${name}/cancel`, { headers })).status, 404)
  }
  assert.deepEqual((await list(headers)).body.data, [])
})

test('a merchant has several credentials at once, so rotation has no gap', async () => {
  const second = await createCredential(parts, 'test', shop.merchantId, 'sandbox')
  assert.match(second.clientId, /^cid_sandbox_/)
  assert.match(second.clientSecret, /^sec_sandbox_[1-9A-HJ-NP-Za-km-z]{44}$/)
  assert.equal((await list(shop.headers)).status, 200)
  assert.equal((await list({ 'client-id': second.clientId, 'client-secret': second.clientSecret })).status, 200)
})

test('the database holds a digest, never a secret', async () => {
  const rows = await database.rows<Record<string, unknown>>(sql`select * from credentials`)
  const dump = JSON.stringify(rows)
  assert.ok(!dump.includes(shop.clientSecret) && !dump.includes('sec_'))
})

test('a revoked credential is refused within 2 s by a process that had just used it', async () => {
  let nowMs = 1_000_000
  const verify = credentialVerifier(database, () => nowMs)
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'sandbox')
  assert.ok(await verify(clientId, clientSecret))
  await revokeCredential(parts, 'test', clientId)
  assert.ok(await verify(clientId, clientSecret), 'still believed for a moment: no question is asked of the database')
  nowMs += 2_000
  assert.equal(await verify(clientId, clientSecret), undefined)
})

/** A verifier whose clock is ours, and who counts what it asks of the database. */
function watchedVerifier() {
  const watched = { nowMs: 0, questions: 0 }
  const counting = {
    ...database,
    row: <Row>(statement: Parameters<typeof database.row>[0]) => {
      watched.questions++
      return database.row<Row>(statement)
    },
  }
  return { watched, verify: credentialVerifier(counting, () => watched.nowMs) }
}

test('a credential that was looked up recently costs no question, and is looked up again before it is too old', async () => {
  const { watched, verify } = watchedVerifier()
  for (let call = 0; call < 100; call++) await verify(shop.clientId, shop.clientSecret)
  assert.equal(watched.questions, 1)
  watched.nowMs = 1_500
  const answers = Array.from({ length: 100 }, () => verify(shop.clientId, shop.clientSecret))
  assert.ok(
    answers.every((answer) => !(answer instanceof Promise)),
    'nobody waits for the second look',
  )
  assert.equal(watched.questions, 2)
})

test('unknown ids are remembered like known ones, and not for ever', async () => {
  const { watched, verify } = watchedVerifier()
  for (let call = 0; call < 10; call++) assert.equal(await verify('cid_sandbox_x', 'y'), undefined)
  assert.equal(watched.questions, 1)
  watched.nowMs = 2_000
  await verify('cid_sandbox_x', 'y')
  assert.equal(watched.questions, 2)
})

test('a wrong secret is refused even right after the right one', async () => {
  const { verify } = watchedVerifier()
  assert.ok(await verify(shop.clientId, shop.clientSecret))
  for (const wrong of [`${shop.clientSecret}x`, shop.clientSecret.slice(1), shop.clientSecret.toLowerCase(), 'x']) {
    assert.equal(await verify(shop.clientId, wrong), undefined)
  }
})

test('the last use of a credential is noted, and a wrong secret is not a use', async () => {
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'sandbox')
  const lastUse = async () =>
    (
      await database.row<{ last_used_at: Date | null }>(
        sql`select last_used_at from credentials where client_id = ${clientId}`,
      )
    )?.last_used_at
  await list({ 'client-id': clientId, 'client-secret': 'wrong' })
  assert.equal(await lastUse(), null)
  await list({ 'client-id': clientId, 'client-secret': clientSecret })
  while ((await lastUse()) === null) await new Promise(setImmediate) // noted beside the call, not before its answer
})

test('a suspended merchant is 403 merchant_suspended, and works again when resumed', async () => {
  const own = await addMerchant(database)
  await setMerchantStatus(parts, 'test', own.merchantId, 'suspended')
  const { status, body } = await checkout(app, own)
  assert.deepEqual([status, body.code], [403, 'merchant_suspended'])
  await setMerchantStatus(parts, 'test', own.merchantId, 'active')
  const fresh = credentialVerifier(database)
  assert.equal((await fresh(own.clientId, own.clientSecret))?.suspended, false)
})

test('every privileged act is on record, and the record cannot be rewritten', async () => {
  const own = await addMerchant(database)
  await revokeCredential(parts, 'cli:ada', own.clientId)
  const rows = await database.rows<{ actor: string; act: string }>(
    sql`select actor, act from audit_log where subject in (${own.merchantId}, ${own.clientId}) order by id`,
  )
  assert.deepEqual(rows, [
    { actor: 'test', act: 'merchant.created' },
    { actor: 'test', act: 'credential.created' },
    { actor: 'cli:ada', act: 'credential.revoked' },
  ])
  await assert.rejects(database.rows(sql`delete from audit_log`), /append-only/)
  await assert.rejects(database.rows(sql`update audit_log set actor = 'nobody'`), /append-only/)
})

async function headersOf(limits: WantedLimits) {
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'sandbox', limits)
  return { 'client-id': clientId, 'client-secret': clientSecret }
}

/** The routes of the API with the scopes that the OpenAPI document names for them. */
function operations() {
  const paths = app.swagger().paths as Record<string, Record<string, { security?: { clientSecret: string[] }[] }>>
  return Object.entries(paths)
    .filter(([path]) => path.startsWith('/payments/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { security }]) => ({
        method: method.toUpperCase() as 'GET',
        url: path.replaceAll(/\{\w+\}/g, 'unknown'),
        scope: security?.[0]?.clientSecret[0],
      })),
    )
}

test('F9: each scope opens the routes that declare it, and no others', async () => {
  const routes = operations()
  assert.ok(routes.length > 30)
  assert.deepEqual(new Set(routes.map(({ scope }) => scope)), new Set(CREDENTIAL_SCOPES))
  for (const only of CREDENTIAL_SCOPES) {
    const headers = await headersOf({ scopes: [only] })
    for (const { method, url, scope } of routes) {
      const { status, body } = await call(app, method, url, { headers })
      const what = `${method} ${url} with ${only}`
      if (scope === only) assert.ok(status !== 401 && status !== 403 && status < 500, `${what}: ${status}`)
      else {
        assert.deepEqual([status, body.code, body.missingScope], [403, 'insufficient_scope', scope], what)
        assert.ok(body.detail.includes(scope), what)
      }
    }
  }
})

test('a route without a scope fails at start', () => {
  const broken = Fastify() as unknown as App
  declareScopes(broken)
  assert.throws(() => broken.get('/new', () => ({})), /GET \/new: add its scope/)
})

test('a credential has all scopes by default, also one that an older version made', async () => {
  const { clientId } = await createCredential(parts, 'test', shop.merchantId, 'sandbox')
  await database.rows(sql`
    insert into credentials (client_id, merchant_id, mode, secret_digest)
    select 'cid_sandbox_old', merchant_id, mode, secret_digest from credentials where client_id = ${clientId}`)
  const rows = await database.rows<{ scopes: string[] }>(
    sql`select scopes from credentials where client_id in (${clientId}, 'cid_sandbox_old')`,
  )
  assert.deepEqual(rows, [{ scopes: [...CREDENTIAL_SCOPES] }, { scopes: [...CREDENTIAL_SCOPES] }])
})

test('F10: a credential is refused from the moment at which it expires, cached or not', async () => {
  let nowMs = 0
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const { clientId, clientSecret } = await createCredential(parts, 'test', shop.merchantId, 'sandbox', {
    expiresAt: inAnHour,
  })
  const verify = credentialVerifier(database, () => nowMs)
  const caller = await verify(clientId, clientSecret)
  const use = () => caller?.checkUse?.('payments:read', { ip: '127.0.0.1' })
  use()
  nowMs = 3_590_000
  use()
  nowMs = 3_600_000
  assert.throws(use, { code: 'credential_expired' })

  const headers = { 'client-id': clientId, 'client-secret': clientSecret }
  assert.equal((await list(headers)).status, 200)
  await database.rows(sql`update credentials set expires_at = now() where client_id = ${clientId}`)
  const { status, body } = await call(await startOn(database), 'GET', '/payments/v1/payments', { headers })
  assert.deepEqual([status, body.code], [401, 'credential_expired'])
  const wrong = await list({ ...headers, 'client-secret': 'wrong' })
  assert.equal(wrong.body.code, 'invalid_credentials', 'only the holder of the secret learns that it has expired')
})

test('F11: a credential works from its allowed addresses only, as TRUST_PROXY shows them', async () => {
  const allowedAddresses = ['203.0.113.7', '10.0.0.0/8', '2001:DB8::/32', '::ffff:192.0.2.0/120']
  const headers = await headersOf({ allowedAddresses })
  const behindProxy = await startOn(database, { trustProxy: ['127.0.0.1'] })
  const from = (ip: string) =>
    call(behindProxy, 'GET', '/payments/v1/payments', { headers: { ...headers, 'x-forwarded-for': ip } })
  for (const ip of ['203.0.113.7', '10.255.0.1', '::ffff:10.1.2.3', '::ffff:a00:1', '2001:db8:5::1', '192.0.2.200'])
    assert.equal((await from(ip)).status, 200, ip)
  for (const ip of ['203.0.113.8', '11.0.0.1', '::ffff:11.0.0.1', '2001:db9::1', '192.0.3.1', 'unknown', '::1']) {
    const { status, body } = await from(ip)
    assert.deepEqual([status, body.code], [403, 'address_not_allowed'], ip)
    assert.ok(body.detail.includes(ip))
  }
  // Without a trusted proxy the header proves nothing.
  const spoofed = await list({ ...headers, 'x-forwarded-for': '203.0.113.7' } as Record<string, string>)
  assert.deepEqual([spoofed.status, spoofed.body.code], [403, 'address_not_allowed'])
})

test('mistakes in the limits of a credential are named', () => {
  const now = new Date('2026-06-01T00:00:00Z')
  const mistakes = (wanted: WantedLimits) => {
    try {
      parseLimits(wanted, now)
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  assert.match(mistakes({ scopes: [] }) ?? '', /at least one scope/)
  assert.match(mistakes({ scopes: ['payments'] }) ?? '', /has no "payments": there are payments:write/)
  for (const expiresAt of ['2026-06-01T00:00:00Z', '2025-01-01', 'tomorrow', '9'])
    assert.match(mistakes({ expiresAt }) ?? '', /a time in the future/, expiresAt)
  // Date would read a later time in them, or one in the zone of this machine.
  for (const expiresAt of ['2027-01-31 junk', '2027-02-31', '2027-01-31T12:00', '2027-01-31 12:00'])
    assert.match(mistakes({ expiresAt }) ?? '', /a time in the future/, expiresAt)
  assert.equal(parseLimits({ expiresAt: '2027-01-31' }, now).expiresAt?.toISOString(), '2027-01-31T00:00:00.000Z')
  const inLagos = parseLimits({ expiresAt: '2027-01-31T12:00+01:00' }, now)
  assert.equal(inLagos.expiresAt?.toISOString(), '2027-01-31T11:00:00.000Z')
  for (const wrong of [
    '10.0.0.0/33',
    '10.0.0/8',
    '2001:db8::/129',
    'fe80::1%eth0',
    'shop.example',
    '10.0.0.1/8/9',
    '/8',
    '',
    ' ',
  ])
    assert.match(mistakes({ allowedAddresses: [wrong] }) ?? '', /write an address/, wrong)
  const many = Array.from({ length: 51 }, (_, index) => `10.0.0.${index}`)
  assert.match(mistakes({ allowedAddresses: many }) ?? '', /at most 50/)
  assert.equal(mistakes({ allowedAddresses: [...many.slice(1), ' 10.0.0.1 '], expiresAt: '2026-06-02' }), undefined)
})

test('an empty entry in the limits of a credential does not make one without limits', async () => {
  for (const wanted of [{ allowedAddresses: [''] }, { allowedAddresses: ['', '10.0.0.1'] }, { expiresAt: '' }])
    assert.throws(() => createCredential(parts, 'test', shop.merchantId, 'sandbox', wanted), /an address|a time/)
  const { id } = await addMember(database, { role: 'owner', merchantId: shop.merchantId })
  const owner = await signedInBrowser(app, database, id)
  const path = `/merchants/${shop.merchantId}/sandbox/api-keys`
  for (const wanted of [{ allowedAddresses: [''] }, { expiresAt: '' }, { scopes: [''] }, { scopes: [] }])
    assert.equal((await owner.call('POST', path, wanted)).status, 400, JSON.stringify(wanted))
  for (const events of [[''], [' ']]) {
    const body = { url: 'https://shop.example/hook', events }
    const { status } = await call(app, 'POST', '/payments/v1/webhook-endpoints', { headers: shop.headers, body })
    assert.equal(status, 400)
  }
})

test('a merchant has at most 50 API keys in a mode, and makes at most 100 a day', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await signedInBrowser(app, database, id)
  const path = `/merchants/${merchantId}/sandbox/api-keys`
  const make = () => owner.call('POST', path, {})
  for (let number = 2; number <= 50; number++) assert.equal((await make()).status, 201)
  const { status, body } = await make()
  assert.deepEqual([status, body.code], [409, 'conflict'])
  assert.match(body.detail, /50 API keys.*Replace or revoke one/)
  await assert.rejects(createCredential(parts, 'test', merchantId, 'sandbox'), /50 API keys/)
  assert.ok(await createCredential(parts, 'cli:test', merchantId, 'sandbox', { isByOperator: true }))
  assert.ok((await createCredential(parts, 'test', merchantId, 'live')).clientId, 'the other mode has its own')
  await database.rows(sql`update credentials set revoked_at = now() where merchant_id = ${uuidOf(merchantId)}`)
  for (let number = 52; number <= 100; number++) assert.equal((await make()).status, 201)
  await database.rows(sql`update credentials set revoked_at = now() where merchant_id = ${uuidOf(merchantId)}`)
  assert.match((await make()).body.detail, /100 API keys in 24 hours/)
  assert.ok(await createCredential(parts, 'cli:test', merchantId, 'sandbox', { isByOperator: true }))
})

test('a merchant with 50 API keys can replace one, which works for one day more', async () => {
  const [merchant, other] = [await addMerchant(database), await addMerchant(database)]
  const { merchantId } = merchant
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await signedInBrowser(app, database, id)
  const path = `/merchants/${merchantId}/sandbox/api-keys`
  for (let number = 2; number <= 50; number++) await createCredential(parts, 'test', merchantId, 'sandbox')
  assert.equal((await owner.call('POST', path, {})).status, 409)
  const foreign = await owner.call('POST', path, { replaces: other.headers['client-id'] })
  assert.deepEqual([foreign.status, foreign.body.code], [404, 'not_found'])

  const replaces = merchant.headers['client-id']
  const { status, body } = await owner.call('POST', path, { replaces })
  assert.equal(status, 201)
  const keys: { clientId: string; expiresAt: string | null }[] = (await owner.call('GET', path)).body.data
  const ending = keys.filter(({ expiresAt }) => expiresAt !== null)
  assert.deepEqual(
    ending.map(({ clientId }) => clientId),
    [replaces],
  )
  assert.ok(Math.abs(Date.parse(ending[0]?.expiresAt ?? '') - Date.now() - 86_400_000) < 60_000)
  assert.equal((await call(app, 'GET', '/payments/v1/payments', { headers: merchant.headers })).status, 200)
  const headers = { 'client-id': body.data.clientId, 'client-secret': body.data.clientSecret }
  assert.equal((await call(app, 'GET', '/payments/v1/payments', { headers })).status, 200)
  assert.equal((await owner.call('POST', path, {})).status, 409, 'fifty that stay')
})
