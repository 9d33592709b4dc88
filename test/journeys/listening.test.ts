import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connect } from '../../src/database/database.ts'
import { listen } from '../../src/database/listen.ts'
import { sql } from '../../src/database/sql.ts'
import { DELIVERIES_CHANNEL } from '../../src/events/outbox-store.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { addEndpoint, ENDPOINTS, tell } from '../support/delivering.ts'
import { eventually, request, startPaying } from '../support/paying.ts'

const service = await startPaying()
const { database } = service
const databaseUrl = service.databaseUrl as string

test('one LISTEN connection serves several channels and reports possibly missed notifications to each', async () => {
  const heard: string[] = []
  const note = (name: string) => ({
    heard: (payload: string) => void heard.push(`${name} ${payload}`),
    missed: () => void heard.push(`${name} missed`),
  })
  const listening = listen(databaseUrl, { some_channel: note('some'), 'Another One': note('another') })
  after(() => listening.stop())
  await eventually(
    async () => heard.length,
    (count) => count === 2,
  )
  await database.rows(
    sql`select pg_notify('some_channel', 'a'), pg_notify('Another One', 'b'), pg_notify('third', 'c')`,
  )
  await eventually(
    async () => heard.length,
    (count) => count >= 4,
  )
  assert.deepEqual(heard, ['some missed', 'another missed', 'some a', 'another b'])
})

test('a process does not hear its own notifications again', async () => {
  const heard: string[] = []
  let listening = 0
  const note = (name: string) => ({
    heard: (payload: string) => void heard.push(`${name} ${payload}`),
    missed: () => void listening++,
  })
  const direct = connect({ url: databaseUrl, poolWaitMs: 10_000 }) // through a pooler it does, which does no harm
  const own = listen(databaseUrl, { some_channel: note('own') }, direct.isOwnBackend)
  const other = listen(databaseUrl, { some_channel: note('other') })
  after(() => Promise.all([own.stop(), other.stop()]))
  const stranger = connect({ url: databaseUrl, poolWaitMs: 10_000 })
  after(() => Promise.all([direct.close(), stranger.close()]))
  await eventually(
    async () => listening,
    (count) => count === 2,
  )
  direct.notify('some_channel', 'from this process')
  await eventually(
    async () => heard,
    () => heard.includes('other from this process'),
  )
  stranger.notify('some_channel', 'from another process')
  await eventually(
    async () => heard,
    () => heard.includes('own from another process'),
  )
  assert.ok(!heard.includes('own from this process'))
})

test('every time an endpoint is disabled, all workers are notified to stop sending to it', async () => {
  const shop = await service.addShop()
  const { id } = await addEndpoint(shop, 'http://127.0.0.1:9/')
  await tell(shop)
  const enable = (enabled: boolean) =>
    request(`${service.baseUrl}${ENDPOINTS}/${id}`, 'PATCH', shop.headers, { enabled })
  const heard: string[] = []
  const connected = Promise.withResolvers<void>()
  const listening = listen(databaseUrl, {
    [DELIVERIES_CHANNEL]: { heard: (payload) => heard.push(payload), missed: connected.resolve },
  })
  await connected.promise
  try {
    for (const times of [1, 2]) {
      await database.rows(sql`update deliveries set state = 'waiting' where endpoint_id = ${uuidOf(id)}`)
      assert.equal((await enable(false)).status, 200)
      await eventually(
        async () => heard.filter((payload) => payload === uuidOf(id)).length,
        (count) => count >= times,
      )
      assert.equal((await enable(true)).status, 200)
    }
  } finally {
    await listening.stop()
  }
})
