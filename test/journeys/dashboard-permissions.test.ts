import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { sql } from '../../src/database/sql.ts'
import { cookieJar } from '../../src/http/dashboard/cookies.ts'
import { guardRoutes } from '../../src/http/dashboard/guard.ts'
import type { App } from '../../src/http/server/framework.ts'
import { Limits } from '../../src/http/server/limits.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type MemberId, uuidOf } from '../../src/kernel/ids.ts'
import { MODES } from '../../src/kernel/mode.ts'
import { setOperator } from '../../src/members/manage-members.ts'
import { PERMISSIONS, ROLES, type Role } from '../../src/members/permissions.ts'
import { addMember, type DashboardBrowser, newBrowser, signedInBrowser } from '../support/dashboard.ts'
import { addParty, bodiesFor, type Party, pathOf, type Route, registeredRoutes } from '../support/dashboard-parties.ts'
import { eventually } from '../support/paying.ts'
import { type Answer, addMerchant, BASE_URL, startService } from '../support/service.ts'

const { app, database } = await startService({ sendMail: async () => {} })
const parts = { database, clock: systemClock, baseUrl: () => BASE_URL }

const routes = await registeredRoutes(database)
const isOfMerchant = ({ access }: Route) => access in PERMISSIONS
const nameOf = ({ method, url }: Pick<Route, 'method' | 'url'>) => `${method} ${url}`

const [own, other] = [await addParty(database), await addParty(database)]

const BODIES = bodiesFor(other)

function modesOf({ url }: Route): readonly string[] {
  return url.includes(':mode') ? MODES : ['']
}

function send(browser: DashboardBrowser, { method }: Route, path: string, body?: unknown): Promise<Answer> {
  return browser.call(method, path, method === 'GET' ? undefined : (body ?? {}))
}

/** The guard runs before the body is read: a refusal of the body shows that the guard let the request pass. */
const INVALID = 'not an object'

test('I1: every endpoint declares its access; one without it fails at start', async () => {
  assert.ok(routes.length > 30)
  assert.deepEqual(
    routes.filter(({ access }) => !access),
    [],
  )
  const bare = (config: object, url: string) => {
    const broken = Fastify() as unknown as App
    guardRoutes(broken, { ...parts, limits: new Limits(false), cookies: {} as never, later: () => {} })
    return () => broken.get(url, { config }, () => ({}))
  }
  assert.throws(bare({}, '/new'), /GET \/new: config\.access is not declared/)
  assert.throws(bare({ access: 'read' }, '/new'), /needs \/merchants\/:merchant in the path/)
})

test('without a session every endpoint but the public ones is 401', async () => {
  for (const route of routes.filter(({ access }) => access !== 'public'))
    for (const mode of modesOf(route)) {
      const { status, body } = await send(
        newBrowser(app),
        route,
        pathOf(route, own.merchantId, mode, withSessions(own)),
      )
      assert.deepEqual([status, body.code], [401, 'not_signed_in'], nameOf(route))
    }
})

function withSessions(party: Party): Party {
  return { ...party, objects: { ...party.objects, session: 'ses_x', passkey: 'pky_x' } }
}

for (const role of ROLES) {
  test(`I1: ${role}: each endpoint in each mode, of the own and of another merchant`, async () => {
    const browser = await signedInBrowser(app, database, own.members[role])
    for (const route of routes.filter(isOfMerchant)) {
      const mayDo = (PERMISSIONS as Record<string, readonly Role[]>)[route.access]?.includes(role)
      for (const mode of modesOf(route)) {
        const what = `${role} ${nameOf(route)} ${mode}`
        // A body that is refused: permission is decided, and nothing changes. Without a body an unknown object is
        // named.
        const path = pathOf(route, own.merchantId, mode, route.hasBody ? own : other)
        const mine = await send(browser, route, path, route.hasBody ? INVALID : undefined)
        if (mayDo) assert.ok(![401, 403].includes(mine.status) && mine.status < 500, `${what}: ${mine.status}`)
        else assert.deepEqual([mine.status, mine.body.code], [403, 'forbidden'], what)

        const foreign = await send(browser, route, pathOf(route, other.merchantId, mode, other), BODIES[nameOf(route)])
        assert.deepEqual([foreign.status, foreign.body.code], [404, 'not_found'], `${what} of another merchant`)
      }
    }
  })
}

test("I1: in the own merchant, another merchant's objects are not found and stay as they are", async () => {
  const state = () =>
    database.rows(sql`
      select member_id::text, role from memberships where merchant_id = ${uuidOf(other.merchantId)}
      union all select id::text, used_at::text from one_time_links where merchant_id = ${uuidOf(other.merchantId)}
      union all select client_id, revoked_at::text from credentials where merchant_id = ${uuidOf(other.merchantId)}
      union all select id::text, version::text from payments where merchant_id = ${uuidOf(other.merchantId)}
      union all select id::text, url || enabled from webhook_endpoints where merchant_id = ${uuidOf(other.merchantId)}
      union all select id::text, active::text from links where merchant_id = ${uuidOf(other.merchantId)}
      union all select id::text, last4 from saved_cards where merchant_id = ${uuidOf(other.merchantId)}
      order by 1`)
  const before = await state()
  const browser = await signedInBrowser(app, database, own.members.owner)
  let tried = 0
  for (const route of routes.filter(isOfMerchant)) {
    const names = [...route.url.matchAll(/:(\w+)/g)].map(([, name]) => name)
    const body = BODIES[nameOf(route)]
    assert.ok(!route.hasBody || body, `a valid body for ${nameOf(route)}: add one to BODIES`)
    // The names of providers are the same for all merchants.
    const namesObject =
      names.some((name) => !['merchant', 'mode', 'provider'].includes(name ?? '')) || nameOf(route).includes('/owner')
    if (!namesObject) continue
    for (const mode of modesOf(route)) {
      const { status } = await send(browser, route, pathOf(route, own.merchantId, mode, other), body)
      assert.equal(status, 404, nameOf(route))
      tried++
    }
    // An object of the other mode is as unknown as one of another merchant.
    if (!names.includes('mode')) continue
    for (const mode of MODES) {
      const path = pathOf(route, own.merchantId, mode, own, mode === 'live' ? 'sandbox' : 'live')
      assert.equal((await send(browser, route, path, body)).status, 404, `${nameOf(route)} ${mode}`)
    }
  }
  assert.ok(tried >= 30)
  assert.deepEqual(await state(), before)
})

test('own sessions and passkeys only: those of another member are not found', async () => {
  const victim = await signedInBrowser(app, database, own.members.admin)
  const [{ id }] = (await victim.call('GET', '/sessions')).body.data
  const browser = await signedInBrowser(app, database, own.members.owner)
  assert.equal((await browser.call('DELETE', `/sessions/${id}`)).status, 404)
  assert.equal((await browser.call('DELETE', `/account/passkeys/${id}`)).status, 409, 'no other way to sign in')
  assert.equal((await victim.call('GET', '/session')).status, 200)
})

test('I7: each endpoint with step-up refuses a proof that is older than 10 minutes, and a member without a factor', async () => {
  const browser = await signedInBrowser(app, database, own.members.owner)
  await database.rows(sql`
    update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(own.members.owner)}`)
  const plain = await addMember(database, { role: 'admin', merchantId: own.merchantId, totp: false })
  const bare = await signedInBrowser(app, database, plain.id)
  const sensitive = routes.filter(({ stepUp, access }) => stepUp && access !== 'operator')
  assert.ok(sensitive.length >= 15)
  for (const route of sensitive) {
    for (const mode of modesOf(route)) {
      const path = pathOf(route, own.merchantId, mode, withSessions(other))
      const { status, body } = await send(browser, route, path, BODIES[nameOf(route)])
      const isFree = route.stepUp === 'second-factor in live mode' && mode === 'sandbox'
      if (isFree) assert.ok(status < 500 && status !== 403, nameOf(route))
      else assert.deepEqual([status, body.code], [403, 'step_up_required'], nameOf(route))
      if (isFree || route.stepUp === 'identity' || route.access === 'ownership') continue
      const answer = await send(bare, route, path, BODIES[nameOf(route)])
      assert.deepEqual([answer.status, answer.body.code], [403, 'second_factor_required'], nameOf(route))
    }
  }
})

test('what needs a fresh factor to be added needs one to be changed or removed, such as a live webhook', async () => {
  const harmless = ['POST …/webhook-endpoints/:id/test', 'POST …/integrations/:provider/check']
  const short = (route: Route) => nameOf(route).replace('/merchants/:merchant/:mode', '…')
  const changing = routes.filter((route) => route.method !== 'GET' && !harmless.includes(short(route)))
  const collections = Map.groupBy(changing, ({ url }) => url.replace(/\/:(?!merchant|mode)\w+.*$/, ''))
  const uneven = [...collections.values()].filter((group) => new Set(group.map(({ stepUp }) => stepUp)).size > 1)
  assert.deepEqual(uneven.flat().map(short), [])

  const { members, merchantId, byMode } = own
  const browser = await signedInBrowser(app, database, members.developer)
  await database.rows(sql`
    update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(members.developer)}`)
  const path = `/merchants/${merchantId}/live/webhook-endpoints/${byMode.live['webhook-endpoints/id']}`
  for (const method of ['PATCH', 'DELETE'] as const) {
    const { status, body } = await browser.call(method, path, { url: 'https://thief.example/hook' })
    assert.deepEqual([status, body.code], [403, 'step_up_required'], method)
  }
})

test('a live refund to an account that a member names needs a fresh second factor, whatever its amount', async () => {
  const { members, merchantId } = own
  const browser = await signedInBrowser(app, database, members.support)
  await database.rows(sql`
    update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(members.support)}`)
  const account = { destinationAccountNumber: '0690000031', destinationAccountBankCode: '058' }
  for (const [path, body] of [
    ['payments/nothing/refunds', { amount: 1 }],
    ['refunds/nothing/retry', {}],
    ['transfers/receipt-999999/return', { amount: 1, byHand: false, note: 'x' }],
  ] as const)
    for (const mode of ['live', 'sandbox'] as const) {
      const ask = { ...body, ...account }
      const { status, body: answer } = await browser.call('POST', `/merchants/${merchantId}/${mode}/${path}`, ask)
      assert.equal(answer.code === 'step_up_required', mode === 'live', `${mode} ${path}: ${status} ${answer.code}`)
    }
})

test('another site that may frame the payment form and an open widget need a fresh proof of identity, other branding not', async () => {
  const browser = await signedInBrowser(app, database, own.members.owner)
  await database.rows(sql`
    update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(own.members.owner)}`)
  const path = `/merchants/${own.merchantId}/branding`
  const refused = await browser.call('PATCH', path, { origins: ['https://thief.example'] })
  assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'])
  assert.equal((await browser.call('PATCH', path, { colour: '#0b6e4f', origins: [], widget: 'strict' })).status, 200)
  const opened = await browser.call('PATCH', path, { widget: 'open' })
  assert.deepEqual([opened.status, opened.body.code], [403, 'step_up_required'])
  assert.equal((await browser.call('GET', path)).body.data.widget, 'strict')
})

test('operator endpoints are for members with the operator flag, whatever their role', async () => {
  const system = Fastify() as unknown as App
  const guarded = { ...parts, limits: new Limits(false), cookies: cookieJar(parts.baseUrl), later: () => {} }
  guardRoutes(system, guarded)
  system.get('/dashboard/api/system', { config: { access: 'operator' } }, () => ({}))
  const { id } = await addMember(database, { role: 'viewer', merchantId: own.merchantId })
  const ask = async (member: MemberId) => (await signedInBrowser(system, database, member)).call('GET', '/system')
  assert.equal((await ask(own.members.owner)).status, 500) // a Problem, without our error handler
  assert.match((await ask(own.members.owner)).body.message, /operators only/)
  await setOperator(parts, 'test', id, { operator: true, force: false })
  assert.equal((await ask(id)).status, 200)
  const browser = await signedInBrowser(app, database, own.members.owner)
  for (const route of routes.filter(({ access }) => access === 'operator'))
    assert.equal((await send(browser, route, pathOf(route, own.merchantId, 'live', own))).status, 403, nameOf(route))
})

test('a refusal by role is in the audit log, once in a while for a script', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'viewer', merchantId })
  const browser = await signedInBrowser(app, database, id)
  for (let time = 0; time < 30; time++) await browser.call('POST', `/merchants/${merchantId}/sandbox/api-keys`)
  const written = () =>
    database.rows<{ actor: string; address: string; subject: string }>(sql`
      select actor, address, subject from audit_log
       where act = 'request.refused' and merchant_id = ${uuidOf(merchantId)}`)
  const rows = await eventually(written, ({ length }) => length >= 20)
  assert.ok(rows.length <= 22)
  const subject = 'POST /dashboard/api/merchants/:merchant/:mode/api-keys'
  assert.deepEqual(rows[0], { actor: `member:${id}`, address: '127.0.0.1', subject })
})

test('a merchant that requires a second factor is closed to members without one', async () => {
  const { merchantId } = await addMerchant(database)
  const owner = await addMember(database, { role: 'owner', merchantId })
  const plain = await addMember(database, { role: 'admin', merchantId, totp: false })
  const browser = await signedInBrowser(app, database, owner.id)
  const members = `/merchants/${merchantId}/members`
  const bare = await signedInBrowser(app, database, plain.id)
  assert.equal((await bare.call('GET', members)).status, 200)
  await browser.call('PUT', `/merchants/${merchantId}/security`, { requireSecondFactor: true })
  const refused = await bare.call('GET', members)
  assert.deepEqual([refused.status, refused.body.code], [403, 'second_factor_required'])
  assert.equal((await bare.call('POST', '/account/passkeys/options')).status, 200, 'a factor can be added')
  assert.equal((await browser.call('GET', members)).status, 200)
})

test('a suspended merchant can be read, not changed', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const browser = await signedInBrowser(app, database, id)
  await database.rows(sql`update merchants set status = 'suspended' where id = ${uuidOf(merchantId)}`)
  assert.equal((await browser.call('GET', `/merchants/${merchantId}/members`)).status, 200)
  const created = await browser.call('POST', `/merchants/${merchantId}/sandbox/api-keys`)
  assert.deepEqual([created.status, created.body.code], [403, 'merchant_suspended'])
})

test('a live API key does no more than the role of the member who made it', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'developer', merchantId })
  const browser = await signedInBrowser(app, database, id)
  const make = (mode: string, scopes?: string[]) =>
    browser.call('POST', `/merchants/${merchantId}/${mode}/api-keys`, { ...(scopes && { scopes }) })
  for (const scope of ['refunds', 'integrations']) {
    const { status, body } = await make('live', ['payments:read', scope])
    assert.deepEqual([status, body.code], [403, 'forbidden'], scope)
    assert.equal((await make('sandbox', [scope])).status, 201)
  }
  assert.equal((await make('live')).status, 201)
  const [made] = (await browser.call('GET', `/merchants/${merchantId}/live/api-keys`)).body.data
  assert.deepEqual(made.scopes, ['payments:write', 'payments:read', 'webhooks', 'cases:read'])
})

test('API keys: created, used, and revoked in their mode', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'developer', merchantId })
  const browser = await signedInBrowser(app, database, id)
  const keys = `/merchants/${merchantId}/live/api-keys`
  const limits = {
    scopes: ['payments:read', 'webhooks'],
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    allowedAddresses: ['203.0.113.7', '2001:db8::/32'],
  }
  const { status, body } = await browser.call('POST', keys, limits)
  assert.equal(status, 201)
  const { clientId, clientSecret } = body.data
  assert.match(clientId, /^cid_live_/)
  const listed = await browser.call('GET', keys)
  assert.deepEqual([listed.body.data.length, listed.body.data[0].clientId], [1, clientId])
  assert.ok(!JSON.stringify(listed.body).includes(clientSecret))
  const { scopes, expiresAt, allowedAddresses, expiresSoon, hasExpired } = listed.body.data[0]
  assert.deepEqual({ scopes, expiresAt, allowedAddresses }, limits)
  assert.deepEqual({ expiresSoon, hasExpired }, { expiresSoon: true, hasExpired: false })
  const overview = await browser.call('GET', `/merchants/${merchantId}/live/overview`)
  assert.equal(overview.body.data.expiringKeys, 1)
  const wrong = { scopes: [], expiresAt: '2020-01-01', allowedAddresses: ['203.0.113.0/33'] }
  const refused = await browser.call('POST', keys, wrong)
  assert.deepEqual(
    [refused.status, refused.body.errors.map(({ pointer }: { pointer: string }) => pointer)],
    [400, ['/scopes', '/expiresAt', '/allowedAddresses']],
  )
  assert.equal((await browser.call('DELETE', `${keys}/${clientId}`)).status, 204)
  assert.ok((await browser.call('GET', keys)).body.data[0].revokedAt)
  const acts = await database.rows(sql`
    select actor, address, act from audit_log where subject = ${clientId} order by id`)
  const by = { actor: `member:${id}`, address: '127.0.0.1' }
  assert.deepEqual(acts, [
    { ...by, act: 'credential.created' },
    { ...by, act: 'credential.revoked' },
  ])
})

test('I7: a session without its second factor gets 401 everywhere but where it can give it or end', async () => {
  const browser = await signedInBrowser(app, database, own.members.owner)
  await database.rows(sql`
    update sessions set complete = false where member_id = ${uuidOf(own.members.owner)}`)
  const mayPass = routes.filter(({ access }) => access === 'half-signed-in').map(nameOf)
  assert.deepEqual(mayPass, [
    'POST /sign-in/second-factor/passkey-options',
    'POST /sign-in/second-factor',
    'POST /sign-out',
    'GET /session',
  ])
  for (const route of routes.filter(({ access }) => access !== 'half-signed-in' && access !== 'public'))
    for (const mode of modesOf(route)) {
      const path = pathOf(route, own.merchantId, mode, withSessions(own))
      const { status, body } = await send(browser, route, path, BODIES[nameOf(route)])
      assert.deepEqual([status, body.code], [401, 'not_signed_in'], nameOf(route))
    }
})

test('I2: CSRF: every endpoint refuses another site, and every change another origin and other bodies than JSON', async () => {
  const browser = await signedInBrowser(app, database, own.members.owner)
  const refused: [Record<string, string>, number][] = [
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'content-type': 'text/plain' }, 415],
    [{ 'content-type': 'application/x-www-form-urlencoded' }, 415],
    [{ 'content-type': 'multipart/form-data; boundary=x' }, 415],
  ]
  const otherSite: [Record<string, string>, number][] = [
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
  ]
  for (const route of routes)
    for (const [headers, status] of route.method === 'GET' ? otherSite : [...otherSite, ...refused]) {
      const path = pathOf(route, own.merchantId, 'sandbox', withSessions(own))
      const body = route.method === 'GET' ? undefined : (BODIES[nameOf(route)] ?? {})
      const answer = await browser.call(route.method, path, body, headers)
      assert.equal(answer.status, status, `${nameOf(route)} ${JSON.stringify(headers)}`)
    }
})

/** Bodies that change something, where those above do not. */
function changeFor(route: Route, party: Party): unknown {
  const changes: Record<string, unknown> = {
    'PUT /merchants/:merchant/owner': { member: party.members.viewer },
    'PUT /merchants/:merchant/security': { requireSecondFactor: true },
  }
  return changes[nameOf(route)] ?? BODIES[nameOf(route)]
}

test('I9: every change that a member makes is in the audit log with member and address', async () => {
  let made = 0
  for (const route of routes.filter((each) => isOfMerchant(each) && each.method !== 'GET')) {
    const party = await addParty(database)
    const browser = await signedInBrowser(app, database, party.members.owner)
    const { status } = await send(
      browser,
      route,
      pathOf(route, party.merchantId, 'sandbox', party),
      changeFor(route, party),
    )
    const acts = await database.rows<{ act: string; address: string }>(sql`
      select act, address from audit_log
       where actor = ${`member:${party.members.owner}`} and merchant_id = ${uuidOf(party.merchantId)}`)
    if (status >= 300) continue // such as a cancellation: this payment is paid
    assert.deepEqual([acts.length, acts[0]?.address], [1, '127.0.0.1'], nameOf(route))
    made++
  }
  assert.ok(made >= 25)
})
