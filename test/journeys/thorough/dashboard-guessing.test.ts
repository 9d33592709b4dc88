import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import { PLACES } from '../../../src/members/hash-queue.ts'
import { hashPassword } from '../../../src/members/password.ts'
import { deviceCookieOf } from '../../../src/members/prove-identity.ts'
import { newAuthenticator } from '../../support/authenticator.ts'
import { addMember, type DashboardBrowser, newBrowser, PASSWORD, signedInBrowser } from '../../support/dashboard.ts'
import { eventually } from '../../support/paying.ts'
import { addMerchant, BASE_URL, checkout, startOn, startService } from '../../support/service.ts'

const { app, database } = await startService({ trustProxy: ['127.0.0.1'] })
const { merchantId } = await addMerchant(database)
const owner = await addMember(database, { role: 'owner', merchantId, totp: false })
await database.rows(sql`
  update members set password_hash = ${await hashPassword(PASSWORD, { known: true, name: 'test' })} where id = ${uuidOf(owner.id)}`)
const addressOf = (number: number) => `10.9.${number >> 8}.${number & 255}`

function guess(email: string, password: string, address: string, browser: DashboardBrowser = newBrowser(app)) {
  return browser.call('POST', '/sign-in/password', { email, password }, { 'x-forwarded-for': address })
}

async function forgetTries(): Promise<void> {
  await database.rows(sql`delete from sign_in_tries`)
}

async function inBatches<Result>(count: number, work: (number: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < count; start += 25)
    results.push(...(await Promise.all(Array.from({ length: Math.min(25, count - start) }, (_, i) => work(start + i)))))
  return results
}

test('I4: 1 000 guesses from 1 000 addresses: a handful is checked, the owner still gets in', async () => {
  const device = newBrowser(app)
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.1', device)).status, 200)
  const browser = await signedInBrowser(app, database, owner.id)
  const passkey = newAuthenticator()
  const options = (await browser.call('POST', '/account/passkeys/options')).body.data
  const added = await browser.call('POST', '/account/passkeys', {
    name: 'Key',
    passkey: passkey.create(options, BASE_URL),
  })
  assert.equal(added.status, 201)

  const answers = await inBatches(1_000, (number) => guess(owner.email, `guess ${number} of many`, addressOf(number)))
  const checked = answers.filter(({ status }) => status === 401).length
  const refused = answers.filter(({ status }) => status === 429)
  assert.equal(checked + refused.length, 1_000)
  // Five at once; then one after 15 s, one after 30 s more, and so on.
  assert.ok(checked >= 5 && checked <= 8, `${checked} were checked`)
  const waits = refused.map(({ headers }) => Number(headers['retry-after']))
  assert.ok(Math.max(...waits) <= 900, 'nobody waits longer than 15 minutes')

  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.2')).status, 429, 'a stranger with the right password waits')
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.3', device)).status, 200, 'a known browser does not')
  const other = newBrowser(app)
  const request = (await other.call('POST', '/sign-in/passkey-options')).body.data
  const signed = await other.call('POST', '/sign-in/passkey', { passkey: passkey.get(request, BASE_URL) })
  assert.equal(signed.status, 200, 'a passkey cannot be guessed, so it never waits')
  await database.rows(sql`update sign_in_tries set tried_at = now() - interval '15 minutes 1 second'`)
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.2')).status, 200, 'after the longest wait')
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.2')).status, 200, 'a success starts the count again')
})

test('a device cookie has a limit of its own, and is worth nothing for another account', async () => {
  await forgetTries()
  const { id, email } = await addMember(database, { totp: false })
  await database.rows(sql`
    update members set password_hash = (select password_hash from members where id = ${uuidOf(owner.id)})
     where id = ${uuidOf(id)}`)
  const device = newBrowser(app)
  await guess(email, PASSWORD, '10.0.0.1', device)
  assert.ok(device.cookies.has('manilla_device'))
  const statuses = []
  for (let number = 0; number < 7; number++)
    statuses.push((await guess(email, 'a wrong password', addressOf(number), device)).status)
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429])
  const victim = 'somebody@example.com'
  for (let number = 0; number < 5; number++) await guess(victim, 'a wrong password', addressOf(number))
  assert.equal((await guess(victim, 'a wrong password', '10.0.0.9', device)).status, 429)
})

test('many device cookies of one account give no more guesses than a few', async () => {
  await forgetTries()
  const { email } = await addMember(database, { totp: false })
  const secrets = secretBox(Buffer.alloc(32))
  const statuses = await inBatches(100, (number) => {
    const browser = newBrowser(app)
    browser.cookies.set('manilla_device', deviceCookieOf(secrets, email))
    return guess(email, 'a wrong password', addressOf(number), browser).then(({ status }) => status)
  })
  assert.ok(statuses.filter((status) => status === 401).length <= 20)
  assert.ok(statuses.includes(429))
})

test('refused passkeys are in the audit log, and a script cannot fill it', async () => {
  await forgetTries()
  const elsewhere = await addMerchant(database)
  const { id } = await addMember(database, { role: 'viewer', merchantId: elsewhere.merchantId })
  const browser = await signedInBrowser(app, database, id)
  const passkey = newAuthenticator()
  const options = (await browser.call('POST', '/account/passkeys/options')).body.data
  const made = passkey.create(options, BASE_URL)
  assert.equal((await browser.call('POST', '/account/passkeys', { name: 'Key', passkey: made })).status, 201)
  const wrong = passkey.get({ challenge: 'aGVsbG8', rpId: 'pay.test' }, BASE_URL)
  const refusals = () =>
    database.rows<{ subject: string }>(sql`
      select subject from audit_log where act = 'sign_in.refused' and actor = ${`member:${id}`}`)
  assert.equal((await newBrowser(app).call('POST', '/sign-in/passkey', { passkey: wrong })).status, 401)
  assert.deepEqual(await refusals(), [{ subject: 'sign-in' }])
  await inBatches(60, () => browser.call('POST', '/step-up', { passkey: wrong }))
  const { length } = await refusals()
  assert.ok(length >= 20 && length <= 22, String(length))
  const request = (await browser.call('POST', '/step-up/passkey-options')).body.data
  const right = await browser.call('POST', '/step-up', { passkey: passkey.get(request, BASE_URL) })
  assert.equal(right.status, 204, 'a passkey never waits')
})

test('one address that tries many accounts is stopped, and others are not', async () => {
  await forgetTries()
  const statuses = []
  for (let number = 0; number < 22; number++)
    statuses.push((await guess(`someone${number}@example.com`, 'a wrong password', '10.0.0.66')).status)
  assert.deepEqual(
    statuses,
    Array.from({ length: 22 }, (_, number) => (number < 20 ? 401 : 429)),
  )
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.67')).status, 200)
})

test('codes are guessed five times per account, not per session', async () => {
  await forgetTries()
  const statuses = []
  for (let number = 0; number < 7; number++) {
    const browser = newBrowser(app)
    await guess(owner.email, PASSWORD, addressOf(number), browser)
    const code = String(number).padStart(6, '0')
    const headers = { 'x-forwarded-for': addressOf(number) }
    statuses.push((await browser.call('POST', '/sign-in/second-factor', { code }, headers)).status)
  }
  assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429])
})

test('I5: an unknown account, one without a password and a wrong password get the same answer in the same time', async () => {
  const bare = await addMember(database, { role: 'viewer', merchantId })
  const accounts = { known: owner.email, unknown: 'nobody@example.com', passwordless: bare.email, malformed: 'x' }
  const shortest: Record<string, number> = {}
  const answers: Record<string, unknown> = {}
  for (let round = 0; round < 4; round++) {
    await forgetTries()
    for (const [what, email] of Object.entries(accounts)) {
      const startedAt = performance.now()
      const { status, headers, body } = await guess(email, 'a wrong password', addressOf(round))
      shortest[what] = Math.min(shortest[what] ?? Number.POSITIVE_INFINITY, performance.now() - startedAt)
      const { requestId: _, ...problem } = body
      answers[what] = { status, problem, names: Object.keys(headers).sort(), cookies: headers['set-cookie'] }
    }
  }
  for (const what of Object.keys(accounts)) assert.deepEqual(answers[what], answers.known, what)
  const times = Object.values(shortest)
  // Without a hash an answer takes a tenth of the time or less. The machine may be busy, so the bound is wide.
  assert.ok(Math.max(...times) < 4 * Math.min(...times), JSON.stringify(shortest))

  await forgetTries()
  for (const email of [owner.email, 'nobody@example.com']) {
    const statuses = []
    for (let number = 0; number < 6; number++) statuses.push((await guess(email, 'x', addressOf(number))).status)
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429], `${email} waits like every other`)
  }
})

test('I5: a forgotten password is answered before the account is looked up and the mail is sent', async () => {
  const { promise: mailed, resolve: letGo } = Promise.withResolvers<void>()
  let mails = 0
  const mailing = await startOn(database, {
    sendMail: () => {
      mails++
      return mailed
    },
  })
  const answers = []
  for (const email of [owner.email, 'nobody@example.com', 'x']) {
    const { status, body } = await newBrowser(mailing).call('POST', '/sign-in/forgot', { email })
    answers.push([status, body])
  }
  for (const answer of answers) assert.deepEqual(answer, [202, { data: {} }])
  await eventually(
    async () => mails,
    (count) => count === 1,
  )
  letGo()
})

test('a try that is refused because too many people sign in is not counted', async () => {
  await forgetTries()
  // Each that is done is followed by another, so that all places of strangers stay taken.
  let isOver = false
  const busy = Array.from({ length: PLACES.strangers.all }, async (_, number) => {
    while (!isOver) await hashPassword(PASSWORD, { known: false, name: `network ${number}` })
  })
  const statuses = []
  for (let number = 0; number < 7; number++)
    statuses.push((await guess(owner.email, PASSWORD, addressOf(number))).status)
  isOver = true
  await Promise.all(busy)
  assert.deepEqual([...new Set(statuses)], [503])
  assert.equal((await guess(owner.email, PASSWORD, addressOf(8))).status, 200)
})

test('200 sign-ins at once do not stop payments', async () => {
  await forgetTries()
  const merchant = await addMerchant(database)
  let pending = 200
  const signIns = Array.from({ length: 200 }, async (_, number) => {
    const { status } = await guess(`many${number}@example.com`, 'a wrong password', addressOf(number))
    pending--
    return status
  })
  for (let number = 0; number < 20; number++) assert.equal((await checkout(app, merchant)).status, 201)
  assert.ok(pending > 0, 'the payments were created while passwords were hashed')
  const statuses = await Promise.all(signIns)
  assert.ok(statuses.every((status) => status === 401 || status === 503))
  assert.ok(statuses.includes(401) && statuses.includes(503), 'up to 50 wait for their turn')
  assert.equal((await guess(owner.email, PASSWORD, '10.0.0.70')).status, 200, 'and then all is as before')
})

test('I9: refused sign-ins of an account are in the audit log', async () => {
  const refusals = await eventually(
    () =>
      database.rows<{ actor: string; address: string; subject: string }>(sql`
        select actor, address, subject from audit_log
         where act = 'sign_in.refused' and merchant_id = ${uuidOf(merchantId)} order by id`),
    (rows) => rows.length > 10,
  )
  assert.ok(refusals.every(({ actor, address }) => actor.startsWith('member:mem_') && address.startsWith('10.')))
  assert.deepEqual([...new Set(refusals.map(({ subject }) => subject))].sort(), ['password', 'second-factor'])
})
