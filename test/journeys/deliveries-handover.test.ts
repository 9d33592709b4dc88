import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeDue, startDeliveringService, tell, triedTimes } from '../support/delivering.ts'
import { startListener, takes } from '../support/listener.ts'

const service = await startDeliveringService()

test('D5: a retry that a stopping worker leaves is made by the next one at once, however old the lease is', async () => {
  const shop = await service.addShop()
  const listener = await startListener(takes.notNow)
  const first = service.startEngine()
  const eventId = await tell(shop, { webhook: listener.url })
  await triedTimes(shop, eventId, 1)
  // The retry is claimed with the lease of the first try, which ends before a new one would.
  listener.answer = takes.inSilence
  await makeDue(service.database, eventId)
  await listener.hears(2)
  await first.stop()
  listener.answer = takes.well
  service.startEngine()
  await listener.hears(3) // the lease of the first would end after 30 s
  assert.equal((await triedTimes(shop, eventId, 2)).state, 'delivered')
})
