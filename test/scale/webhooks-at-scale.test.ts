import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { listEvents } from '../../src/events/event-store.ts'
import { idOf, uuidOf } from '../../src/kernel/ids.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { addEndpoint, ENDPOINTS, startDeliveringService, tell } from '../support/delivering.ts'
import { type Heard, startListener } from '../support/listener.ts'
import { rowGenerator, timedClaims } from '../support/many-hosts.ts'
import { eventually, request, type Shop } from '../support/paying.ts'

/** Tables as large as those of a busy service after months. */
const service = await startDeliveringService()
const { database } = service
const { addCopies, addHosts, forgetAll, generate } = rowGenerator(service.databaseUrl)

async function delayOf(shop: Shop): Promise<number> {
  const listener = await startListener()
  const before = performance.now()
  await tell(shop, { webhook: listener.url })
  await listener.hears(1)
  return (listener.heard[0] as Heard).at - before
}

test('with 300 000 failing hosts of one merchant a claim takes less than 100 ms, and a webhook of another merchant arrives at once', async (t) => {
  const [many, other] = [await service.addShop(), await service.addShop()]
  await addHosts(await tell(many), { count: 300_000, tries: 1 })
  const { timed, median } = timedClaims(database)
  const engine = service.startEngine({ database: timed })
  const delays = [await delayOf(other), await delayOf(other), await delayOf(many)]
  await engine.stop()
  t.diagnostic(
    `a claim took ${median().toFixed(1)} ms; first tries arrived after ${delays.map(Math.round).join(', ')} ms`,
  )
  assert.ok(median() < 100, `${median()} ms`)
  assert.ok(Math.max(...delays) < 2_000, `${delays} ms`)
  await forgetAll()
})

test('pausing an endpoint with 400 000 waiting deliveries answers at once; nothing more is sent, and all of them end as disabled', {
  timeout: 600_000,
}, async (t) => {
  const shop = await service.addShop()
  const listener = await startListener()
  const { id } = await addEndpoint(shop, listener.url)
  const eventId = await tell(shop)
  await addCopies(eventId, 399_999)
  const startedAt = performance.now()
  const answer = await request(`${service.baseUrl}${ENDPOINTS}/${id}`, 'PATCH', shop.headers, { enabled: false })
  const tookMs = performance.now() - startedAt
  t.diagnostic(`the call took ${tookMs.toFixed(0)} ms`)
  assert.deepEqual([answer.status, answer.body.data.enabled], [200, false])
  assert.ok(tookMs < 500, `${tookMs} ms`)
  const engine = service.startEngine()
  await delayOf(await service.addShop())
  const worker = startWorker(service.parts)
  const states = () =>
    database.rows(sql`select state, count(*) from deliveries where endpoint_id is not null group by 1`)
  const waiting = () =>
    database.rows(sql`select from deliveries where endpoint_id is not null and state = 'waiting' limit 1`)
  await eventually(waiting, ({ length }) => length === 0, 500_000)
  await worker.stop()
  await engine.stop()
  assert.deepEqual(await states(), [{ state: 'disabled', count: 400_000 }])
  assert.equal(listener.heard.length, 0)
  await forgetAll()
})

test('events of one type are listed within 100 ms among a million, whether the type is rare or common', async (t) => {
  const shop = await service.addShop()
  const eventId = await tell(shop)
  await generate(sql`
    insert into events (place, id, merchant_id, mode, payment_id, type, sequence, data, occurred_at, body)
    select e.place, ('01900000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid, e.merchant_id, e.mode, e.payment_id,
           case when number <= 30 then 'refund.failed' else 'payment.successful' end, number + 100, '{}', now(), '{}'
      from events e cross join generate_series(1, 1000000) number where e.id = ${uuidOf(eventId)}`)
  await generate(sql`analyze events`)
  const owner = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
  const page = async (type: string, before?: string) => {
    const startedAt = performance.now()
    const found = await listEvents(database, owner, {
      ...{ paymentId: undefined, type, limit: 21 },
      before: before === undefined ? undefined : idOf('event', before, shop.place),
    })
    const tookMs = performance.now() - startedAt
    t.diagnostic(`${found.length} of ${type} took ${tookMs.toFixed(1)} ms`)
    assert.ok(tookMs < 100, `${type}: ${tookMs} ms`)
    return found
  }
  // connected
  await listEvents(database, owner, { paymentId: undefined, type: 'attempt.failed', before: undefined, limit: 1 })
  assert.equal((await page('refund.failed')).length, 21)
  assert.equal((await page('refund.failed', '01900000-0000-7000-8000-00000000000b')).length, 10)
  assert.equal((await page('payment.successful')).length, 21)
  assert.equal((await page('payment.successful', '01900000-0000-7000-8000-000000080000')).length, 21)
  assert.equal((await page('payment.surplus')).length, 0)
})
