import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { newId, placeOf, uuidOf } from '../../src/kernel/ids.ts'
import { requeueGivenUp } from '../../src/webhooks/delivery-store.ts'
import { purgesOf, retentionJob } from '../../src/worker/retention.ts'
import { startWorker } from '../../src/worker/worker.ts'
import {
  addEndpoint,
  deliveriesSeen,
  deliverySeen,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { closedPort, startListener, takes } from '../support/listener.ts'
import { eventually, type Shop } from '../support/paying.ts'
import { codesOf } from '../support/service.ts'

const service = await startDeliveringService()
const { database } = service
service.startEngine()
const EVENTS = '/payments/v1/events'
const stateOf = async (shop: Shop, eventId: string) => (await deliverySeen(shop, eventId)).state

test('events are listed newest first, by payment and by type, with keyset pagination', async () => {
  const shop = await service.addShop()
  const ids: string[] = []
  for (let number = 0; number < 5; number++) ids.push(await tell(shop, { reference: `order-${number}` }))
  const started = await shop.initialize({ reference: 'declined' })
  await shop.call('POST', `/sandbox/gateway/charges/${started.body.data.data.reference}`, {
    card: '4000 0000 0000 0002',
  })
  const list = async (query: string) => (await shop.call('GET', `${EVENTS}?${query}`)).body
  const all = await eventually(
    () => list(''),
    ({ data }) => data.length === 6,
  )
  assert.equal(all.nextCursor, null)
  const newest = ids.toReversed()
  assert.deepEqual(
    all.data.map(({ id, type }: { id: string; type: string }) => (type === 'attempt.failed' ? type : id)),
    ['attempt.failed', ...newest],
  )
  assert.deepEqual(
    (await list('type=payment.cancelled')).data.map(({ id }: { id: string }) => id),
    newest,
  )
  assert.deepEqual((await list('payment=order-2')).data, [all.data.find(({ id }: { id: string }) => id === ids[2])])
  assert.deepEqual((await list('payment=order-2&type=attempt.failed')).data, [])

  const paged: string[] = []
  let cursor: string | null = ''
  for (let page = 0; cursor !== null && page < 10; page++) {
    const found: { data: { id: string }[]; nextCursor: string | null } = await list(
      `limit=2${cursor && `&cursor=${cursor}`}`,
    )
    assert.ok(found.data.length <= 2)
    paged.push(...found.data.map(({ id }) => id))
    cursor = found.nextCursor
  }
  assert.deepEqual(
    paged,
    all.data.map(({ id }: { id: string }) => id),
  )
  for (const query of ['limit=0', 'limit=101', 'cursor=nonsense', 'type=payment.sucessful']) {
    assert.equal((await shop.call('GET', `${EVENTS}?${query}`)).status, 400, query)
  }
  assert.equal((await shop.call('GET', `${EVENTS}?payment=nobody`)).status, 404)
})

test('an event is shown as it was sent, with its deliveries', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  const eventId = await tell(shop, { webhook: listener.url })
  await triedTimes(shop, eventId, 1)
  const { event } = (await shop.call('GET', `${EVENTS}/${eventId}`)).body.data
  assert.deepEqual(event, JSON.parse(listener.heard[0]?.body ?? ''))
})

test('F2: an event of another merchant answers like one that does not exist, for reads and redeliveries', async () => {
  const [owner, stranger] = [await service.addShop(), await service.addShop()]
  const listener = await startListener()
  const eventId = await tell(owner, { webhook: listener.url, reference: 'theirs' })
  await triedTimes(owner, eventId, 1)
  for (const name of [eventId, newId('event', new Date(), owner.place), 'evt_nonsense']) {
    const answers = [
      await stranger.call('GET', `${EVENTS}/${name}`),
      await stranger.call('POST', `${EVENTS}/${name}/redeliver`),
    ]
    for (const { status, body } of answers) {
      assert.deepEqual(
        [status, body.code, body.detail],
        [404, 'not_found', 'You have no event with this id in this mode.'],
      )
    }
  }
  assert.equal((await stranger.call('GET', `${EVENTS}?payment=theirs`)).status, 404)
  assert.deepEqual((await stranger.call('GET', EVENTS)).body.data, [])
  const from = '2000-01-01'
  await database.rows(sql`update deliveries set state = 'exhausted' where event_id = ${uuidOf(eventId)}`)
  assert.deepEqual((await stranger.call('POST', `${EVENTS}/redeliver`, { from })).body, { data: { deliveries: 0 } })
  assert.equal(listener.heard.length, 1)
})

test('a delivered event can be redelivered to all its destinations, with the same id and bytes', async () => {
  const shop = await service.addShop()
  const [own, configured] = [await startListener(), await startListener()]
  await addEndpoint(shop, configured.url)
  const eventId = await tell(shop, { webhook: own.url })
  await Promise.all([own.hears(1), configured.hears(1)])
  await eventually(
    () => deliveriesSeen(shop, eventId),
    (all) => all.every(({ state }) => state === 'delivered'),
  )
  assert.deepEqual((await shop.call('POST', `${EVENTS}/${eventId}/redeliver`)).body, { data: { deliveries: 2 } })
  await Promise.all([own.hears(2), configured.hears(2)])
  const heard = [...own.heard, ...configured.heard]
  assert.deepEqual([...new Set(heard.map(({ headers }) => headers['webhook-id']))], [eventId])
  assert.equal(new Set(heard.map(({ body }) => body)).size, 1)
})

test('a redelivery by time sends the exhausted and disabled deliveries of that time, and nothing else', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.with(410))
  const ids: Awaited<ReturnType<typeof tell>>[] = []
  for (let number = 0; number < 3; number++) ids.push(await tell(shop, { webhook: listener.url }))
  const [old, recent, other] = ids as [(typeof ids)[0], (typeof ids)[0], (typeof ids)[0]]
  for (const id of ids) await triedTimes(shop, id, 1)
  await database.rows(sql`update deliveries set created_at = now() - interval '3 days' where event_id = ${uuidOf(old)}`)
  await database.rows(sql`update deliveries set state = 'delivered' where event_id = ${uuidOf(other)}`)
  listener.answer = takes.well
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  const replay = (body: unknown) => shop.call('POST', `${EVENTS}/redeliver`, body)
  assert.deepEqual((await replay({ from: hoursAgo(48), to: hoursAgo(24) })).body, { data: { deliveries: 0 } })
  assert.deepEqual((await replay({ from: hoursAgo(24) })).body, { data: { deliveries: 1 } })
  assert.equal((await triedTimes(shop, recent, 2)).state, 'delivered')
  assert.equal(await stateOf(shop, old), 'exhausted')
  assert.deepEqual((await replay({ from: hoursAgo(96), to: hoursAgo(48) })).body, { data: { deliveries: 1 } })
  assert.equal((await triedTimes(shop, old, 2)).state, 'delivered')
  assert.equal((await deliverySeen(shop, other)).tries.length, 1)
  assert.equal(listener.heard.length, 5)
  const wrong = await replay({ from: 'yesterday', To: 'now' })
  assert.deepEqual([wrong.status, codesOf(wrong)], [400, { '/from': 'invalid_format', '/To': 'unknown_field' }])
  assert.equal((await replay({})).status, 400)
})

test('a redelivery by time begins with the oldest deliveries', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.with(410))
  const oldest = await tell(shop, { webhook: listener.url })
  const newest = await tell(shop, { webhook: listener.url })
  for (const id of [newest, oldest]) await triedTimes(shop, id, 1)
  // An index by time would begin with the newest one.
  await database.rows(sql`
    update deliveries set created_at = created_at - interval '1 minute' where event_id = ${uuidOf(newest)}`)
  await database.rows(sql`update deliveries set tries_before = 0 where event_id = ${uuidOf(oldest)}`)
  const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 60_000), limit: 1 }
  const scope = { merchantId: shop.merchantId, mode: 'sandbox' as const, place: placeOf(oldest) }
  listener.answer = takes.well
  assert.equal(await database.transaction((tx) => requeueGivenUp(tx, scope, range)), 1)
  assert.equal((await triedTimes(shop, oldest, 2)).state, 'delivered')
  assert.equal(await stateOf(shop, newest), 'exhausted')
})

test('deliveries that ended more than ninety days ago are deleted with their tries; their events stay', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  const [old, young] = [await tell(shop, { webhook: listener.url }), await tell(shop, { webhook: listener.url })]
  for (const id of [old, young]) await triedTimes(shop, id, 1)
  const age = (id: typeof old, days: number) =>
    database.rows(sql`
      update deliveries set done_at = done_at - ${days}::integer * interval '1 day' where event_id = ${uuidOf(id)}`)
  await age(old, 91)
  await age(young, 89)
  const waiting = await tell(shop, { webhook: await closedPort() })
  await triedTimes(shop, waiting, 1)
  await database.rows(
    sql`update deliveries set created_at = now() - interval '100 days' where event_id = ${uuidOf(waiting)}`,
  )
  const days = { transportDays: 90, sandboxDays: undefined, moneyDays: undefined }
  const worker = startWorker(service.parts, [retentionJob(service.parts, purgesOf(service.parts, days, []))])
  await eventually(
    () => deliveriesSeen(shop, old),
    (all) => all.length === 0,
  )
  await worker.stop()
  assert.equal((await deliveriesSeen(shop, young)).length, 1)
  assert.equal((await deliveriesSeen(shop, waiting)).length, 1)
  assert.equal((await shop.call('GET', `${EVENTS}/${old}`)).body.data.event.id, old)
  const left = await database.row<{ count: number }>(
    sql`select count(*) from delivery_tries t left join deliveries d on d.id = t.delivery_id where d.id is null`,
  )
  assert.equal(left?.count, 0)
})
