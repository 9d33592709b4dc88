import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { addMember } from '../../test/support/dashboard.ts'
import { createDatabase } from '../../test/support/database.ts'
import { savedToken } from '../../test/support/saved-cards.ts'
import { addMerchant } from '../../test/support/service.ts'
import { checkSecretKey } from '../database/check-secret-key.ts'
import type { Database } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { findDefaultSecret } from '../events/webhook-secret-store.ts'
import { embedId, readEmbedId } from '../http/checkout/embed.ts'
import { findKeys, makeKeysCurrent } from '../integrations/provider-keys-store.ts'
import { systemClock } from '../kernel/clock.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { type SecretBox, secretBox } from '../kernel/secret-box.ts'
import { findTotp, savePendingTotp } from '../members/factor-store.ts'
import { countersFor, deviceCookieOf, totpContext } from '../members/prove-identity.ts'
import { insertNotice, noticeContext } from '../payments/store/notices.ts'
import { findRefundAccount, saveRefundAccount, sealAccount } from '../payments/store/refund-accounts.ts'
import { upsertCard } from '../payments/store/saved-cards.ts'
import { endpointSecretContext, findEndpointSecret } from '../webhooks/endpoint-store.ts'
import { createEndpoint, rotateDefaultSecret, rotateEndpointSecret } from '../webhooks/manage-endpoints.ts'
import { countValues } from './count-values.ts'
import { valueRewrapper } from './rewrap-values.ts'
import { SEALED_TABLES } from './sealed-tables.ts'

const [OLD, NEW, WRONG] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]
const before = secretBox(OLD)
const during = secretBox(NEW, OLD)
const afterwards = secretBox(NEW)
const log = pino({ level: 'silent' })

async function rewrapAll(database: Database, secrets: SecretBox): Promise<void> {
  const step = valueRewrapper({ database, secrets, log })
  while (await step());
}

const sumOf = async (database: Database, secrets: SecretBox) => {
  const counts = await countValues(database, secrets)
  const sum = (name: 'current' | 'previous' | 'unknown') => counts.reduce((total, count) => total + count[name], 0)
  return { current: sum('current'), previous: sum('previous'), unknown: sum('unknown') }
}

const card = { token: 'tok_1', brand: 'visa', last4: '4081', expiryMonth: 12, expiryYear: 2099 }

const SEEDED = 11
const BANK_ACCOUNT = { accountNumber: '0690000031', bankCode: '058' }

/** One value in each sealed column, made by the operations that make them. */
async function seed(database: Database, secrets: SecretBox) {
  const parts = { database, clock: systemClock, secrets, log }
  const { merchantId, place } = await addMerchant(database)
  const scope = { merchantId, place, mode: 'sandbox' as const }
  await rotateDefaultSecret(parts, 'test', scope)
  const secret = await rotateDefaultSecret(parts, 'test', scope)
  const wanted = { url: 'https://shop.example/hook', events: [], enabled: true }
  const { endpoint } = await createEndpoint(parts, 'test', scope, wanted)
  const endpointSecret = await rotateEndpointSecret(parts, 'test', scope, endpoint.id)
  const settings = { secretKey: 'sk_test_1' }
  const keys = { settings, baseURL: null, enabled: true }
  const version = await database.transaction((tx) => makeKeysCurrent(tx, secrets, scope, 'acme', keys))
  const member = await addMember(database, { totp: false })
  await database.transaction((tx) => savePendingTotp(tx, member.id, secrets.seal('TOTP', totpContext(member.id))))
  await database.rows(sql`update members set totp_secret = totp_pending where email = ${member.email}`)
  const customers = [
    { id: 'user-1', email: 'Ada@example.com' },
    { id: null, email: 'Ada@example.com' },
  ]
  for (const customer of customers)
    await database.transaction(async (tx) =>
      upsertCard(tx, secrets, {
        ...{ id: newId('card', new Date(), place), scope, provider: 'acme', keysVersion: version, customer, card },
      }),
    )
  const notice = { provider: 'acme', keysVersion: version, reading: { kind: 'unreadable' as const, because: 'test' } }
  const body = Buffer.from('{"naïve":"\xff"}', 'latin1')
  const { notice: stored } = await insertNotice(database, secrets, scope, { ...notice, body }, new Date())
  // Of a customer who was erased: it has no body any more.
  const { notice: erased } = await insertNotice(
    database,
    secrets,
    scope,
    { ...notice, body: Buffer.from('{}') },
    new Date(),
  )
  await database.rows(sql`update notices set body = '' where place = ${place} and id = ${erased.id}`)

  const [payment, attempt] = [newId('payment', new Date(), place), newId('attempt', new Date(), place)]
  const refund = newId('refund', new Date(), place)
  const [merchant, uuids] = [uuidOf(merchantId), [payment, attempt, refund].map((id) => uuidOf(id))]
  await database.rows(sql`
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_email,
                          metadata, expires_at)
    values (${place}, ${uuids[0]}, ${merchant}, 'sandbox', ${payment}, ${payment}, 100, 'NGN', 'NG', false, 'ada@example.com', '{}', now())`)
  await database.rows(sql`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, channel, status, currency, amount_charged, fee,
                          order_reference, provider_reference)
    values (${place}, ${uuids[1]}, ${uuids[0]}, ${merchant}, 'sandbox', 1, ${attempt}, 'acme', 'card', 'pending', 'NGN', 100, 0, ${attempt},
            ${attempt})`)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, status, counted)
    values (${place}, ${uuids[2]}, ${uuids[0]}, ${uuids[1]}, ${merchant}, 'sandbox', 1, 'NGN', 'merchant', 'pending', true)`)
  await database.transaction(async (tx) =>
    saveRefundAccount(tx, refund, sealAccount(secrets, refund, BANK_ACCOUNT), new Date()),
  )

  /** Reads each of them, as the service does. */
  async function check(box: SecretBox): Promise<void> {
    assert.equal(await findDefaultSecret(database, box, scope), secret)
    const sealed = await findEndpointSecret(database, endpoint.id)
    assert.equal(box.open(sealed as Buffer, endpointSecretContext(endpoint.id)), endpointSecret)
    assert.deepEqual((await findKeys(database, box, scope, 'acme', version))?.settings, settings)
    const totp = await findTotp(database, member.id)
    for (const each of [totp?.secret, totp?.pending])
      assert.equal(box.open(each as Buffer, totpContext(member.id)), 'TOTP')
    for (const customer of customers)
      assert.equal(
        await savedToken(database, box, scope, { provider: 'acme', keysVersion: version, customer }),
        card.token,
      )
    assert.deepEqual((await findRefundAccount(database, box, refund))?.account, BANK_ACCOUNT)
    const row = await database.row<{ body: Buffer; digest: Buffer }>(
      sql`select body, digest from notices where place = ${place} and id = ${stored.id}`,
    )
    assert.ok(row && Buffer.from(box.open(row.body, noticeContext(row.digest)), 'latin1').equals(body))
  }
  return { scope, endpoint, check }
}

/** Columns of bytes that are not sealed with SECRET_KEY. */
const NOT_SEALED: Record<string, string> = {
  'credentials.secret_digest': 'a digest',
  'idempotent_calls.digest': 'a digest',
  'mail_counts.key': 'a digest',
  'merchant_logos.bytes': 'a picture',
  'notices.digest': 'a digest',
  'one_time_links.digest': 'a digest',
  'one_time_links.mailed_digest': 'a digest',
  'passkeys.public_key': 'public',
  'payments.request_digest': 'a digest',
  'recovery_codes.digest': 'a digest',
  'secret_keys.canary': 'one for each key, by which a key is recognised',
  'sessions.token_digest': 'a digest',
  'sign_in_tries.key': 'a digest',
  'used_challenges.digest': 'a digest',
}

test('every column of bytes is listed as sealed or as something else', async () => {
  const { database } = await createDatabase()
  const rows = await database.rows<{ name: string }>(sql`
    select table_name || '.' || column_name as name from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea'`)
  const sealed = SEALED_TABLES.flatMap(({ table, columns }) => columns.map((column) => `${table}.${column}`))
  const others = rows.map(({ name }) => name).filter((name) => !sealed.includes(name))
  assert.deepEqual(others.filter((name) => !/^gateway_/.test(name)).sort(), Object.keys(NOT_SEALED).sort())
  const keys = await database.rows<{ name: string; columns: string[] }>(sql`
    select c.conrelid::regclass::text as name,
           array(select attname::text from pg_attribute a, unnest(c.conkey) with ordinality k (number, position)
                  where a.attrelid = c.conrelid and a.attnum = k.number order by k.position) as columns
      from pg_constraint c where c.contype = 'p'`)
  for (const { table, key } of SEALED_TABLES)
    assert.deepEqual(Object.keys(key), keys.find(({ name }) => name === table)?.columns, table)
})

test('H1: a rotation encrypts every stored value again, and then the previous key is not needed', async () => {
  const { database } = await createDatabase()
  await checkSecretKey(database, before)
  const { check } = await seed(database, before)
  for (const { table, columns } of SEALED_TABLES)
    for (const column of columns) {
      const count = await countColumn(database, table, column)
      assert.ok(count > 0, `seed() makes no ${table}.${column}`)
    }
  await checkSecretKey(database, during)
  await check(during)
  assert.deepEqual(await sumOf(database, during), { current: 0, previous: SEEDED, unknown: 0 })
  await assert.rejects(checkSecretKey(database, afterwards), /still encrypted with another key, .*SECRET_KEY_PREVIOUS/)

  await Promise.all([rewrapAll(database, during), rewrapAll(database, during)])
  assert.deepEqual(await sumOf(database, during), { current: SEEDED, previous: 0, unknown: 0 })
  await checkSecretKey(database, afterwards)
  await check(afterwards)
  await assert.rejects(checkSecretKey(database, before), /not the one that this database was set up with/)
})

async function countColumn(database: Database, table: string, column: string): Promise<number> {
  const row = await database.row<{ count: number }>({
    name: `count ${table} ${column}`,
    text: `select count(${column})::int as count from ${table}`,
    values: [],
  })
  return row?.count ?? 0
}

test('H1: a value that changes during its rotation is not overwritten', async () => {
  const { database } = await createDatabase()
  await checkSecretKey(database, before)
  const { scope, endpoint } = await seed(database, before)
  await checkSecretKey(database, during)
  let secret: string | undefined
  const interrupting: Database = {
    ...database,
    rows: async (statement) => {
      // Another process, still with the previous key, is faster.
      if (!secret && statement.text.startsWith('update webhook_endpoints'))
        secret = await rotateEndpointSecret(
          { database, clock: systemClock, secrets: before },
          'test',
          scope,
          endpoint.id,
        )
      return database.rows(statement)
    },
  }
  await rewrapAll(interrupting, during)
  assert.ok(secret)
  const sealed = (await findEndpointSecret(database, endpoint.id)) as Buffer
  assert.equal(afterwards.open(sealed, endpointSecretContext(endpoint.id)), secret)
  assert.equal((await sumOf(database, during)).previous, 0)
})

test('H1: a wrong key is named at start, and changes nothing', async () => {
  const { database } = await createDatabase()
  await checkSecretKey(database, before)
  const { check } = await seed(database, before)
  const keys = () => database.rows(sql`select key_id, canary from secret_keys`)
  const known = await keys()
  const wrong = /set up with/
  await assert.rejects(checkSecretKey(database, secretBox(WRONG)), wrong)
  await assert.rejects(checkSecretKey(database, secretBox(NEW, WRONG)), wrong)
  await checkSecretKey(database, secretBox(OLD, WRONG)) // it reads nothing
  assert.deepEqual(await keys(), known)
  // As if the check was not there: values of an unknown key stay as they are, and the key stays on record.
  await rewrapAll(database, secretBox(NEW, WRONG))
  assert.deepEqual((await sumOf(database, during)).previous, SEEDED)
  await check(before)
  await assert.rejects(checkSecretKey(database, secretBox(WRONG, NEW)), wrong)
})

test('H1: tokens and cookies of the previous key work during the rotation, and not after it', () => {
  const [payment, now, email] = [newId('payment', new Date(), 1), new Date(), 'ada@example.com']
  const embed = embedId(before, payment, now)
  const device = deviceCookieOf(before, email)
  const isKnownDevice = (box: SecretBox) =>
    countersFor(box, 'password', email, { address: '', userAgent: '', device })[0]?.name.startsWith('device')
  assert.deepEqual([readEmbedId(during, embed, now), isKnownDevice(during)], [payment, true])
  assert.deepEqual([readEmbedId(afterwards, embed, now), isKnownDevice(afterwards)], [undefined, false])
  assert.ok(during.verify(before.sign('x', 'form'), 'x', 'form'))
  // What is made during the rotation needs the new key only.
  assert.equal(readEmbedId(afterwards, embedId(during, payment, now), now), payment)
  assert.ok(afterwards.verify(during.sign('x', 'form'), 'x', 'form'))
})
