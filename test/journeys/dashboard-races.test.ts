import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type MemberId, type MerchantId, uuidOf } from '../../src/kernel/ids.ts'
import { setOperator } from '../../src/members/manage-members.ts'
import { deleteMembership, updatePassword } from '../../src/members/member-store.ts'
import { createInvitation, createResetLink, createWelcomeLink } from '../../src/members/one-time-links.ts'
import { hashPassword } from '../../src/members/password.ts'
import { deleteSessions } from '../../src/members/session-store.ts'
import { newAuthenticator } from '../support/authenticator.ts'
import {
  addMember,
  type DashboardBrowser,
  newBrowser,
  PASSWORD,
  signedInBrowser,
  tokenOf,
  totpCode,
} from '../support/dashboard.ts'
import { eventually } from '../support/paying.ts'
import { addMerchant, BASE_URL, startOn, startService } from '../support/service.ts'

/** What happens at the same time, or between the check of a right and its use. */

const { app, database } = await startService()
const parts = { database, clock: systemClock, baseUrl: () => BASE_URL }
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = app.server.address() as AddressInfo
const passwordHash = await hashPassword(PASSWORD, { known: true, name: 'test' })

const browserOf = (id: MemberId) => signedInBrowser(app, database, id)
const isSignedIn = async (browser: DashboardBrowser) => (await browser.call('GET', '/session')).status === 200

async function addWithPassword(role: 'owner' | 'admin', merchantId: MerchantId) {
  const member = await addMember(database, { role, merchantId, totp: false })
  await database.transaction((tx) => updatePassword(tx, member.id, passwordHash))
  return member
}

async function sessionsOf(id: MemberId): Promise<number> {
  return (await database.rows(sql`select from sessions where member_id = ${uuidOf(id)}`)).length
}

/** Sends the head of a request and returns when the guard has let it pass. Its body is sent later. */
async function sendHead(browser: DashboardBrowser, id: MemberId, path: string): Promise<ClientRequest> {
  await database.rows(sql`
    update sessions set last_seen_at = now() - interval '2 minutes' where member_id = ${uuidOf(id)}`)
  const headers = {
    ...{ origin: BASE_URL, 'content-type': 'application/json', 'content-length': '2' },
    cookie: `manilla_session=${browser.cookies.get('manilla_session')}`,
  }
  const call = request({ port, host: '127.0.0.1', path: `/dashboard/api${path}`, method: 'POST', headers })
  call.flushHeaders()
  // The guard has read the session when it has noted that it was seen.
  await eventually(
    () =>
      database.rows(sql`
      select from sessions where member_id = ${uuidOf(id)} and last_seen_at > now() - interval '1 minute'`),
    ({ length }) => length === 1,
  )
  return call
}

test('a body that arrives after a removal, a lost role or an old step-up does nothing', async () => {
  const { merchantId } = await addMerchant(database)
  const changes: Record<string, (id: MemberId) => Promise<unknown>> = {
    removal: (id) => database.transaction((tx) => deleteSessions(tx, id)),
    role: (id) => database.rows(sql`update memberships set role = 'viewer' where member_id = ${uuidOf(id)}`),
    'step-up': (id) =>
      database.rows(sql`
        update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(id)}`),
  }
  for (const [what, change] of Object.entries(changes)) {
    const { id } = await addMember(database, { role: 'developer', merchantId })
    const call = await sendHead(await browserOf(id), id, `/merchants/${merchantId}/live/api-keys`)
    await change(id)
    call.end('{}')
    const [{ statusCode }] = (await once(call, 'response')) as [IncomingMessage]
    assert.ok(statusCode === 401 || statusCode === 403, `${what}: ${statusCode}`)
  }
  const keys = await database.rows(sql`
    select from credentials where merchant_id = ${uuidOf(merchantId)} and mode = 'live'`)
  assert.equal(keys.length, 0)
})

test('I8: a reset link does not outlive what it was created for: ownership, another merchant, the operator flag', async () => {
  const changes: Record<
    string,
    (own: MerchantId, owner: DashboardBrowser, id: MemberId, email: string) => Promise<void>
  > = {
    ownership: async (own, owner, id) => {
      assert.equal((await owner.call('PUT', `/merchants/${own}/owner`, { member: id })).status, 204)
    },
    'another merchant': async (_own, _owner, id, email) => {
      const elsewhere = (await addMerchant(database)).merchantId
      const { url } = await createInvitation(parts, 'test', { merchantId: elsewhere, email, role: 'admin' })
      const joined = await (await browserOf(id)).call('POST', '/welcome/join', { token: tokenOf(url) })
      assert.equal(joined.status, 204)
    },
    operator: (_own, _owner, id) => setOperator(parts, 'test', id, { operator: true, force: false }),
    removal: async (own, owner, id) => {
      assert.equal((await owner.call('DELETE', `/merchants/${own}/members/${id}`)).status, 204)
    },
  }
  for (const [what, change] of Object.entries(changes)) {
    const { merchantId } = await addMerchant(database)
    const [owner, admin, member] = [
      await addMember(database, { role: 'owner', merchantId }),
      await addMember(database, { role: 'admin', merchantId }),
      await addMember(database, { role: 'viewer', merchantId }),
    ]
    const path = `/merchants/${merchantId}/members/${member.id}/reset`
    const { body } = await (await browserOf(admin.id)).call('POST', path, { secondFactors: true })
    await change(merchantId, await browserOf(owner.id), member.id, member.email)
    const used = await newBrowser(app).call('POST', '/welcome/password', {
      token: tokenOf(body.data.url),
      password: PASSWORD,
    })
    assert.equal(used.status, 404, what)
  }
})

test('I8: a member who is removed while creating a link does not get one', async () => {
  const { merchantId } = await addMerchant(database)
  const viewer = await addMember(database, { role: 'viewer', merchantId })
  const members = `/merchants/${merchantId}`
  for (const [path, body] of [
    [`${members}/invitations`, { email: 'back@example.com', role: 'admin' }],
    [`${members}/members/${viewer.id}/reset`, { secondFactors: true }],
  ] as const) {
    const { id } = await addMember(database, { role: 'admin', merchantId })
    const browser = await browserOf(id)
    let call: Promise<{ status: number }> | undefined
    // The removal is not committed yet, so the guard lets the request pass.
    await database.transaction(async (tx) => {
      await deleteMembership(tx, id, merchantId)
      call = browser.call('POST', path, body)
      const isWaiting = eventually(
        () =>
          database.rows(sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
        ({ length }) => length > 0,
      )
      await Promise.race([call, isWaiting.catch(() => {})])
    })
    assert.equal((await call)?.status, 403, path)
  }
})

test('a visitor who asks for a new password does not end the link of an operator', async () => {
  const { merchantId } = await addMerchant(database)
  const member = await addMember(database, { role: 'owner', merchantId })
  let mails = 0
  const mailing = await startOn(database, { sendMail: async () => void mails++ })
  const link = await createResetLink(parts, 'cli:test', member, { clearsSecondFactor: true, address: '' })
  await newBrowser(mailing).call('POST', '/sign-in/forgot', { email: member.email })
  await eventually(
    async () => mails,
    (count) => count === 1,
  )
  const used = await newBrowser(app).call('POST', '/welcome/password', { token: tokenOf(link.url), password: PASSWORD })
  assert.equal(used.body.data?.state, 'signed-in')
})

test('of two passkeys that are removed at once, one stays when it is the only way to sign in', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId, totp: false })
  const owner = await browserOf(id)
  const ids: string[] = []
  for (const name of ['One', 'Two']) {
    const options = (await owner.call('POST', '/account/passkeys/options')).body.data
    const passkey = newAuthenticator().create(options, BASE_URL)
    ids.push((await owner.call('POST', '/account/passkeys', { name, passkey })).body.data.id)
  }
  const answers = await Promise.all(ids.map((each) => owner.call('DELETE', `/account/passkeys/${each}`)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409])
})

/** Keeps the password hashing busy, so that a request waits in its queue while something else changes. */
function busyHashing(): Promise<unknown> {
  const clients = Array.from({ length: 16 }, (_, number) => ({ known: number % 2 === 0, name: `busy ${number}` }))
  return Promise.all(clients.map((client) => hashPassword(PASSWORD, client)))
}

test('I3: a sign-in that began with the old password ends with it', async () => {
  const { merchantId } = await addMerchant(database)
  const { id, email } = await addWithPassword('owner', merchantId)
  const other = await hashPassword(`${PASSWORD} changed`, { known: true, name: 'test' })
  await database.rows(sql`delete from sign_in_tries`)
  const busy = busyHashing()
  const thief = newBrowser(app)
  const signIn = thief.call('POST', '/sign-in/password', { email, password: PASSWORD })
  await eventually(
    () => database.rows(sql`select from sign_in_tries`),
    ({ length }) => length === 2,
  )
  await database.rows(sql`select from members`) // the sign-in has read the account by now
  await database.transaction(async (tx) => {
    await updatePassword(tx, id, other)
    await deleteSessions(tx, id)
  })
  assert.equal((await signIn).status, 401)
  assert.equal(await sessionsOf(id), 0)
  await busy
})

test('I7: a second factor that is added during a sign-in must be given', async () => {
  const { merchantId } = await addMerchant(database)
  const { id, email } = await addWithPassword('owner', merchantId)
  await database.rows(sql`delete from sign_in_tries`)
  const busy = busyHashing()
  const signIn = newBrowser(app).call('POST', '/sign-in/password', { email, password: PASSWORD })
  await eventually(
    () => database.rows(sql`select from sign_in_tries`),
    ({ length }) => length === 2,
  )
  await database.rows(sql`select from members`)
  await database.rows(sql`update members set totp_secret = 'x' where id = ${uuidOf(id)}`)
  assert.equal((await signIn).body.data.state, 'second-factor')
  await busy
})

test('I3: a session that is revoked while it changes the password or the owner changes nothing', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addWithPassword('owner', merchantId)
  const busy = busyHashing()
  const change = (await browserOf(id)).call('PUT', '/account/password', { password: `${PASSWORD} of a thief` })
  await database.transaction((tx) => deleteSessions(tx, id))
  assert.equal((await change).status, 401)
  const row = await database.row<{ password_hash: string }>(sql`
    select password_hash from members where id = ${uuidOf(id)}`)
  assert.equal(row?.password_hash, passwordHash)
  await busy
})

test('I7: the first second factor ends the sessions that were started without one', async () => {
  const { merchantId } = await addMerchant(database)
  for (const what of ['totp', 'passkey']) {
    const { id } = await addWithPassword('admin', merchantId)
    const [own, other] = [await browserOf(id), await browserOf(id)]
    if (what === 'totp') {
      const { secret } = (await own.call('POST', '/account/totp')).body.data
      const code = totpCode(secret, new Date())
      assert.equal((await own.call('POST', '/account/totp/confirm', { code })).status, 200)
    } else {
      const options = (await own.call('POST', '/account/passkeys/options')).body.data
      const passkey = newAuthenticator().create(options, BASE_URL)
      assert.equal((await own.call('POST', '/account/passkeys', { name: 'Key', passkey })).status, 201)
    }
    assert.deepEqual([await isSignedIn(own), await isSignedIn(other)], [true, false], what)
  }
})

test('I6: a TOTP code and a recovery code that are sent twice at once, to two processes, work once', async () => {
  const processes = [app, await startOn(database)]
  const { merchantId } = await addMerchant(database)
  const { id, email } = await addWithPassword('owner', merchantId)
  const owner = await browserOf(id)
  const { secret } = (await owner.call('POST', '/account/totp')).body.data
  const { codes } = (await owner.call('POST', '/account/totp/confirm', { code: totpCode(secret, new Date()) })).body
    .data
  // The code of the next 30 s: it is new, and still right when they begin meanwhile.
  const next = () => new Date(Date.now() + 30_000)
  for (const proof of [() => ({ code: totpCode(secret, next()) }), () => ({ recoveryCode: codes[0] })]) {
    await database.rows(sql`delete from sign_in_tries`)
    const halves = []
    for (const process of [...processes, ...processes]) {
      const browser = newBrowser(process)
      assert.equal((await browser.call('POST', '/sign-in/password', { email, password: PASSWORD })).status, 200)
      halves.push(browser)
    }
    const given = proof()
    const answers = await Promise.all(halves.map((each) => each.call('POST', '/sign-in/second-factor', given)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401, 401], Object.keys(given)[0])
  }
})

test('I6: a copied passkey is refused: its counter does not grow, also at the same time', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await browserOf(id)
  const passkey = newAuthenticator()
  const options = (await owner.call('POST', '/account/passkeys/options')).body.data
  const made = passkey.create(options, BASE_URL)
  assert.equal((await owner.call('POST', '/account/passkeys', { name: 'Key', passkey: made })).status, 201)
  const signIn = async (counter: number) => {
    const browser = newBrowser(app)
    const challenge = (await browser.call('POST', '/sign-in/passkey-options')).body.data
    return () => browser.call('POST', '/sign-in/passkey', { passkey: passkey.get(challenge, BASE_URL, { counter }) })
  }
  assert.equal((await (await signIn(7))()).status, 200)
  for (const counter of [7, 6, 0]) assert.equal((await (await signIn(counter))()).status, 401, String(counter))
  const both = [await signIn(8), await signIn(8)]
  const statuses = (await Promise.all(both.map((send) => send()))).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 401])
})

test('I6: the challenge of a new passkey is used once', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await browserOf(id)
  const options = (await owner.call('POST', '/account/passkeys/options')).body.data
  const add = () =>
    owner.call('POST', '/account/passkeys', { name: 'Key', passkey: newAuthenticator().create(options, BASE_URL) })
  const statuses = (await Promise.all([add(), add()])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [201, 401])
})

test('I6: another spelling of a used passkey challenge, such as one with "=" at its end, is refused', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const owner = await browserOf(id)
  const options = (await owner.call('POST', '/account/passkeys/options')).body.data
  const add = (challenge: string, passkey = newAuthenticator()) =>
    owner.call('POST', '/account/passkeys', {
      name: 'Key',
      passkey: passkey.create({ ...options, challenge }, BASE_URL),
    })
  const spellings = (challenge: string) => [
    challenge,
    `${challenge}=`,
    `${challenge}==`,
    ` ${challenge}\n`,
    Buffer.from(`${Buffer.from(challenge, 'base64url')}.more`).toString('base64url'),
  ]
  const known = newAuthenticator()
  const registered = []
  for (const spelling of spellings(options.challenge))
    registered.push((await add(spelling, registered.length === 0 ? known : newAuthenticator())).status)
  assert.deepEqual(registered, [201, 401, 401, 401, 401])

  const request = (await newBrowser(app).call('POST', '/sign-in/passkey-options')).body.data
  const signIns = []
  for (const challenge of spellings(request.challenge)) {
    const passkey = known.get({ ...request, challenge }, BASE_URL)
    signIns.push((await newBrowser(app).call('POST', '/sign-in/passkey', { passkey })).status)
  }
  assert.deepEqual(signIns, [200, 401, 401, 401, 401])
})

test('I3: a finished session is not prolonged by a second factor beyond its 7 days', async () => {
  const { merchantId } = await addMerchant(database)
  const { id } = await addWithPassword('owner', merchantId)
  const owner = await browserOf(id)
  const { secret } = (await owner.call('POST', '/account/totp')).body.data
  const code = totpCode(secret, new Date())
  const { codes } = (await owner.call('POST', '/account/totp/confirm', { code })).body.data
  const again = await owner.call('POST', '/sign-in/second-factor', { recoveryCode: codes[0] })
  assert.equal(again.status, 409)
  assert.equal((await owner.call('GET', '/account/second-factors')).body.data.recoveryCodesLeft, 10)
})

test('I8: two welcome links at once make one owner, and one operator', async () => {
  await database.rows(sql`update members set operator = false`)
  const [first, second] = [(await addMerchant(database)).merchantId, (await addMerchant(database)).merchantId]
  const links: string[] = []
  for (const merchantId of [first, first, second])
    links.push((await createWelcomeLink(parts, 'test', merchantId))?.url ?? '')
  const use = (number: number) =>
    newBrowser(app).call('POST', '/welcome', {
      token: tokenOf(links[number] ?? ''),
      ...{ name: 'Ada', email: `first${number}@example.com`, password: PASSWORD },
    })
  const statuses = (await Promise.all([use(0), use(1)])).map(({ status }) => status)
  assert.deepEqual(statuses.sort(), [200, 409])
  assert.equal((await use(2)).status, 200)
  assert.equal((await database.rows(sql`select from members where operator`)).length, 1)
})
