import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/paying.ts'
import { connect } from './database.ts'
import { sql } from './sql.ts'

const { url, database } = await createDatabase({ empty: true })

test('a result can be collected by a minor garbage collection: it is not referenced by a long-lived object', async () => {
  v8.setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void
  const read = () =>
    database.rows(sql`select n, now() as at, repeat('x', 100) || n as text from generate_series(1, 200) n`)
  await read() // opens the connection
  gc({ type: 'major' })
  const before = process.memoryUsage().heapUsed
  for (let page = 0; page < 50; page++) await read()
  gc({ type: 'minor' })
  gc({ type: 'minor' })
  const growth = process.memoryUsage().heapUsed - before
  assert.ok(growth < 1_000_000, `${growth} bytes of 10 000 rows`)
})

test('the stack of an error shows who sent the statement', async () => {
  async function readNonsense() {
    await database.rows(sql`select nonsense`)
  }
  await assert.rejects(readNonsense(), ({ stack }: Error) => /readNonsense/.test(stack ?? ''))
})

test('a server that does not stop a statement in time is given up, and the next statement has another connection', async () => {
  // Through a pooler no session has a timeout of its own.
  const impatient = connect({ url, isPooled: true, statementTimeoutMs: 1_000, poolWaitMs: 30_000, connections: 1 })
  after(() => impatient.close())
  await assert.rejects(impatient.rows(sql`select pg_sleep(600)`), { code: 'unavailable' })
  // A machine that stalls may not answer in time either, but not each time.
  const one = () => impatient.row(sql`select 1 as one`).catch(({ code }) => code)
  assert.deepEqual(await eventually(one, (answer) => answer !== 'unavailable'), { one: 1 })
})
