import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type MemberId, uuidOf } from '../../src/kernel/ids.ts'
import { type Mail, smtpMail } from '../../src/members/mail.ts'
import { setOperator } from '../../src/members/manage-members.ts'
import { createInvitation, createResetLink } from '../../src/members/one-time-links.ts'
import { digestOf } from '../../src/merchants/credential.ts'
import { newAuthenticator } from '../support/authenticator.ts'
import {
  addMember,
  type DashboardBrowser,
  newBrowser,
  PASSWORD,
  signedInBrowser,
  tokenOf,
} from '../support/dashboard.ts'
import { startMailServer } from '../support/mail-server.ts'
import { eventually } from '../support/paying.ts'
import { addMerchant, BASE_URL, startOn, startService } from '../support/service.ts'

const { app, database } = await startService()
const parts = { database, clock: systemClock, baseUrl: () => BASE_URL }
const { merchantId } = await addMerchant(database)
const owner = await addMember(database, { role: 'owner', merchantId })
const ofMerchant = `/merchants/${merchantId}`

const asOwner = () => signedInBrowser(app, database, owner.id)
const roleOf = async (id: MemberId) =>
  (
    await database.row<{ role: string }>(sql`
      select role from memberships where member_id = ${uuidOf(id)} and merchant_id = ${uuidOf(merchantId)}`)
  )?.role
const isSignedIn = async (browser: DashboardBrowser) => (await browser.call('GET', '/session')).status === 200

test('I6: an invitation makes an account with a passkey, once, and its link is not stored', async () => {
  const browser = await asOwner()
  const email = 'grace@example.com'
  const { status, body } = await browser.call('POST', `${ofMerchant}/invitations`, {
    email: 'Grace@example.com',
    role: 'support',
  })
  assert.deepEqual([status, body.data.sent], [201, false])
  const token = tokenOf(body.data.url)
  const listed = (await browser.call('GET', `${ofMerchant}/members`)).body.data
  assert.deepEqual(
    listed.invitations.map((each: Record<string, string>) => [each.email, each.role]),
    [[email, 'support']],
  )
  assert.ok(!JSON.stringify(listed).includes(token))

  const guest = newBrowser(app)
  const read = await guest.call('POST', '/welcome/read', { token })
  assert.deepEqual([read.body.data.email, read.body.data.merchantName], [email, 'Adaeze Kitchen'])
  const account = { token, name: 'Grace', email: 'other@example.com' }
  const options = (await guest.call('POST', '/welcome/passkey-options', account)).body.data
  assert.equal(options.user.name, email, 'the invitation decides')
  const passkey = newAuthenticator().create(options, BASE_URL)
  assert.equal((await guest.call('POST', '/welcome', { ...account, passkey })).status, 200)
  const { data } = (await guest.call('GET', '/session')).body
  assert.deepEqual([data.member.email, data.member.operator, data.merchants[0].role], [email, false, 'support'])
  assert.equal((await newBrowser(app).call('POST', '/welcome', { ...account, passkey })).status, 404, 'replayed')
})

test('an invitation for an existing account needs that account to be signed in', async () => {
  const { id, email } = await addMember(database, {})
  const invite = () => createInvitation(parts, 'test', { merchantId, email, role: 'viewer' })
  const first = tokenOf((await invite()).url)
  const token = tokenOf((await invite()).url)
  const guest = newBrowser(app)
  assert.equal((await guest.call('POST', '/welcome/read', { token: first })).status, 404, 'replaced by the newer one')
  const account = { token, name: 'Thief', password: PASSWORD }
  assert.equal((await guest.call('POST', '/welcome', account)).status, 409)
  assert.equal((await (await asOwner()).call('POST', '/welcome/join', { token })).status, 403)
  const browser = await signedInBrowser(app, database, id)
  assert.equal((await browser.call('POST', '/welcome/join', { token })).status, 204)
  assert.equal(await roleOf(id), 'viewer')
  assert.equal((await browser.call('POST', '/welcome/join', { token })).status, 404)
  const again = await (await asOwner()).call('POST', `${ofMerchant}/invitations`, { email, role: 'admin' })
  assert.equal(again.status, 409, 'a member already')
})

test('a withdrawn invitation is dead, and nobody can be invited as owner', async () => {
  const browser = await asOwner()
  const invitations = `${ofMerchant}/invitations`
  const { data } = (await browser.call('POST', invitations, { email: 'late@example.com', role: 'viewer' })).body
  assert.equal((await browser.call('DELETE', `${invitations}/${data.id}`)).status, 204)
  assert.equal((await browser.call('DELETE', `${invitations}/${data.id}`)).status, 404)
  const read = await newBrowser(app).call('POST', '/welcome/read', { token: tokenOf(data.url) })
  assert.equal(read.status, 404)
  assert.equal((await browser.call('POST', invitations, { email: 'x@example.com', role: 'owner' })).status, 400)
  await assert.rejects(
    createInvitation(parts, 'test', { merchantId, email: 'x@example.com', role: 'owner' }),
    /has an owner/,
  )
})

test('a merchant has at most 500 members and open invitations', async () => {
  const crowded = (await addMerchant(database)).merchantId
  const invite = (email: string) => createInvitation(parts, 'test', { merchantId: crowded, email, role: 'viewer' })
  await invite('first@example.com')
  await database.rows(sql`
    insert into one_time_links (id, kind, digest, merchant_id, role, email, created_by, expires_at, grants_operator, clears_second_factor)
    select gen_random_uuid(), kind, sha256(number::text::bytea), merchant_id, role, number || '@example.com', created_by, expires_at, false, false
      from one_time_links, generate_series(2, 500) number where merchant_id = ${uuidOf(crowded)}`)
  await assert.rejects(invite('another@example.com'), /500 members and invitations/)
  assert.ok((await invite('7@example.com')).url, 'the newest invitation of an address replaces the older one')
})

test('I8: a changed role and a removal end all sessions of the member; the owner is out of reach', async () => {
  const admin = await addMember(database, { role: 'admin', merchantId })
  const member = await addMember(database, { role: 'viewer', merchantId })
  const path = `${ofMerchant}/members/${member.id}`
  const [browser, theirs] = [
    await signedInBrowser(app, database, admin.id),
    await signedInBrowser(app, database, member.id),
  ]
  assert.equal((await browser.call('PATCH', path, { role: 'owner' })).status, 400)
  assert.equal((await browser.call('PATCH', path, { role: 'developer' })).status, 204)
  assert.deepEqual([await roleOf(member.id), await isSignedIn(theirs)], ['developer', false])
  const again = await signedInBrowser(app, database, member.id)
  assert.equal((await browser.call('DELETE', path)).status, 204)
  assert.deepEqual([await roleOf(member.id), await isSignedIn(again)], [undefined, false])
  for (const [method, end, body] of [
    ['PATCH', '', { role: 'viewer' }],
    ['DELETE', '', {}],
    ['POST', '/reset', { secondFactors: true }],
  ] as const)
    assert.equal((await browser.call(method, `${ofMerchant}/members/${owner.id}${end}`, body)).status, 409)
  assert.equal(await roleOf(owner.id), 'owner')
})

test('links of a member end with the membership, so that nobody comes back by one', async () => {
  const admin = await addMember(database, { role: 'admin', merchantId })
  const viewer = await addMember(database, { role: 'viewer', merchantId })
  const browser = await signedInBrowser(app, database, admin.id)
  const invitation = await browser.call('POST', `${ofMerchant}/invitations`, { email: 'me@example.com', role: 'admin' })
  const reset = await browser.call('POST', `${ofMerchant}/members/${viewer.id}/reset`, { secondFactors: true })
  assert.deepEqual([invitation.status, reset.status], [201, 201])
  assert.equal((await (await asOwner()).call('DELETE', `${ofMerchant}/members/${admin.id}`)).status, 204)
  for (const { body } of [invitation, reset]) {
    const read = await newBrowser(app).call('POST', '/welcome/read', { token: tokenOf(body.data.url) })
    assert.equal(read.status, 404)
  }
})

test('I8: a merchant has exactly one owner at any moment: transfers at once, and the index', async () => {
  const { merchantId } = await addMerchant(database)
  const first = await addMember(database, { role: 'owner', merchantId })
  const [one, two] = [
    await addMember(database, { role: 'admin', merchantId }),
    await addMember(database, { role: 'viewer', merchantId }),
  ]
  const [browser, second] = [
    await signedInBrowser(app, database, first.id),
    await signedInBrowser(app, database, first.id),
  ]
  const path = `/merchants/${merchantId}/owner`
  const answers = await Promise.all([
    browser.call('PUT', path, { member: one.id }),
    second.call('PUT', path, { member: two.id }),
  ])
  const statuses = answers.map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 204).length, 1, String(statuses))
  const owners = () =>
    database.rows(sql`
      select member_id from memberships where merchant_id = ${uuidOf(merchantId)} and role = 'owner'`)
  assert.equal((await owners()).length, 1)
  const [winner, loser] = statuses[0] === 204 ? [browser, second] : [second, browser]
  assert.deepEqual([await isSignedIn(winner), await isSignedIn(loser)], [true, false])
  assert.equal((await winner.call('PUT', path, { member: two.id })).status, 403, 'an admin by now')
  await assert.rejects(
    database.rows(sql`update memberships set role = 'owner' where merchant_id = ${uuidOf(merchantId)}`),
    /one_owner_per_merchant/,
  )
})

test('a reset link sets a password once, keeps the second factor, and ends all sessions', async () => {
  const member = await addMember(database, { role: 'developer', merchantId })
  const theirs = await signedInBrowser(app, database, member.id)
  const reset = async (secondFactors: boolean) => {
    const path = `${ofMerchant}/members/${member.id}/reset`
    return tokenOf((await (await asOwner()).call('POST', path, { secondFactors })).body.data.url)
  }
  const first = await reset(false)
  const token = await reset(false)
  const guest = newBrowser(app)
  assert.equal((await guest.call('POST', '/welcome/password', { token: first, password: PASSWORD })).status, 404)
  assert.equal((await guest.call('POST', '/welcome/password', { token, password: 'short' })).status, 400)
  const answer = await guest.call('POST', '/welcome/password', { token, password: PASSWORD })
  assert.deepEqual([answer.status, answer.body.data.state], [200, 'second-factor'])
  assert.equal(await isSignedIn(theirs), false)
  assert.equal((await guest.call('POST', '/welcome/password', { token, password: PASSWORD })).status, 404, 'replayed')

  const cleared = await guest.call('POST', '/welcome/password', { token: await reset(true), password: PASSWORD })
  assert.equal(cleared.body.data.state, 'signed-in')
  const { data } = (await guest.call('GET', '/account/second-factors')).body
  assert.deepEqual(data, { password: true, totp: false, recoveryCodesLeft: 0, passkeys: [] })
})

test('a merchant cannot reset an account that reaches beyond it', async () => {
  const [shared, operator] = [
    await addMember(database, { role: 'viewer', merchantId }),
    await addMember(database, { role: 'viewer', merchantId }),
  ]
  const elsewhere = await addMerchant(database)
  await createInvitation(parts, 'test', { merchantId: elsewhere.merchantId, email: shared.email, role: 'admin' }).then(
    async ({ url }) => {
      const browser = await signedInBrowser(app, database, shared.id)
      assert.equal((await browser.call('POST', '/welcome/join', { token: tokenOf(url) })).status, 204)
    },
  )
  await setOperator({ database }, 'test', operator.id, { operator: true, force: false })
  for (const { id } of [shared, operator]) {
    const path = `${ofMerchant}/members/${id}/reset`
    assert.equal((await (await asOwner()).call('POST', path, { secondFactors: true })).status, 409)
  }
})

test('the last operator stays unless it is forced', async () => {
  await database.rows(sql`update members set operator = false`)
  const [one, two] = [await addMember(database, {}), await addMember(database, {})]
  const set = (id: MemberId, operator: boolean, force = false) =>
    setOperator({ database }, 'test', id, { operator, force })
  await set(one.id, true)
  await set(two.id, true)
  const ended = await Promise.allSettled([set(one.id, false), set(two.id, false)])
  assert.deepEqual(ended.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await set(one.id, false, true)
  await set(two.id, false, true)
  const left = await database.rows(sql`select from members where operator`)
  assert.equal(left.length, 0)
})

test('invitations and forgotten passwords are sent by SMTP, and an unknown account gets the same answer', async () => {
  const { url, mails } = await startMailServer()
  const mailing = await startOn(database, { sendMail: smtpMail(url, 'Manilla <no-reply@pay.test>') })
  const browser = await signedInBrowser(mailing, database, owner.id)
  const invited = await browser.call('POST', `${ofMerchant}/invitations`, { email: 'mail@example.com', role: 'viewer' })
  assert.equal(invited.body.data.sent, true)
  await eventually(
    async () => mails,
    ({ length }) => length === 1,
  )
  assert.deepEqual(mails[0]?.recipients, ['mail@example.com'])
  assert.match(mails[0]?.mail.text ?? '', /\/dashboard\/welcome#/)

  await database.rows(sql`
    insert into sign_in_tries (key, tries, tried_at) values (${digestOf(`invitations of ${merchantId}`)}, 50, now())
    on conflict (key) do update set tries = excluded.tries`)
  const many = await browser.call('POST', `${ofMerchant}/invitations`, { email: 'more@example.com', role: 'viewer' })
  assert.equal(many.status, 429, 'an admin cannot send mail without end')

  const forgot = (email: string) => newBrowser(mailing).call('POST', '/sign-in/forgot', { email })
  const [unknown, known] = [await forgot('nobody@example.com'), await forgot(owner.email)]
  assert.deepEqual([unknown.status, unknown.body], [known.status, known.body])
  for (let time = 0; time < 6; time++) await forgot(owner.email)
  await eventually(
    async () => mails,
    ({ length }) => length === 4,
  )
  await mailing.close()
  assert.equal(mails.length, 4, 'three per account before they have to wait')
})

test('a merchant’s name that is a link or has line breaks is plain text in subject and body of an invitation', async () => {
  const name = 'Your account is locked. Visit https://evil.example/login or evil.example now'
  const { merchantId } = await addMerchant(database, { name })
  const { id } = await addMember(database, { role: 'owner', merchantId })
  const mails: Mail[] = []
  const mailing = await startOn(database, { sendMail: async (mail) => void mails.push(mail) })
  const browser = await signedInBrowser(mailing, database, id)
  const invited = { email: 'victim@example.com', role: 'viewer' }
  assert.equal((await browser.call('POST', `/merchants/${merchantId}/invitations`, invited)).status, 201)
  await eventually(
    async () => mails,
    ({ length }) => length === 1,
  )
  const [{ subject, text }] = mails as [Mail]
  assert.doesNotMatch(subject, /[.:/@]/)
  assert.deepEqual(
    text.match(/\w+:\/\/[^/\s]+|[\w-]+\.(?:example|test)\b/g),
    [BASE_URL],
    'no other link than that of the dashboard',
  )
})

test('the audit log shows who did what from where, newest first, in pages', async () => {
  const browser = await asOwner()
  const path = `${ofMerchant}/audit-log`
  const first = (await browser.call('GET', `${path}?limit=2`)).body
  assert.equal(first.data.length, 2)
  const rest = (await browser.call('GET', `${path}?limit=100&cursor=${first.nextCursor}`)).body
  const ids = [...first.data, ...rest.data].map(({ id }: { id: number }) => id)
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  )
  const change = rest.data.find(({ act }: { act: string }) => act === 'member.role_changed')
  assert.match(change.subject, /^mem_\w+ viewer to developer$/)
  assert.deepEqual([change.address, change.memberName === null], ['127.0.0.1', false])
  assert.equal((await browser.call('GET', `${path}?cursor=x`)).status, 400)
})

test('a link for a member from the command line works while nobody else can sign in', async () => {
  const link = await createResetLink(parts, 'cli:test', owner, { clearsSecondFactor: true, address: '' })
  const guest = newBrowser(app)
  const answer = await guest.call('POST', '/welcome/password', { token: tokenOf(link.url), password: PASSWORD })
  assert.equal(answer.body.data.state, 'signed-in')
})
