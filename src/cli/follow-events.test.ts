import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPaying } from '../../test/support/paying.ts'
import { connect } from '../database/database.ts'
import type { Event } from '../events/event.ts'
import { writeEvent } from '../events/outbox-store.ts'
import { newId, type PaymentId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { followEvents } from './follow-events.ts'

const { database, addShop } = await startPaying()
const START = Date.UTC(2026, 10, 15, 12)

/** A merchant with a payment to which things happen. */
async function startStory() {
  const shop = await addShop()
  const wanted = { amount: 1_000, country: 'NG', user: { email: 'ada@example.com' } }
  const paymentId: PaymentId = (await shop.call('POST', '/payments/v1/checkouts', wanted)).body.data.id
  const owner = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
  let sequence = 0
  const eventAt = (afterMs: number): Event => {
    const occurredAt = new Date(START + afterMs)
    const id = newId('event', occurredAt, shop.place)
    return {
      id,
      ...owner,
      paymentId,
      type: 'payment.underpaid',
      sequence: ++sequence,
      data: {},
      occurredAt,
      cause: null,
    }
  }
  return { place: shop.place, eventAt, follower: followEvents(owner) }
}

const record = (event: Event) => database.transaction((tx) => writeEvent(tx, event, null))
const idsOf = (events: { id: string }[]) => events.map(({ id }) => id)

test('events before the first call are not returned, later ones are returned once', async () => {
  const { place, follower, eventAt } = await startStory()
  await record(eventAt(0))
  assert.deepEqual(await follower.next(database, place), [])
  const made = [eventAt(1_000), eventAt(120_000)]
  for (const event of made) await record(event)
  await record((await startStory()).eventAt(2_000)) // of another merchant
  assert.deepEqual(idsOf(await follower.next(database, place)), idsOf(made))
  assert.deepEqual(await follower.next(database, place), [])
})

test('an event that commits after a younger one is still returned', async () => {
  const { place, follower, eventAt } = await startStory()
  await follower.next(database, place)
  const older = eventAt(0)
  const younger = eventAt(5_000)
  const written = Promise.withResolvers<void>()
  const overtaken = Promise.withResolvers<void>()
  const slow = database.transaction(async (tx) => {
    writeEvent(tx, older, null)
    written.resolve()
    await overtaken.promise
  })
  await written.promise
  await record(younger)
  assert.deepEqual(idsOf(await follower.next(database, place)), [younger.id])
  overtaken.resolve()
  await slow
  assert.deepEqual(idsOf(await follower.next(database, place)), [older.id])
  assert.deepEqual(await follower.next(database, place), [])
})

test('events of a failed read are returned by the next call', async () => {
  const { place, follower, eventAt } = await startStory()
  await follower.next(database, place)
  const event = eventAt(0)
  await record(event)
  const away = connect({ url: 'postgres://nobody@127.0.0.1:1/nowhere' })
  await assert.rejects(follower.next(away, place), Problem)
  await away.close()
  assert.deepEqual(idsOf(await follower.next(database, place)), [event.id])
})

test('more than one page of events is returned complete and in order', async () => {
  const { place, follower, eventAt } = await startStory()
  await follower.next(database, place)
  const made = Array.from({ length: 1_001 }, (_, index) => eventAt(index))
  await database.transaction(async (tx) => {
    for (const event of made) writeEvent(tx, event, null)
  })
  assert.deepEqual(idsOf(await follower.next(database, place)), idsOf(made))
  assert.deepEqual(await follower.next(database, place), [])
})
