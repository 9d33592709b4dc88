import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import type { MerchantId } from '../../src/kernel/ids.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { createWelcomeLink } from '../../src/members/one-time-links.ts'
import { type Authenticator, newAuthenticator } from '../support/authenticator.ts'
import { type DashboardBrowser, newBrowser, PASSWORD, tokenOf, totpCode } from '../support/dashboard.ts'
import { addMerchant, BASE_URL, call, startOn, startService } from '../support/service.ts'

// Each look at the clock that matters is 30 s after the one before, so that every code is a new one.
let nowMs = Date.now()
const clock = { now: () => new Date(nowMs) }
const { app, database } = await startService({ clock })
const EMAIL = 'ada@example.com'

let merchantId: MerchantId
/** Ada has a password, a passkey and an authenticator app. */
let secret = ''
let recoveryCodes: string[] = []
const passkey: Authenticator = newAuthenticator()

function nextCode(): string {
  nowMs += 30_000
  return totpCode(secret, clock.now())
}

async function withPassword(browser: DashboardBrowser = newBrowser(app)): Promise<DashboardBrowser> {
  const { status, body } = await browser.call('POST', '/sign-in/password', { email: EMAIL, password: PASSWORD })
  assert.equal(status, 200, JSON.stringify(body))
  return browser
}

async function signIn(browser: DashboardBrowser = newBrowser(app)): Promise<DashboardBrowser> {
  await withPassword(browser)
  const { status } = await browser.call('POST', '/sign-in/second-factor', { code: nextCode() })
  assert.equal(status, 200)
  return browser
}

const sessionOf = (browser: DashboardBrowser) => browser.call('GET', '/session')
const tokenIn = ({ cookies }: DashboardBrowser) => cookies.get('manilla_session')

async function forgetTries(): Promise<void> {
  await database.rows(sql`delete from sign_in_tries`)
}

before(async () => {
  merchantId = (await addMerchant(database)).merchantId
})

test('I6: the welcome link makes the owner and operator once, with all mistakes named', async () => {
  const link = await createWelcomeLink({ database, clock, baseUrl: () => BASE_URL }, 'test', merchantId)
  assert.match(link?.url ?? '', /^http:\/\/pay\.test\/dashboard\/welcome#[\w-]{43}$/)
  const token = tokenOf(link?.url ?? '')
  const browser = newBrowser(app)
  const read = await browser.call('POST', '/welcome/read', { token })
  assert.deepEqual(read.body.data.kind, 'welcome')

  const wrong = await browser.call('POST', '/welcome', { token, name: ' ', email: 'ada', password: PASSWORD })
  assert.deepEqual(
    wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/name', '/email'],
  )
  const account = { token, name: 'Ada', email: ' Ada@Example.com ', password: PASSWORD }
  for (const password of ['short', 'aaaaaaaaaaaaaaaa', 'ada@example.com', 'passwordpassword'])
    assert.equal((await browser.call('POST', '/welcome', { ...account, password })).status, 400, password)
  const both = await Promise.all([1, 2].map(() => newBrowser(app).call('POST', '/welcome', account)))
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 404], 'one of two at once')
  assert.equal((await browser.call('POST', '/welcome', account)).status, 404, 'used')
  assert.equal((await browser.call('POST', '/welcome/read', { token })).status, 404)
  assert.equal(await createWelcomeLink({ database, clock, baseUrl: () => BASE_URL }, 'test', merchantId), undefined)

  const signedIn = await withPassword()
  const { body } = await sessionOf(signedIn)
  assert.deepEqual([body.data.member.email, body.data.member.operator], [EMAIL, true])
  assert.deepEqual(body.data.merchants[0].role, 'owner')
  assert.ok(body.data.merchants[0].permissions.includes('ownership'))
})

test('a link that has expired is refused', async () => {
  const other = (await addMerchant(database)).merchantId
  const link = await createWelcomeLink({ database, clock, baseUrl: () => BASE_URL }, 'test', other)
  await database.rows(sql`update one_time_links set expires_at = now() where merchant_id = ${uuidOf(other)}`)
  const answer = await newBrowser(app).call('POST', '/welcome/read', { token: tokenOf(link?.url ?? '') })
  assert.equal(answer.status, 404)
})

test('an authenticator app counts after its first code and comes with ten recovery codes', async () => {
  const browser = await withPassword()
  const { data } = (await browser.call('POST', '/account/totp')).body
  secret = data.secret
  assert.match(data.address, /^otpauth:\/\/totp\/Manilla:ada%40example\.com\?/)
  assert.equal((await browser.call('POST', '/account/totp/confirm', { code: '000000' })).status, 401)
  const confirmed = await browser.call('POST', '/account/totp/confirm', { code: nextCode() })
  recoveryCodes = confirmed.body.data.codes
  assert.equal(new Set(recoveryCodes).size, 10)
  const stored = await database.rows<{ line: string }>(sql`
    select m::text as line from members m union all select r::text from recovery_codes r`)
  const text = stored.map(({ line }) => line).join()
  for (const hidden of [secret, PASSWORD, ...recoveryCodes]) assert.ok(!text.includes(hidden))
})

test('I7: a half-finished session can do nothing but finish, in particular not enrol a factor', async () => {
  const browser = await withPassword()
  const { body } = await sessionOf(browser)
  assert.deepEqual(body.data, {
    ...{ state: 'second-factor', methods: ['totp', 'recovery-code'], confirmed: false },
    ...{ member: null, merchants: [] },
  })
  for (const [method, path] of [
    ['GET', '/sessions'],
    ['POST', '/account/totp'],
    ['POST', '/account/passkeys/options'],
    ['POST', '/step-up'],
    ['PUT', '/account/password'],
    ['GET', `/merchants/${merchantId}/members`],
  ] as const) {
    const answer = await browser.call(method, path, method === 'GET' ? undefined : {})
    assert.deepEqual([answer.status, answer.body.code], [401, 'not_signed_in'], path)
  }
  await database.rows(sql`update sessions set expires_at = now() where not complete`)
  assert.equal((await browser.call('POST', '/sign-in/second-factor', { code: nextCode() })).status, 401, '10 minutes')
})

test('I6: a code works once, a step early or late, and not for a second sign-in', async () => {
  const code = nextCode()
  const first = await withPassword()
  assert.equal((await first.call('POST', '/sign-in/second-factor', { code })).status, 200)
  const second = await withPassword()
  assert.equal((await second.call('POST', '/sign-in/second-factor', { code })).status, 401, 'reused')
  nowMs += 60_000
  const early = totpCode(secret, new Date(nowMs + 30_000))
  const late = totpCode(secret, clock.now())
  assert.equal((await second.call('POST', '/sign-in/second-factor', { code: early })).status, 200)
  const third = await withPassword()
  assert.equal((await third.call('POST', '/sign-in/second-factor', { code: late })).status, 401, 'an older step')
  nowMs += 120_000
  const old = totpCode(secret, new Date(nowMs - 60_000))
  assert.equal((await third.call('POST', '/sign-in/second-factor', { code: old })).status, 401)
})

test('I6: a recovery code works once, in any spelling', async () => {
  await forgetTries()
  const [code = ''] = recoveryCodes
  const spelt = code.toUpperCase().replaceAll('-', ' ')
  const browser = await withPassword()
  assert.equal((await browser.call('POST', '/sign-in/second-factor', { recoveryCode: spelt })).status, 200)
  const { body } = await browser.call('GET', '/account/second-factors')
  assert.equal(body.data.recoveryCodesLeft, 9)
  const again = await withPassword()
  assert.equal((await again.call('POST', '/sign-in/second-factor', { recoveryCode: code })).status, 401)
})

test('I3: every sign-in and step-up gives another token, and the old one is dead (session fixation)', async () => {
  await forgetTries()
  const browser = newBrowser(app)
  browser.cookies.set('manilla_session', 'A'.repeat(43))
  await withPassword(browser)
  const half = tokenIn(browser)
  assert.notEqual(half, 'A'.repeat(43))
  assert.equal((await browser.call('POST', '/sign-in/second-factor', { code: nextCode() })).status, 200)
  const whole = tokenIn(browser)
  assert.notEqual(whole, half)
  assert.equal((await browser.call('POST', '/step-up', { code: nextCode() })).status, 204)
  assert.notEqual(tokenIn(browser), whole)
  for (const old of [half, whole]) {
    const thief = newBrowser(app)
    thief.cookies.set('manilla_session', old ?? '')
    assert.equal((await sessionOf(thief)).status, 401)
  }
  const before = tokenIn(browser)
  await signIn(browser)
  const thief = newBrowser(app)
  thief.cookies.set('manilla_session', before ?? '')
  assert.equal((await sessionOf(thief)).status, 401, 'a new sign-in ends the old session of the browser')
})

test('I3: a session ends after 12 idle hours and after 7 days, and can be listed and revoked', async () => {
  const [idle, old, listed, other] = [await signIn(), await signIn(), await signIn(), await signIn()]
  const idOf = async (browser: DashboardBrowser) =>
    (await browser.call('GET', '/sessions')).body.data.find(({ current }: { current: boolean }) => current).id
  const [idleId, oldId, otherId] = [await idOf(idle), await idOf(old), await idOf(other)]
  await database.rows(sql`
    update sessions set last_seen_at = now() - interval '12 hours 1 second' where id = ${uuidOf(idleId)}`)
  await database.rows(sql`update sessions set expires_at = now() where id = ${uuidOf(oldId)}`)
  assert.deepEqual([(await sessionOf(idle)).status, (await sessionOf(old)).status], [401, 401])
  const { data } = (await listed.call('GET', '/sessions')).body
  assert.ok(data.some(({ id }: { id: string }) => id === otherId))
  assert.ok(!data.some(({ id }: { id: string }) => id === idleId || id === oldId))
  const [{ left }] = (await database.rows<{ left: number }>(sql`
    select round(extract(epoch from expires_at - created_at))::int as left from sessions
     where id = ${uuidOf(otherId)}`)) as [{ left: number }]
  assert.equal(left, 7 * 86_400)

  assert.equal((await listed.call('DELETE', `/sessions/${otherId}`)).status, 204)
  assert.equal((await sessionOf(other)).status, 401)
  assert.equal((await listed.call('DELETE', `/sessions/${otherId}`)).status, 404)
  const second = await signIn()
  assert.equal((await listed.call('DELETE', '/sessions')).status, 204)
  assert.deepEqual([(await sessionOf(second)).status, (await sessionOf(listed)).status], [401, 200])
  assert.equal((await listed.call('POST', '/sign-out')).status, 204)
  assert.equal(tokenIn(listed), undefined)
})

test('a stolen or invented cookie, and one of another name, open nothing', async () => {
  for (const value of ['', 'x', 'A'.repeat(43), '%00', '"quoted"', 'a=b']) {
    const browser = newBrowser(app)
    browser.cookies.set('manilla_session', value)
    assert.equal((await sessionOf(browser)).status, 401, value)
  }
  const browser = await signIn()
  const moved = newBrowser(app)
  moved.cookies.set('__Host-manilla_session', tokenIn(browser) ?? '')
  assert.equal((await sessionOf(moved)).status, 401, 'http uses the plain name')
})

test('with https the cookie is __Host-, Secure, HttpOnly and SameSite=Lax', async () => {
  const secure = await startOn(database, { clock, baseUrl: () => 'https://pay.test' })
  const browser = newBrowser(secure, { origin: 'https://pay.test' })
  const { headers } = await browser.call('POST', '/sign-in/password', { email: EMAIL, password: PASSWORD })
  assert.match(
    String(headers['set-cookie']),
    /^__Host-manilla_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/,
  )
})

test('I2: CSRF: another origin, another site, a missing Origin and a form are refused', async () => {
  const browser = await signIn()
  const refused: [Record<string, string>, number][] = [
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'http://pay.test.evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: '' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ 'sec-fetch-site': 'none' }, 403],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': 'text/plain; application/json' }, 415],
    [{ 'content-type': '' }, 415],
  ]
  for (const [headers, status] of refused) {
    const answer = await browser.call('DELETE', '/sessions', undefined, headers)
    assert.equal(answer.status, status, JSON.stringify(headers))
  }
  const cookie = `manilla_session=${tokenIn(browser)}`
  const untyped = await call(app, 'DELETE', '/dashboard/api/sessions', { headers: { origin: BASE_URL, cookie } })
  assert.equal(untyped.status, 415, 'no Content-Type')
  assert.equal((await browser.call('GET', '/session', undefined, { 'sec-fetch-site': 'cross-site' })).status, 403)
  const { status, headers } = await browser.call('DELETE', '/sessions')
  assert.deepEqual([status, headers['cache-control']], [204, 'no-store'])
  const preflight = await call(app, 'OPTIONS', '/dashboard/api/sessions', {
    headers: { origin: 'https://evil.example' },
  })
  assert.equal(preflight.headers['access-control-allow-origin'], undefined)
})

test('I6: a passkey signs in without a name, once per challenge, and is a second factor', async () => {
  const owner = await signIn()
  const options = (await owner.call('POST', '/account/passkeys/options')).body.data
  assert.deepEqual([options.rp.id, options.user.name], ['pay.test', EMAIL])
  const elsewhere = newAuthenticator().create(options, 'https://evil.example')
  const refused = await owner.call('POST', '/account/passkeys', { name: 'Laptop', passkey: elsewhere })
  assert.equal(refused.status, 401, 'registered on another origin')
  const made = passkey.create(options, BASE_URL)
  const added = await owner.call('POST', '/account/passkeys', { name: 'Laptop', passkey: made })
  assert.equal(added.status, 201)

  const browser = newBrowser(app)
  const request = (await browser.call('POST', '/sign-in/passkey-options')).body.data
  assert.deepEqual(request.allowCredentials ?? [], [], 'no account is named')
  const signature = passkey.get(request, BASE_URL)
  const answer = await browser.call('POST', '/sign-in/passkey', { passkey: signature })
  assert.deepEqual([answer.status, answer.body.data.state], [200, 'signed-in'])
  assert.equal((await sessionOf(browser)).body.data.member.email, EMAIL)
  assert.equal((await newBrowser(app).call('POST', '/sign-in/passkey', { passkey: signature })).status, 401, 'replayed')

  const half = await withPassword()
  const second = (await half.call('POST', '/sign-in/second-factor/passkey-options')).body.data
  assert.equal(second.allowCredentials.length, 1)
  const wrongPurpose = await newBrowser(app).call('POST', '/sign-in/passkey', {
    passkey: passkey.get(second, BASE_URL),
  })
  assert.equal(wrongPurpose.status, 401, 'a challenge is for one purpose')
  const finished = await half.call('POST', '/sign-in/second-factor', { passkey: passkey.get(second, BASE_URL) })
  assert.equal(finished.status, 200)
})

test('a passkey of another origin, host, account or challenge, or without verification, is refused', async () => {
  const browser = newBrowser(app)
  const options = async () => (await browser.call('POST', '/sign-in/passkey-options')).body.data
  const attempts = {
    origin: passkey.get(await options(), 'https://evil.example'),
    port: passkey.get(await options(), 'http://pay.test:8080'),
    host: passkey.get({ ...(await options()), rpId: 'evil.example' }, BASE_URL),
    'invented challenge': passkey.get({ challenge: 'aGVsbG8', rpId: 'pay.test' }, BASE_URL),
    'unverified user': passkey.get(await options(), BASE_URL, { isVerified: false }),
    'unknown passkey': newAuthenticator().get(await options(), BASE_URL),
    'another key with its id': {
      ...newAuthenticator().get(await options(), BASE_URL),
      id: passkey.get({ challenge: '' }, '').id,
      rawId: passkey.get({ challenge: '' }, '').id,
    },
  }
  for (const [what, signature] of Object.entries(attempts))
    assert.equal((await browser.call('POST', '/sign-in/passkey', { passkey: signature })).status, 401, what)
  const late = passkey.get(await options(), BASE_URL)
  nowMs += 301_000
  assert.equal((await browser.call('POST', '/sign-in/passkey', { passkey: late })).status, 401, 'after 5 minutes')
  assert.equal(tokenIn(browser), undefined)
})

test('step-up: after 10 minutes a sensitive change needs a fresh factor', async () => {
  const browser = await signIn()
  await database.rows(sql`update sessions set confirmed_at = now() - interval '10 minutes 1 second'`)
  const refused = await browser.call('POST', '/account/recovery-codes')
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'])
  assert.deepEqual(refused.body.methods, ['passkey', 'totp', 'recovery-code'])
  assert.equal((await browser.call('POST', '/step-up', { password: PASSWORD })).status, 401, 'a password is not enough')
  const request = (await browser.call('POST', '/step-up/passkey-options')).body.data
  assert.equal((await browser.call('POST', '/step-up', { passkey: passkey.get(request, BASE_URL) })).status, 204)
  const renewed = await browser.call('POST', '/account/recovery-codes')
  assert.equal(renewed.status, 200)
  const old = await withPassword()
  const [, unused] = recoveryCodes
  assert.equal((await old.call('POST', '/sign-in/second-factor', { recoveryCode: unused })).status, 401, 'replaced')
  recoveryCodes = renewed.body.data.codes
})

test('a new password ends all other sessions', async () => {
  await forgetTries()
  const [browser, other] = [await signIn(), await signIn()]
  const before = tokenIn(browser)
  const password = `${PASSWORD} again`
  assert.equal((await browser.call('PUT', '/account/password', { password })).status, 204)
  assert.notEqual(tokenIn(browser), before)
  assert.deepEqual([(await sessionOf(browser)).status, (await sessionOf(other)).status], [200, 401])
  const old = await newBrowser(app).call('POST', '/sign-in/password', { email: EMAIL, password: PASSWORD })
  assert.equal(old.status, 401)
  assert.equal((await browser.call('PUT', '/account/password', { password: PASSWORD })).status, 204)
})

test('I9: sign-ins, refusals and changes are in the audit log with member and address', async () => {
  const acts = await database.rows<{ act: string; actor: string; address: string | null }>(sql`
    select distinct act, actor, address from audit_log
     where merchant_id = ${uuidOf(merchantId)} and actor like 'member:%' order by act`)
  assert.deepEqual(
    acts.map(({ act }) => act),
    [
      ...['member.joined', 'member.passkey_added', 'member.password_changed', 'member.recovery_codes_renewed'],
      ...['member.totp_added', 'session.confirmed', 'session.ended', 'session.started', 'sign_in.refused'],
    ],
  )
  assert.ok(acts.every(({ address }) => address === '127.0.0.1'))
})

test('/ leads a browser to the dashboard, and an API client gets the 404', async () => {
  const visit = (accept: string) => call(app, 'GET', '/', { headers: { accept } })
  const browser = await visit('text/html,application/xhtml+xml,*/*;q=0.8')
  assert.deepEqual([browser.status, browser.headers.location], [302, `${BASE_URL}/dashboard`])
  for (const accept of ['*/*', 'application/json'])
    assert.deepEqual([(await visit(accept)).status, (await visit(accept)).body.code], [404, 'not_found'])
  const shell = await call(app, 'GET', '/dashboard/welcome')
  assert.equal(shell.status, 200)
  const policy = String(shell.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.equal((await call(app, 'GET', '/dashboard/api/nothing')).status, 404)
})
