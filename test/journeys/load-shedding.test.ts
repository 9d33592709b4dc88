import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { addMerchant, CHECKOUT, startOn } from '../support/service.ts'

test('a service that was slow to start is not overloaded: its first request is answered', async () => {
  const { database } = await createDatabase()
  const merchant = await addMerchant(database)
  const app = await startOn(database, { shedsLoad: true })
  const until = performance.now() + 2_500
  while (performance.now() < until); // blocks the event loop, as a slow start does
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const response = await fetch(`${url}/payments/v1/checkouts`, {
    method: 'POST',
    headers: { ...merchant.headers, 'content-type': 'application/json' },
    body: JSON.stringify(CHECKOUT),
  })
  assert.equal(response.status, 201, await response.text())
})
