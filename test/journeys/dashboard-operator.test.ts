import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, uuidOf } from '../../src/kernel/ids.ts'
import { setOperator } from '../../src/members/manage-members.ts'
import { addMember, newBrowser, signedInBrowser, tokenOf } from '../support/dashboard.ts'
import { addMerchant, checkout, startService } from '../support/service.ts'

const { app, database } = await startService()
const shop = await addMerchant(database)
const { id: memberId } = await addMember(database, { email: 'operator@example.com' })
await setOperator({ database }, 'test', memberId, { operator: true, force: false })
const operator = await signedInBrowser(app, database, memberId)
const MERCHANTS = '/operator/merchants'

async function actsOf(merchantId: MerchantId): Promise<string[]> {
  const rows = await database.rows<{ act: string }>(sql`
    select act from audit_log where merchant_id = ${uuidOf(merchantId)} and actor = ${`member:${memberId}`} order by id`)
  return rows.map(({ act }) => act)
}

test('an operator without a merchant creates one, and its owner joins by a link', async () => {
  const wrong = await operator.call('POST', MERCHANTS, { name: ' ', country: 'ZZ' })
  assert.deepEqual([wrong.status, wrong.body.errors.length], [400, 2])
  const created = await operator.call('POST', MERCHANTS, { name: 'Bola Books', country: 'Ghana' })
  assert.equal(created.status, 201)
  const { id } = created.body.data
  const invite = (email: string) => operator.call('POST', `${MERCHANTS}/${id}/owner-invitation`, { email })
  assert.equal((await invite('nobody')).status, 400)
  const { body } = await invite('bola@example.com')
  const token = tokenOf(body.data.url)
  const link = (await newBrowser(app).call('POST', '/welcome/read', { token })).body.data
  assert.deepEqual([link.merchantName, link.role, link.email], ['Bola Books', 'owner', 'bola@example.com'])
  await addMember(database, { role: 'owner', merchantId: id, email: 'chidi@example.com' })
  assert.equal((await invite('bola@example.com')).status, 409, 'it has an owner now')
  assert.deepEqual(await actsOf(id), ['merchant.created', 'integration.created', 'member.invited'])
  const [listed] = (await operator.call('GET', `${MERCHANTS}?q=bola%20b`)).body.data
  const { createdAt, ...rest } = listed
  assert.deepEqual(rest, {
    ...{ id, name: 'Bola Books', country: 'GH', status: 'active', members: 1, ownerEmail: 'chidi@example.com' },
  })
  assert.ok(Date.parse(createdAt) > 0)
})

test('merchants are listed newest first, page by page, and a search is text, not a pattern', async () => {
  for (let number = 0; number < 4; number++) await addMerchant(database)
  const all = (await operator.call('GET', MERCHANTS)).body.data.map(({ id }: { id: string }) => id)
  const seen: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await operator.call('GET', `${MERCHANTS}?limit=2${cursor && `&cursor=${cursor}`}`)
    seen.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.nextCursor
  }
  assert.ok(all.length >= 6)
  assert.deepEqual(seen, all)
  assert.deepEqual((await operator.call('GET', `${MERCHANTS}?q=%25`)).body.data, [])
  assert.equal((await operator.call('GET', `${MERCHANTS}?cursor=x`)).status, 404)
})

test('a suspended merchant is refused until it is resumed; both are in its audit log, once', async () => {
  const status = (value: string) => operator.call('PUT', `${MERCHANTS}/${shop.merchantId}/status`, { status: value })
  assert.equal((await status('closed')).status, 400)
  for (const value of ['suspended', 'suspended', 'active']) assert.equal((await status(value)).status, 204)
  assert.deepEqual(await actsOf(shop.merchantId), ['merchant.suspended', 'merchant.active'])
  const unknown = `${MERCHANTS}/mer_unknown/status`
  assert.equal((await operator.call('PUT', unknown, { status: 'suspended' })).status, 404)
})

test('I7: every change of an operator needs a fresh second factor', async () => {
  const { id } = await addMember(database, {})
  await setOperator({ database }, 'test', id, { operator: true, force: false })
  const stale = await signedInBrowser(app, database, id)
  await database.rows(sql`
    update sessions set confirmed_at = now() - interval '11 minutes' where member_id = ${uuidOf(id)}`)
  for (const [method, path, body] of [
    ['POST', MERCHANTS, { name: 'New', country: 'NG' }],
    ['PUT', `${MERCHANTS}/${shop.merchantId}/status`, { status: 'suspended' }],
    ['POST', `${MERCHANTS}/${shop.merchantId}/owner-invitation`, { email: 'ada@example.com' }],
  ] as const)
    assert.equal((await stale.call(method, path, body)).body.code, 'step_up_required', path)
  assert.equal((await stale.call('GET', MERCHANTS)).status, 200)
})

test('system: what is due, how long the oldest waits, sizes, migrations and operators', async () => {
  const read = async () => (await operator.call('GET', '/operator/system')).body.data
  const before = await read()
  assert.deepEqual(before.queues.expiries, { due: 0, oldestAt: null })
  await checkout(app, shop)
  await checkout(app, shop)
  await database.rows(sql`update payments set expires_at = '2026-01-02T03:04:05Z' where place = ${shop.place}`)
  const { queues, version, workers, database: status, operators } = await read()
  assert.deepEqual(queues.expiries, { due: 2, oldestAt: '2026-01-02T03:04:05.000Z' })
  assert.deepEqual(queues.checks, { due: 0, oldestAt: null })
  assert.match(version, /^\d+\.\d+\.\d+$/)
  assert.equal(workers, 0)
  assert.ok(status.sizeBytes > 1_000_000 && status.tables.length === 10)
  assert.equal(status.migrations.length, status.knownMigrations)
  assert.ok(operators.some(({ email }: { email: string }) => email === 'operator@example.com'))
})

test('the oldest due delivery is found among several destinations, and retries of the future are not due', async () => {
  const add = (destination: string, dueAt: string, number: number) =>
    database.rows(sql`
      with event as (
        insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, body)
        select p.place, gen_random_uuid(), p.merchant_id, p.mode, p.id, 'payment.expired', ${number}, '{}', '{}'
          from payments p where p.place = ${shop.place} limit 1
        returning place, id, merchant_id, mode)
      insert into deliveries (place, id, event_id, merchant_id, mode, url, destination, due_at)
      select place, gen_random_uuid(), id, merchant_id, mode, 'https://shop.example', ${destination}, ${dueAt}::timestamptz from event`)
  await add('b', '2026-02-02T00:00:00Z', 101)
  await add('a', '2999-01-01T00:00:00Z', 102)
  await add('c', '2026-02-01T00:00:00Z', 103)
  await add('c', '2026-02-03T00:00:00Z', 104)
  const { queues } = (await operator.call('GET', '/operator/system')).body.data
  assert.deepEqual(queues.deliveries, { due: 4, oldestAt: '2026-02-01T00:00:00.000Z' })
})
