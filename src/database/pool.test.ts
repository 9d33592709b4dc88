import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, test } from 'node:test'
import v8 from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createDatabase, pooledUrl } from '../../test/support/database.ts'
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
  const growths: number[] = []
  // What other tests of this process left running allocates, too, but not each time.
  for (let round = 0; round < 3; round++) {
    gc({ type: 'major' })
    const before = process.memoryUsage().heapUsed
    for (let page = 0; page < 50; page++) await read()
    gc({ type: 'minor' })
    gc({ type: 'minor' })
    growths.push(process.memoryUsage().heapUsed - before)
  }
  const growth = Math.min(...growths)
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

test('the commit that is sent with the last statement does not wait for this process', async () => {
  await database.rows(sql`create table locked (id integer)`)
  const isCommitted = `
    import pg from 'pg'
    const client = new pg.Client({ connectionString: ${JSON.stringify(url)} })
    await client.connect()
    const deadline = Date.now() + 20_000
    const isThere = async () => (await client.query('select from locked')).rowCount === 1
    while (!(await isThere()) && Date.now() < deadline) {}
    process.exit((await isThere()) ? 0 : 1)`
  await database.transaction(async (tx) => {
    const answer = tx.last.rows(sql`insert into locked values (1)`)
    await new Promise<void>((sent) => process.nextTick(sent)) // the statements of a turn are sent together at its end
    // This process reads nothing until the other one has seen the row.
    const seen = spawnSync(process.execPath, ['--input-type=module', '-e', isCommitted], { cwd: import.meta.dirname })
    assert.equal(seen.status, 0, `${seen.stderr}`)
    await answer
    await assert.rejects(tx.rows(sql`select 1`), /commit has been sent/)
    await assert.rejects(tx.last.rows(sql`select 1`), /commit has been sent/)
  })
})

test('when the last statement fails, the transaction is rolled back and its connection is used again', async () => {
  await database.rows(sql`create table whole (id integer primary key)`)
  const pooled = pooledUrl(url)
  const one = connect({ url: pooled ?? url, isPooled: pooled !== undefined, poolWaitMs: 30_000, connections: 1 })
  after(() => one.close())
  const failed = one.transaction(async (tx) => {
    await tx.rows(sql`insert into whole values (1)`)
    return tx.last.rows(sql`insert into whole values (1)`)
  })
  await assert.rejects(failed, { code: '23505' })
  assert.deepEqual(await one.rows(sql`select id from whole`), [])
  await one.transaction((tx) => tx.last.rows(sql`insert into whole values (2)`))
  assert.deepEqual(await one.rows(sql`select id from whole`), [{ id: 2 }])
})
