import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { holdNextDeliveries } from '../../src/webhooks/hold-deliveries.ts'
import { MAX_WAITING_HOSTS } from '../../src/webhooks/record-tries.ts'
import { scheduleMissedRetries, scheduleRetries } from '../../src/webhooks/retry-store.ts'
import { findRetries } from '../../src/webhooks/search-store.ts'
import {
  addEndpoint,
  deliveriesSeen,
  deliverySeen,
  ENDPOINTS,
  startDeliveringService,
  tell,
  triedTimes,
} from '../support/delivering.ts'
import { type Heard, startListener, takes } from '../support/listener.ts'
import { rowGenerator, timedClaims } from '../support/many-hosts.ts'
import { eventually, request, type Shop } from '../support/paying.ts'

/** One merchant with very many webhook hosts must not delay others. */
const service = await startDeliveringService()
const { database } = service
const { addCopies, addHosts, forgetAll } = rowGenerator(service.databaseUrl)

async function delayOf(shop: Shop): Promise<number> {
  const listener = await startListener()
  const before = performance.now()
  await tell(shop, { webhook: listener.url })
  await listener.hears(1)
  return (listener.heard[0] as Heard).at - before
}

test('20 000 due retries of one merchant leave room in the same search for the retry of another', async () => {
  const [many, other] = [await service.addShop(), await service.addShop()]
  const [eventId, theirs] = [await tell(many), await tell(other)]
  await addHosts(eventId, { count: 20_000, tries: 1 })
  await database.rows(sql`update delivery_retries set next_due_at = now() - interval '1 minute'`)
  await database.rows(sql`update deliveries set due_at = now() - interval '1 minute' where tries > 0`)
  await addHosts(theirs, { name: 'the only host', count: 1, tries: 1 })
  await database.rows(sql`update deliveries set due_at = now() where event_id = ${uuidOf(theirs)}`)
  await scheduleRetries(database, other.place, ['the only host 1'])
  const found = await findRetries(database, {
    ...{ workerId: randomUUID(), exceptDestinations: [], exceptMerchants: [] },
    ...{ after: '00000000-0000-0000-0000-000000000000', maxDestinations: 32, perMerchant: 16 },
  })
  const counts = [many, other].map(
    (shop) => found.filter(({ merchantUuid }) => merchantUuid === shop.merchantUuid).length,
  )
  assert.deepEqual(counts, [16, 1])
  await forgetAll()
})

test('a merchant with 20 000 silent hosts gets a bounded share of an engine; webhooks of others arrive at once', async (t) => {
  const [many, other] = [await service.addShop(), await service.addShop()]
  const hole = await startListener(takes.inSilence)
  const eventId = await tell(many)
  await addHosts(eventId, { url: hole.url, name: 'silent', count: 20_000 })
  const { timed, median } = timedClaims(database)
  // No call to a silent host ends during the test, however slow the machine is.
  const engine = service.startEngine({ database: timed, deadlineMs: 100_000 })
  await hole.hears(256, 60_000)
  const delays: number[] = []
  for (let number = 0; number < 5; number++) delays.push(await delayOf(other))
  t.diagnostic(
    `a claim took ${median().toFixed(1)} ms; first tries arrived after ${delays.map(Math.round).join(', ')} ms`,
  )
  // The third of five: a busy machine may stall.
  assert.ok((delays.toSorted((a, b) => a - b)[2] ?? Number.NaN) < 2_000, `${delays} ms`)
  assert.ok(median() < 250, `${median()} ms`)
  assert.ok(hole.heard.length <= 256 + 16, `${hole.heard.length} calls at once for one merchant`)
  hole.hangUp()
  await engine.stop()
  await forgetAll()
})

test('a host that fails while 1 000 others of its merchant wait for a retry is exhausted at once, and can be redelivered', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.with(500, {}, 'not today'))
  const eventId = await tell(shop)
  await addHosts(eventId, { count: MAX_WAITING_HOSTS - 1, tries: 1 })
  const engine = service.startEngine()
  const allowed = await tell(shop, { webhook: listener.url })
  assert.equal((await triedTimes(shop, allowed, 1)).state, 'waiting', 'the thousandth is retried as always')
  const another = await startListener(takes.with(500, {}, 'not today'))
  const refused = await tell(shop, { webhook: another.url })
  const delivery = await triedTimes(shop, refused, 1)
  assert.equal(delivery.state, 'exhausted')
  assert.equal(delivery.tries[0]?.status, 500)
  assert.match(delivery.tries[0]?.error ?? '', /^too_many_hosts: 1000 other hosts of yours wait for a retry/)
  const again = await tell(shop, { webhook: listener.url })
  assert.equal((await triedTimes(shop, again, 1)).state, 'waiting', 'a host that waits already is retried')
  const stranger = await service.addShop()
  const theirs = await tell(stranger, { webhook: another.url })
  assert.equal((await triedTimes(stranger, theirs, 1)).state, 'waiting', 'each merchant has its own limit')
  another.answer = takes.well
  await shop.call('POST', `/payments/v1/events/${refused}/redeliver`)
  assert.equal((await triedTimes(shop, refused, 2)).state, 'delivered')
  await engine.stop()
  await forgetAll()
})

test('a call to redeliver ends, also when what it sends is exhausted again at once', async () => {
  const shop = await service.addShop()
  const eventId = await tell(shop)
  await addHosts(eventId, { count: 5_000 })
  await database.rows(sql`
    update deliveries set state = 'exhausted', done_at = now() where place = ${shop.place} and event_id = ${uuidOf(eventId)}`)
  // In place of a worker whose calls to blocked addresses fail within the moment.
  await database.rows(sql`
    create function exhaust_again() returns trigger language plpgsql as
      'begin if new.state = ''waiting'' then new.state := ''exhausted''; new.done_at := now(); end if; return new; end'`)
  await database.rows(
    sql`create trigger exhaust_again before update on deliveries for each row execute function exhaust_again()`,
  )
  const { status, body } = await shop.call('POST', '/payments/v1/events/redeliver', { from: '2026-01-01' })
  await database.rows(sql`drop trigger exhaust_again on deliveries`)
  assert.deepEqual([status, body.data?.deliveries], [200, 50_000], JSON.stringify(body))
  await forgetAll()
})

test('a destination leaves the retry schedule when its last delivery ends, and missing retries are scheduled', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.notNow)
  const engine = service.startEngine()
  const eventId = await tell(shop, { webhook: listener.url })
  await triedTimes(shop, eventId, 1)
  const scheduled = () => database.rows(sql`select from delivery_retries where merchant_id = ${shop.merchantUuid}`)
  assert.equal((await scheduled()).length, 1)
  // An older version of the service, which runs beside this one during an upgrade, leaves it so.
  await database.rows(sql`delete from delivery_retries`)
  await database.rows(
    sql`update deliveries set due_at = now() - interval '2 minutes' where event_id = ${uuidOf(eventId)}`,
  )
  listener.answer = takes.well
  assert.equal(await scheduleMissedRetries(database, undefined, 1_000), undefined)
  const delivery = await eventually(
    () => deliverySeen(shop, eventId),
    ({ state }) => state === 'delivered',
  )
  assert.equal(delivery.tries.length, 2)
  await eventually(scheduled, ({ length }) => length === 0)
  await engine.stop()
})

test('deleting an endpoint with 3 000 waiting deliveries stops them at once, and the rows are updated in chunks', async () => {
  const shop = await service.addShop()
  const listener = await startListener()
  const { id } = await addEndpoint(shop, listener.url)
  const eventId = await tell(shop)
  await addCopies(eventId, 2_999)
  assert.equal((await shop.call('DELETE', `${ENDPOINTS}/${id}`)).status, 200)
  const states = () =>
    database.rows(sql`select state, count(*) from deliveries where event_id = ${uuidOf(eventId)} group by 1 order by 1`)
  assert.equal((await states()).length, 2, 'the merchant did not have to wait for all of them')
  assert.deepEqual([...new Set((await deliveriesSeen(shop, eventId)).map(({ state }) => state))], ['disabled'])
  const engine = service.startEngine()
  await delayOf(await service.addShop())
  const hold = async () => {
    while (await holdNextDeliveries(database, 1_000));
    return states()
  }
  assert.deepEqual(await hold(), [{ state: 'disabled', count: 3_000 }])
  // A payment whose transaction began before the endpoint was deleted.
  await database.rows(sql`
    update deliveries set state = 'waiting', done_at = null where id = (select id from deliveries where event_id = ${uuidOf(eventId)} limit 1)`)
  engine.wake()
  await eventually(hold, ({ length }) => length === 1)
  await engine.stop()
  assert.equal(listener.heard.length, 0)
})

test('disabling an endpoint stops the deliveries that an engine has claimed for it', async () => {
  const shop = await service.addShop()
  const held: (() => void)[] = []
  const listener = await startListener((_, response) => held.push(() => response.end()))
  const { id } = await addEndpoint(shop, listener.url)
  await addCopies(await tell(shop), 20)
  const engine = service.startEngine()
  await listener.hears(8)
  await request(`${service.baseUrl}${ENDPOINTS}/${id}`, 'PATCH', shop.headers, { enabled: false })
  await delayOf(await service.addShop()) // the engine has heard of it by now
  for (const answer of held) answer()
  await delayOf(await service.addShop())
  await engine.stop()
  assert.equal(listener.heard.length, 8)
})

test('deliveries that wait at twenty disabled endpoints do not delay those to another destination of the merchant', async () => {
  const shop = await service.addShop()
  const { id } = await addEndpoint(shop, 'http://127.0.0.1:9/')
  const eventId = await tell(shop)
  await database.rows(sql`
    with disabled as (
      insert into webhook_endpoints (id, merchant_id, mode, url, events, enabled, sealed_secret)
      select gen_random_uuid(), merchant_id, mode, url, events, false, sealed_secret
        from webhook_endpoints cross join generate_series(1, 20) where id = ${uuidOf(id)}
      returning id, url
    )
    insert into deliveries (place, id, event_id, merchant_id, mode, endpoint_id, url, destination)
    select e.place, gen_random_uuid(), e.id, e.merchant_id, e.mode, w.id, w.url, w.id::text
      from events e cross join disabled w where e.id = ${uuidOf(eventId)}`)
  const engine = service.startEngine()
  await delayOf(shop)
  await engine.stop()
})
