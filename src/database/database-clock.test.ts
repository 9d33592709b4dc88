import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../../test/support/database.ts'
import { databaseClock } from './database-clock.ts'

const { database } = await createDatabase()

test('INV-15: the clock is the database’s, whatever this machine believes', async () => {
  const hour = 3_600_000
  const shifted = { ...database, row: async () => ({ now: new Date(Date.now() + hour) }) as never }
  const clock = await databaseClock(shifted)
  const ahead = clock.now().getTime() - Date.now()
  assert.ok(Math.abs(ahead - hour) < 1_000, `${ahead} ms ahead`)
  clock.stop()
})

test('it agrees with the database it was asked of', async () => {
  const clock = await databaseClock(database)
  assert.ok(Math.abs(clock.now().getTime() - Date.now()) < 2_000)
  clock.stop()
})
