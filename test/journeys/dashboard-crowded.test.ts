import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { updatePassword } from '../../src/members/member-store.ts'
import { hashPassword } from '../../src/members/password.ts'
import { addMember, newBrowser, PASSWORD, signedInBrowser } from '../support/dashboard.ts'
import { addMerchant, startOn, startService } from '../support/service.ts'
import { untilLimited } from '../support/until-limited.ts'

/** Many sign-ins at once: what strangers, or one member, take from the others. */

const { app, database } = await startService({ trustProxy: ['127.0.0.1'] })
const { merchantId } = await addMerchant(database)
const passwordHash = await hashPassword(PASSWORD, { known: true, name: 'test' })

async function addWithPassword() {
  const member = await addMember(database, { role: 'viewer', merchantId, totp: false })
  await database.transaction((tx) => updatePassword(tx, member.id, passwordHash))
  return member
}

const signIn = (browser: ReturnType<typeof newBrowser>, email: string) =>
  browser.call('POST', '/sign-in/password', { email, password: PASSWORD })

test('guesses from many networks do not keep a member with a device cookie out', async () => {
  const { email } = await addWithPassword()
  const known = newBrowser(app)
  assert.equal((await signIn(known, email)).status, 200)

  let signedIn: ReturnType<typeof signIn> | undefined
  const guesses = Array.from({ length: 60 }, async (_, number) => {
    const guess = { email: `guess${number}@example.com`, password: PASSWORD }
    const from = { 'x-forwarded-for': `2001:db8:0:${number.toString(16)}::1` }
    const answer = await newBrowser(app).call('POST', '/sign-in/password', guess, from)
    // The places of strangers are taken now, and stay so for a second or more.
    if (answer.status === 503) signedIn ??= signIn(known, email)
    return answer
  })
  const answers = await Promise.all(guesses)
  const refused = answers.filter(({ status }) => status === 503)
  assert.ok(refused.length > 0)
  assert.ok(refused.every(({ headers }) => Number(headers['retry-after']) >= 1))
  assert.equal((await signedIn)?.status, 200)
})

test('a member who changes the password in parallel lanes does not keep others out', async () => {
  const [busy, other] = [await addWithPassword(), await addWithPassword()]
  const lanes = await Promise.all(Array.from({ length: 60 }, () => signedInBrowser(app, database, busy.id)))
  let signedIn: ReturnType<typeof signIn> | undefined
  const changes = lanes.map(async (lane, number) => {
    const password = `${PASSWORD} ${number}`
    const answer = await lane.call('PUT', '/account/password', { password })
    if (answer.status === 429 || answer.status === 503) signedIn ??= signIn(newBrowser(app), other.email)
    return answer
  })
  const answers = await Promise.all(changes)
  const limited = answers.filter(({ status }) => status === 429)
  assert.ok(limited.length >= 50, `${limited.length} of 60`)
  assert.ok(limited.every(({ headers }) => Number(headers['retry-after']) >= 1))
  assert.equal((await signedIn)?.status, 200)
})

test('each session has a rate limit for all its requests, and others are served', async () => {
  const limited = await startOn(database, { rateLimit: true })
  const { id } = await addMember(database, { role: 'viewer', merchantId })
  const [busy, other] = [await signedInBrowser(limited, database, id), await signedInBrowser(limited, database, id)]
  const since = { startMs: performance.now(), everyMs: 50 }
  const answers = await Promise.all(Array.from({ length: 200 }, () => busy.call('GET', '/session')))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
  const refused = await untilLimited(() => busy.call('GET', `/merchants/${merchantId}/members`), since)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  assert.equal((await other.call('GET', '/session')).status, 200)
})

test('a member has at most 50 sessions: the one that was not used for longest ends', async () => {
  const { id, email } = await addWithPassword()
  const first = await signedInBrowser(app, database, id)
  await database.rows(sql`
    update sessions set last_seen_at = now() - interval '1 hour' where member_id = ${uuidOf(id)}`)
  for (let count = 1; count < 50; count++) await signedInBrowser(app, database, id)
  assert.equal((await first.call('GET', '/account/second-factors')).status, 200)
  await database.rows(sql`
    update sessions set last_seen_at = now() - interval '1 hour'
     where id = (select id from sessions where member_id = ${uuidOf(id)} order by id limit 1)`)
  assert.equal((await signIn(newBrowser(app), email)).status, 200)
  assert.equal((await first.call('GET', '/session')).status, 401)
  const left = await database.rows(sql`select from sessions where member_id = ${uuidOf(id)}`)
  assert.equal(left.length, 50)
})
