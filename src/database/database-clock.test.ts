import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../test/support/database.ts'
import { databaseClock } from './database-clock.ts'

const { database } = await createDatabase()

test('INV-15: the clock follows the database, not the local machine', async () => {
  const hour = 3_600_000
  const shifted = { ...database, row: async () => ({ now: new Date(Date.now() + hour) }) as never }
  const clock = await databaseClock(shifted)
  const ahead = clock.now().getTime() - Date.now()
  assert.ok(Math.abs(ahead - hour) < 60_000, `${ahead} ms ahead`)
  clock.stop()
})

test('the clock agrees with its database', async () => {
  const clock = await databaseClock(database)
  assert.ok(Math.abs(clock.now().getTime() - Date.now()) < 60_000)
  clock.stop()
})
