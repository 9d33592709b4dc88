import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { connect } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { languages, startDriver } from '../support/client-drivers.ts'
import { createDatabase } from '../support/database.ts'
import { closedPort } from '../support/listener.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'

const CALLS = 24
const DRIVERS = 4
const ORDER = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' } }

test('the service is killed and restarted: each client repeats, and no payment is made twice', async (t) => {
  const { url: DATABASE_URL } = await createDatabase({ empty: true })
  const PORT = new URL(await closedPort()).port
  const env = { DATABASE_URL, PORT, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), RATE_LIMIT: 'off', DEMO: 'off' }
  let service: ServiceProcess = await startProcess(env)
  after(() => service.child.kill('SIGKILL'))
  const records = connect({ url: DATABASE_URL })
  after(() => records.close())
  const countPayments = async () =>
    (await records.rows<{ payments: number }>(sql`select count(*)::int as payments from payments`))[0]?.payments ?? 0

  async function killAndRestart(): Promise<void> {
    service.child.kill('SIGKILL')
    await service.exited
    // The dead process holds the keys of its calls for a minute; here, for five seconds.
    await records.rows(sql`
      update idempotent_calls set running_until = now() + interval '5 seconds' where answer is null`)
    service = await startProcess(env)
  }

  for (const language of languages()) {
    await t.test(language.name, async () => {
      const before = await countPayments()
      const { 'client-id': clientId, 'client-secret': clientSecret } = service.headers
      const drivers = Array.from({ length: DRIVERS }, () => startDriver(language))
      after(() => {
        for (const driver of drivers) driver.stop()
      })
      let made = 0
      let restarted: Promise<void> | undefined
      await Promise.all(
        drivers.map(async ({ send }) => {
          const options = { baseUrl: service.baseUrl, clientId, clientSecret, maxRetries: 20 }
          assert.equal((await send({ do: 'open', options })).error, undefined)
          for (let call = 0; call < CALLS / DRIVERS; call++) {
            const { error } = await send({ do: 'call', call: 'checkouts.create', args: [ORDER] })
            assert.equal(error?.message, undefined)
            if (++made === CALLS / 3) restarted = killAndRestart()
          }
        }),
      )
      await restarted
      assert.equal((await countPayments()) - before, CALLS, 'one payment for each call')
    })
  }
})
