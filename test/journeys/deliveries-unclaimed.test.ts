import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STATEMENT_SENT } from '../../src/database/database.ts'
import type { Statement } from '../../src/database/sql.ts'
import { startDeliveringService, tell, triedTimes } from '../support/delivering.ts'
import { startListener, takes } from '../support/listener.ts'

// What this process writes is sent without a claim, while its worker has the lease on the destination.

const service = await startDeliveringService()
const engine = service.startEngine()

/** The claims of first tries while `work` ran, without those of the poll, which claims once a second. */
async function claimsDuring(work: () => Promise<void>): Promise<number> {
  let claims = 0
  const onStatement = (statement: unknown) => {
    if ((statement as Statement).text.includes('taken as') && (statement as Statement).text.includes('past (')) claims++
  }
  const startedAt = performance.now()
  STATEMENT_SENT.subscribe(onStatement)
  await work()
  STATEMENT_SENT.unsubscribe(onStatement)
  return claims - Math.ceil((performance.now() - startedAt) / 1_000)
}

test('a delivery to a destination that was claimed a moment ago needs no claim', async () => {
  const [shop, listener] = [await service.addShop(), await startListener()]
  const webhook = listener.url
  await triedTimes(shop, await tell(shop, { webhook }), 1)
  const claims = await claimsDuring(async () => {
    for (let count = 2; count <= 20; count++) {
      await tell(shop, { webhook })
      await listener.hears(count)
    }
  })
  assert.ok(claims <= 5, `${claims} claims for 19 deliveries`)
})

test('a delivery is sent once, although claims see it at the same time', async () => {
  const [shop, listener] = [await service.addShop(), await startListener()]
  const webhook = listener.url
  await triedTimes(shop, await tell(shop, { webhook }), 1)
  const waking = setInterval(() => engine.wake(), 1)
  const events = await Promise.all(Array.from({ length: 60 }, () => tell(shop, { webhook })))
  await listener.hears(61)
  clearInterval(waking)
  for (const event of events) assert.equal((await triedTimes(shop, event, 1)).state, 'delivered')
  assert.equal(listener.heard.length, 61)
})

test('what a busy destination cannot take at once is sent when it has answered', async () => {
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
})
