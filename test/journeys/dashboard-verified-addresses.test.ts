import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { idOf } from '../../src/kernel/ids.ts'
import type { Mail } from '../../src/members/mail.ts'
import { lockMember } from '../../src/members/member-store.ts'
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
import { eventually } from '../support/paying.ts'
import { addMerchant, BASE_URL, startOn, startService } from '../support/service.ts'

/** Only who reads a mail to an address is known to have it. */

const { app, database } = await startService()
const { merchantId } = await addMerchant(database)
const owner = await addMember(database, { role: 'owner', merchantId })
const ofMerchant = `/merchants/${merchantId}`
const isSignedIn = async (browser: DashboardBrowser) => (await browser.call('GET', '/session')).status === 200

/** A service that sends mails; `next` waits for one and returns the token of its link. */
async function startMailing() {
  const mails: Mail[] = []
  const mailing = await startOn(database, { sendMail: async (mail) => void mails.push(mail) })
  const next = async (): Promise<string> => {
    await eventually(
      async () => mails,
      ({ length }) => length > 0,
    )
    return tokenOf(/http\S+/.exec(mails.shift()?.text ?? '')?.[0] ?? '')
  }
  const forgot = async (email: string): Promise<string> => {
    await database.rows(sql`delete from sign_in_tries`)
    assert.equal((await newBrowser(mailing).call('POST', '/sign-in/forgot', { email })).status, 202)
    return next()
  }
  return { mailing, next, forgot }
}

async function addPasskey(browser: DashboardBrowser) {
  const passkey = newAuthenticator()
  const options = (await browser.call('POST', '/account/passkeys/options')).body.data
  const made = passkey.create(options, BASE_URL)
  assert.equal((await browser.call('POST', '/account/passkeys', { name: 'Key', passkey: made })).status, 201)
  return async () => {
    const request = (await newBrowser(app).call('POST', '/sign-in/passkey-options')).body.data
    const passkeyOf = passkey.get(request, BASE_URL)
    return (await newBrowser(app).call('POST', '/sign-in/passkey', { passkey: passkeyOf })).status
  }
}

const resetBy = (browser: DashboardBrowser, token: string) =>
  browser.call('POST', '/welcome/password', { token, password: PASSWORD })

test('the first mailed reset ends a stranger’s passkey, codes, sessions and links on an account made in advance', async () => {
  const { mailing, next, forgot } = await startMailing()
  const strangersShop = (await addMerchant(database)).merchantId
  const { id } = await addMember(database, { role: 'owner', merchantId: strangersShop })
  const stranger = await signedInBrowser(mailing, database, id)
  const email = 'victim-of-stranger@example.com'
  const invitation = { email, role: 'viewer' }
  const shown = (await stranger.call('POST', `/merchants/${strangersShop}/invitations`, invitation)).body.data
  const mailed = await next()
  assert.notEqual(mailed, tokenOf(shown.url), 'the creator does not see the mailed token')

  // The stranger opens the shown link, and adds a passkey and an app.
  const account = { token: tokenOf(shown.url), name: 'Not the victim', password: PASSWORD }
  const thief = newBrowser(mailing)
  assert.equal((await thief.call('POST', '/welcome', account)).status, 200)
  const signInAsStranger = await addPasskey(thief)
  assert.equal(await signInAsStranger(), 200)
  const member = await database.row<{ id: string }>(sql`
    update members set totp_secret = 'x' where email = ${email} returning id`)
  const memberId = idOf('member', member?.id ?? '')
  await database.rows(sql`insert into recovery_codes (member_id, digest) values (${member?.id}, ${digestOf('code')})`)
  const reset = await stranger.call('POST', `/merchants/${strangersShop}/members/${memberId}/reset`, {
    secondFactors: true,
  })
  await next()

  const victim = newBrowser(mailing)
  const answer = await resetBy(victim, await forgot(email))
  assert.deepEqual([answer.status, answer.body.data.state], [200, 'signed-in'])
  const { data } = (await victim.call('GET', '/account/second-factors')).body
  assert.deepEqual(data, { password: true, totp: false, recoveryCodesLeft: 0, passkeys: [] })
  assert.deepEqual([await signInAsStranger(), await isSignedIn(thief)], [401, false])
  assert.equal((await resetBy(newBrowser(app), tokenOf(reset.body.data.url))).status, 404, 'the link of the stranger')

  // The address is verified now: another mailed reset leaves the victim's own passkey.
  const signInAsVictim = await addPasskey(victim)
  const again = await resetBy(newBrowser(mailing), await forgot(email))
  assert.equal(again.body.data.state, 'second-factor')
  assert.equal(await signInAsVictim(), 200)
})

test('a mailed invitation verifies the address of the account that it makes; a shown reset link takes that back', async () => {
  const { mailing, next, forgot } = await startMailing()
  const browser = await signedInBrowser(mailing, database, owner.id)
  const email = 'verified@example.com'
  await browser.call('POST', `${ofMerchant}/invitations`, { email, role: 'viewer' })
  const guest = newBrowser(mailing)
  const account = { token: await next(), name: 'Grace', password: PASSWORD }
  assert.equal((await guest.call('POST', '/welcome', account)).status, 200)
  const signIn = await addPasskey(guest)
  assert.equal((await resetBy(newBrowser(mailing), await forgot(email))).body.data.state, 'second-factor')
  assert.equal(await signIn(), 200, 'a verified address keeps its passkey')

  const row = await database.row<{ id: string }>(sql`select id from members where email = ${email}`)
  const path = `${ofMerchant}/members/${idOf('member', row?.id ?? '')}/reset`
  const { url } = (await browser.call('POST', path, { secondFactors: false })).body.data
  assert.equal((await resetBy(newBrowser(mailing), tokenOf(url))).status, 200)
  await next()
  assert.equal((await resetBy(newBrowser(mailing), await forgot(email))).body.data.state, 'signed-in')
  assert.equal(await signIn(), 401)
})

test('a passkey whose registration waits while a mailed reset ends its session is not added', async () => {
  const { mailing, forgot } = await startMailing()
  const { id, email } = await addMember(database, { role: 'viewer', merchantId, totp: false })
  const [stranger, victim] = [await signedInBrowser(mailing, database, id), newBrowser(mailing)]
  const token = await forgot(email)
  const options = (await stranger.call('POST', '/account/passkeys/options')).body.data
  const passkey = newAuthenticator().create(options, BASE_URL)
  const waiting = (count: number) =>
    eventually(
      () =>
        database.rows(
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      ({ length }) => length === count,
    )
  const [reset, added] = await database.transaction(async (tx) => {
    await lockMember(tx, id)
    const first = resetBy(victim, token)
    await waiting(1)
    const second = stranger.call('POST', '/account/passkeys', { name: 'Key', passkey })
    await waiting(2)
    return [{ answer: first }, { answer: second }]
  })
  assert.equal((await reset.answer).status, 200)
  assert.equal((await added.answer).status, 401)
  const { data } = (await victim.call('GET', '/account/second-factors')).body
  assert.deepEqual(data.passkeys, [])
})
