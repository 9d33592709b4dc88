import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Database } from '../../../src/database/database.ts'
import { type Statement, sql } from '../../../src/database/sql.ts'
import { ensureDefaultSecret } from '../../../src/events/webhook-secret-store.ts'
import { uuidOf } from '../../../src/kernel/ids.ts'
import { claimDestinations } from '../../../src/webhooks/claim-store.ts'
import { releaseWorkers, renewWorker } from '../../../src/webhooks/lease-store.ts'
import { findFirstTries } from '../../../src/webhooks/search-store.ts'
import {
  addEndpoint,
  defaultSecretOf,
  deliverySeen,
  ENDPOINTS,
  endLeases,
  heapUp,
  startDeliveringService,
  tell,
  triedTimes,
} from '../../support/delivering.ts'
import { type Heard, type Manner, startListener, takes } from '../../support/listener.ts'
import { timedClaims } from '../../support/many-hosts.ts'
import { eventually } from '../../support/paying.ts'

/** Many deliveries and several engines. */
const service = await startDeliveringService()
const { database } = service

test('D7: at most 8 deliveries are in flight to one destination with two engines, and each arrives once', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.after(30))
  const eventId = await tell(shop)
  await heapUp(database, eventId, { url: listener.url, destination: 'slow' }, 300)
  const engines = [service.startEngine(), service.startEngine()]
  await listener.hears(300, 30_000)
  const left = await eventually(
    () => waitingFor('slow'),
    (count) => count === 0,
  )
  assert.equal(left, 0)
  assert.equal(listener.heard.length, 300)
  assert.equal(listener.mostAtOnce, 8)
  await Promise.all(engines.map((engine) => engine.stop()))
})

async function waitingFor(destination: string): Promise<number> {
  const row = await database.row<{ count: number }>(
    sql`select count(*) from deliveries where destination = ${destination} and state = 'waiting'`,
  )
  return row?.count ?? 0
}

test('D7: with 20 000 deliveries for a dead endpoint, a first try to another merchant arrives within 2 s, and claims stay fast', async (t) => {
  const [dead, alive] = [await service.addShop(), await service.addShop()]
  const hole = await startListener(takes.inSilence)
  await heapUp(database, await tell(dead), { url: hole.url, destination: 'a dead endpoint' }, 20_000)
  const { timed, median } = timedClaims(database)
  const engine = service.startEngine({ database: timed, deadlineMs: 1_000, isHurried: (url) => url === hole.url })
  await hole.hears(8)
  const listener = await startListener()
  const delays: number[] = []
  for (let number = 1; number <= 20; number++) {
    const before = performance.now()
    await tell(alive, { webhook: listener.url })
    await listener.hears(number)
    delays.push((listener.heard[number - 1] as Heard).at - before)
  }
  await hole.hears(24)
  await engine.stop()
  // Half of them: a busy machine may stall once. Behind the dead endpoint each would wait for minutes.
  const usual = delays.toSorted((a, b) => a - b)[delays.length / 2] ?? Number.NaN
  assert.ok(usual < 2_000, `${usual} ms`)
  assert.equal(hole.mostAtOnce, 8)
  t.diagnostic(`a claim took ${median().toFixed(1)} ms`)
  t.diagnostic(`slowest first try ${Math.max(...delays).toFixed(0)} ms, its payment made and cancelled included`)
  assert.ok(median() < 250, `a claim took ${median()} ms`)
  await forget('a dead endpoint')
})

test('D7: an engine claims a bounded number of deliveries for a dead endpoint, also when it is woken often', async () => {
  const [dead, alive] = [await service.addShop(), await service.addShop()]
  const hole = await startListener(takes.inSilence)
  await heapUp(database, await tell(dead), { url: hole.url, destination: 'a dead endpoint' }, 6_000)
  let [searches, taken] = [0, 0]
  const counted: Database = {
    ...database,
    async rows<Row>(statement: Statement) {
      const rows = await database.rows<Row>(statement)
      if (statement.text.includes('with recursive steps')) searches++
      if (!statement.text.includes('insert into delivery_leases')) return rows
      taken += rows.filter((row) => (row as { destination: string }).destination === 'a dead endpoint').length
      return rows
    },
  }
  // No call to the dead endpoint ends during the test, however slow the machine is.
  const engine = service.startEngine({ database: counted, deadlineMs: 100_000 })
  await hole.hears(8)
  await eventually(
    async () => {
      engine.wake()
      return searches
    },
    (count) => count >= 70,
    60_000,
  )
  assert.ok(taken <= 128, `${taken} were taken`)
  const listener = await startListener()
  await tell(alive, { webhook: listener.url })
  await listener.hears(1) // although no call to the dead endpoint has ended
  hole.hangUp()
  await engine.stop()
  await forget('a dead endpoint')
})

async function forget(destination: string): Promise<void> {
  await database.rows(sql`delete from deliveries where destination = ${destination}`)
}

test('D7: a search leaves out full destinations and those that another worker has a lease on', async () => {
  const shop = await service.addShop()
  const eventId = await tell(shop)
  const names = ['turn 1', 'turn 2', 'turn 3', 'turn 4', 'turn 5']
  for (const destination of names) {
    await heapUp(database, eventId, { url: 'http://127.0.0.1:9/', destination }, 20)
  }
  const [me, other] = [randomUUID(), randomUUID()]
  const find = async (workerId: string, exceptDestinations: string[] = [], claimedIds: string[] = []) => {
    const found = await findFirstTries(database, {
      ...{ workerId, exceptDestinations, claimedIds, exceptMerchants: [] },
      ...{ after: '00000000-0000-0000-0000-000000000000', maxDestinations: 9, perMerchant: 3 },
    })
    return found.filter(({ place }) => place === shop.place).map(({ destination }) => destination)
  }
  const claim = async (workerId: string, destinations: string[], claimedIds: string[] = [], perDestination = 4) => {
    const limits = { leaseSeconds: 30, perDestination, claimedIds }
    const claimed = await claimDestinations(database, shop.place, destinations, { workerId, ...limits })
    return claimed.map(({ deliveries }) => deliveries.map(({ uuid }) => uuid))
  }
  assert.deepEqual(await find(me), ['turn 1', 'turn 2', 'turn 3'])
  assert.deepEqual(await find(me, ['turn 1', 'turn 3']), ['turn 2', 'turn 4', 'turn 5'])
  const [first = []] = await claim(me, ['turn 1'])
  const [next = []] = await claim(me, ['turn 1'], first)
  assert.equal(new Set([...first, ...next]).size, 8, 'claimed deliveries are not claimed twice')
  const [rest = []] = await claim(me, ['turn 1'], [...first, ...next], 20)
  assert.deepEqual(await find(me, [], [...first, ...next, ...rest]), ['turn 2', 'turn 3', 'turn 4'])
  assert.deepEqual(await find(other), ['turn 2', 'turn 3', 'turn 4'])
  assert.deepEqual(await claim(other, ['turn 1']), [], 'one lease at a time')
  await endLeases(database, eventId)
  assert.deepEqual(await find(other), ['turn 1', 'turn 2', 'turn 3'])
  for (const destination of names) await forget(destination)
})

test('D7: the last of forty destinations of a merchant is claimed before the backlog of the others', async () => {
  const shop = await service.addShop()
  const eventId = await tell(shop)
  const listener = await startListener()
  const names = Array.from({ length: 40 }, (_, number) => `backlog ${number + 10}`)
  for (const destination of names) await heapUp(database, eventId, { url: listener.url, destination }, 60)
  const claimed: string[] = []
  const watched: Database = {
    ...database,
    async rows<Row>(statement: Statement) {
      const rows = await database.rows<Row & { destination: string }>(statement)
      if (statement.text.includes('insert into delivery_leases'))
        claimed.push(...rows.map(({ destination }) => destination))
      return rows
    },
  }
  const engine = service.startEngine({ database: watched })
  await listener.hears(2_400, 60_000)
  await engine.stop()
  const latest = Math.max(...names.map((name) => claimed.indexOf(name)))
  assert.ok(names.every((name) => claimed.includes(name)))
  // 60 for each: without turns it is 2,340. How many of the others come first depends on how fast they are answered.
  assert.ok(latest < 1_900, `${latest} deliveries were claimed before the first to one of them`)
  for (const name of names) await forget(name)
})

test('the claimed deliveries of a stopped engine are taken over by another at once', async () => {
  const shop = await service.addShop()
  const held: (() => void)[] = []
  const listener = await startListener((_, response) => held.push(() => response.end()))
  await heapUp(database, await tell(shop), { url: listener.url, destination: 'handed over' }, 40)
  const first = service.startEngine()
  await listener.hears(8)
  const stopping = first.stop()
  listener.answer = takes.well
  for (const answer of held) answer()
  await stopping
  assert.equal(listener.heard.length, 8, 'it began none of the others')
  const second = service.startEngine()
  // Faster than the lease of 30 s.
  await listener.hears(40)
  await eventually(
    () => waitingFor('handed over'),
    (count) => count === 0,
  )
  assert.equal(listener.heard.length, 40)
  await second.stop()
})

test('D5: the leases of a worker are released after it lapsed, not while it renews', async () => {
  const shop = await service.addShop()
  const eventId = await tell(shop)
  await heapUp(database, eventId, { url: 'http://127.0.0.1:9/', destination: 'leased' }, 1)
  const [owner, survivor] = [randomUUID(), randomUUID()]
  const renew = (workerId: string, observeSeconds = 0) =>
    renewWorker(database, workerId, { ttlSeconds: 600, observeSeconds })
  await database.rows(sql`
    insert into delivery_leases values (${shop.place}, 'leased', ${owner}::uuid, now() + interval '30 seconds')`)
  const leases = () => database.rows(sql`select from delivery_leases where destination = 'leased'`)
  const started = await renew(owner)
  await renew(survivor)
  assert.ok(!(await renew(survivor)).lapsed.includes(owner))
  await releaseWorkers(database, survivor, [owner])
  assert.equal((await leases()).length, 1, 'the owner renews')

  await database.rows(
    sql`update delivery_workers set alive_until = now() - interval '1 second' where id = ${owner}::uuid`,
  )
  assert.ok(!(await renew(survivor, 60)).lapsed.includes(owner), 'a worker that just started judges no other')
  assert.ok((await renew(survivor)).lapsed.includes(owner))
  await releaseWorkers(database, survivor, [owner])
  assert.equal((await leases()).length, 0)
  assert.notEqual((await renew(owner)).aliveSince, started.aliveSince, 'the owner learns that it had lapsed')
  await releaseWorkers(database, owner, [owner])
  await releaseWorkers(database, survivor, [survivor])
  await forget('leased')
})

test('a call that outlasts the stop of its engine is not recorded, and is sent again by another at once', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.inSilence)
  const eventId = await tell(shop, { webhook: listener.url })
  const first = service.startEngine()
  await listener.hears(1)
  await first.stop()
  listener.answer = takes.well
  const second = service.startEngine()
  await listener.hears(2)
  const delivery = await eventually(
    () => deliverySeen(shop, eventId),
    ({ state }) => state === 'delivered',
  )
  assert.deepEqual(
    delivery.tries.map(({ number, status }) => [number, status]),
    [[1, 200]],
  )
  assert.equal(listener.heard[0]?.headers['webhook-id'], listener.heard[1]?.headers['webhook-id'])
  assert.equal(listener.heard[0]?.body, listener.heard[1]?.body)
  await second.stop()
})

test('D3: after 410 no claimed delivery is sent, and all of them are kept', async () => {
  const shop = await service.addShop()
  const gone: Manner = (heard, response) => setTimeout(() => takes.with(410)(heard, response), 5)
  const listener = await startListener(gone)
  const endpoint = await addEndpoint(shop, listener.url)
  const eventIds = await Promise.all(Array.from({ length: 40 }, () => tell(shop)))
  const engine = service.startEngine()
  await eventually(
    async () => (await shop.call('GET', ENDPOINTS)).body.data[0].enabled,
    (enabled) => !enabled,
  )
  // Enough time for all of them to be sent.
  const other = await startListener()
  for (let number = 1; number <= 6; number++) {
    await tell(await service.addShop(), { webhook: other.url })
    await other.hears(number)
  }
  await engine.stop()
  assert.ok(listener.heard.length <= 16, `${listener.heard.length} were sent`)
  const states = await database.rows<{ state: string; count: number }>(sql`
    select state, count(*) from deliveries where endpoint_id = ${uuidOf(endpoint.id)} group by state`)
  const counts = Object.fromEntries(states.map(({ state, count }) => [state, count]))
  assert.deepEqual(Object.keys(counts).sort(), ['disabled', 'exhausted'])
  assert.equal((counts.disabled ?? 0) + (counts.exhausted ?? 0), eventIds.length)
})

test('the default secret is created when the first deliveries are signed, once for two engines at the same time', async () => {
  const shop = await service.addShop()
  const [one, two] = [await startListener(), await startListener()]
  await tell(shop, { webhook: one.url })
  await tell(shop, { webhook: two.url })
  assert.equal(await defaultSecretOf(service, shop), '')
  const engines = [service.startEngine(), service.startEngine()]
  await Promise.all([one.hears(1), two.hears(1)])
  const judge = new Webhook(await defaultSecretOf(service, shop))
  for (const { body, headers } of [...one.heard, ...two.heard]) judge.verify(body, headers as Record<string, string>)
  await Promise.all(engines.map((engine) => engine.stop()))
})

test('of processes that create the default secret of a merchant at once, all get the same one', async () => {
  const shop = await service.addShop()
  const scope = { merchantId: shop.merchantId, mode: 'sandbox' as const }
  let others: Promise<Buffer[]> | undefined
  // The first has not committed when the others look.
  const first = await database.transaction(async (tx) => {
    const sealed = await ensureDefaultSecret(tx, service.parts.secrets, scope)
    others = Promise.all([1, 2, 3].map(() => ensureDefaultSecret(database, service.parts.secrets, scope)))
    await eventually(
      () =>
        database.rows(
          sql`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%webhook_secrets%'`,
        ),
      ({ length }) => length === 3,
    )
    return sealed
  })
  assert.deepEqual(await others, [first, first, first])
})

test('a delivery is sent once, although the engine is woken all the time', async () => {
  const engine = service.startEngine()
  const [shop, listener] = [await service.addShop(), await startListener()]
  const webhook = listener.url
  await triedTimes(shop, await tell(shop, { webhook }), 1)
  const waking = setInterval(() => engine.wake(), 1)
  const events = await Promise.all(Array.from({ length: 60 }, () => tell(shop, { webhook })))
  await listener.hears(61)
  clearInterval(waking)
  for (const event of events) assert.equal((await triedTimes(shop, event, 1)).state, 'delivered')
  assert.equal(listener.heard.length, 61)
  await engine.stop()
})

test('what a busy destination cannot take at once is sent when it has answered', async () => {
  const engine = service.startEngine()
  const [shop, listener] = [await service.addShop(), await startListener()]
  const webhook = listener.url
  await triedTimes(shop, await tell(shop, { webhook }), 1)
  const waiting: (() => void)[] = []
  listener.answer = (heard, response) => void waiting.push(() => takes.well(heard, response))
  const events = await Promise.all(Array.from({ length: 12 }, () => tell(shop, { webhook })))
  await listener.hears(9)
  assert.equal(waiting.length, 8)
  listener.answer = takes.well
  for (const answer of waiting) answer()
  await listener.hears(13)
  for (const event of events) assert.equal((await triedTimes(shop, event, 1)).state, 'delivered')
  assert.equal(listener.heard.length, 13)
  await engine.stop()
})
