import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { createCredential, revokeCredential, setMerchantStatus } from '../../src/merchants/manage-merchants.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { addMerchant, call, checkout, startService } from '../support/service.ts'

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
