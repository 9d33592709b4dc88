import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { MAX_VIEWS } from '../../src/members/manage-views.ts'
import { addMember, signedInBrowser } from '../support/dashboard.ts'
import { addMerchant, startService } from '../support/service.ts'

const { app, database } = await startService()
const { merchantId } = await addMerchant(database)
const VIEWS = `/merchants/${merchantId}/views`

async function newMember() {
  const { id } = await addMember(database, { role: 'viewer', merchantId })
  return { id, browser: await signedInBrowser(app, database, id) }
}

test('a member saves, changes and deletes views; other members have their own', async () => {
  const { id: memberId, browser } = await newMember()
  const filters = { status: 'successful', amountFrom: '1,500.00', from: '2026-01-01' }
  const { status, body } = await browser.call('POST', VIEWS, { name: ' Large ', filters })
  assert.deepEqual([status, body.data.name, body.data.filters], [201, 'Large', filters])
  const { id } = body.data
  assert.match(id, /^svw_/)
  await browser.call('POST', VIEWS, { name: 'all', filters: {} })
  const names = async () => (await browser.call('GET', VIEWS)).body.data.map(({ name }: { name: string }) => name)
  assert.deepEqual(await names(), ['all', 'Large'])

  const taken = await browser.call('PATCH', `${VIEWS}/${id}`, { name: 'ALL' })
  assert.deepEqual([taken.status, taken.body.code], [409, 'conflict'])
  assert.equal((await browser.call('PATCH', `${VIEWS}/${id}`, { name: 'Very large' })).status, 200)
  assert.equal((await browser.call('PATCH', `${VIEWS}/${id}`, { filters: { late: 'true' } })).status, 200)
  const { body: listed } = await browser.call('GET', VIEWS)
  assert.deepEqual(listed.data[1], { id, name: 'Very large', filters: { late: 'true' } })

  const { browser: other } = await newMember()
  assert.deepEqual((await other.call('GET', VIEWS)).body.data, [])
  assert.equal((await other.call('PATCH', `${VIEWS}/${id}`, { name: 'Mine' })).status, 404)
  assert.equal((await other.call('DELETE', `${VIEWS}/${id}`)).status, 404)
  assert.equal((await other.call('POST', VIEWS, { name: 'all', filters: {} })).status, 201)

  assert.equal((await browser.call('DELETE', `${VIEWS}/${id}`)).status, 204)
  assert.equal((await browser.call('DELETE', `${VIEWS}/${id}`)).status, 404)
  assert.deepEqual(await names(), ['all'])
  const acts = await database.rows<{ act: string }>(sql`
    select act from audit_log where actor = ${`member:${memberId}`} and subject = ${id} order by id`)
  assert.deepEqual(
    acts.map(({ act }) => act),
    ['view.saved', 'view.changed', 'view.changed', 'view.deleted'],
  )
})

test('a view holds filters only: no search text, which may be the address of a customer', async () => {
  const { browser } = await newMember()
  for (const wrong of [
    { name: 'x', filters: { q: 'ada@example.com' } },
    { name: 'x', filters: { status: 5 } },
    { name: 'x', filters: { from: 'x'.repeat(51) } },
    { name: '  ', filters: {} },
    { name: 'x'.repeat(61), filters: {} },
    { name: 'two\nlines', filters: {} },
    { name: 'x' },
  ])
    assert.equal((await browser.call('POST', VIEWS, wrong)).status, 400, JSON.stringify(wrong))
})

test('a member has at most 50 views, also when the last ones are saved at once', async () => {
  const { id, browser } = await newMember()
  await database.rows(sql`
    insert into saved_views (id, member_id, merchant_id, name, filters)
    select gen_random_uuid(), ${uuidOf(id)}, ${uuidOf(merchantId)}, 'View ' || n, '{}' from generate_series(1, ${MAX_VIEWS - 1}::int) n`)
  const saved = await Promise.all(['A', 'B', 'C'].map((name) => browser.call('POST', VIEWS, { name, filters: {} })))
  assert.deepEqual(saved.map(({ status }) => status).sort(), [201, 409, 409])
})

test('the views of a member who leaves are gone', async () => {
  const { id, browser } = await newMember()
  await browser.call('POST', VIEWS, { name: 'Mine', filters: {} })
  await database.rows(sql`delete from memberships where member_id = ${uuidOf(id)}`)
  assert.deepEqual(await database.rows(sql`select id from saved_views where member_id = ${uuidOf(id)}`), [])
})
