import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Manilla, ManillaApiError } from '../../clients/typescript/src/index.ts'
import { connect } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { createDatabase } from '../support/database.ts'
import { closedPort } from '../support/listener.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'

const CALLS = 40
const ORDER = { amount: 5_000, country: 'NG', user: { email: 'ada@example.com' } }

test('the service is killed in mid-call and restarted: the client repeats, and no payment is made twice', async () => {
  const { url: DATABASE_URL } = await createDatabase({ empty: true })
  const PORT = new URL(await closedPort()).port
  const env = { DATABASE_URL, PORT, SECRET_KEY: Buffer.alloc(32, 1).toString('base64'), RATE_LIMIT: 'off', DEMO: 'off' }
  let service: ServiceProcess = await startProcess(env)
  after(() => service.child.kill('SIGKILL'))
  const records = connect({ url: DATABASE_URL })
  after(() => records.close())

  let answered = 0
  let broken = 0
  let restarted: Promise<void> | undefined
  async function killAndRestart(): Promise<void> {
    service.child.kill('SIGKILL')
    await service.exited
    // The dead process holds the keys of its calls for a minute; here, for a quarter of one.
    await records.rows(sql`
      update idempotent_calls set running_until = now() + interval '15 seconds' where answer is null`)
    service = await startProcess(env)
  }
  const watched: typeof fetch = async (url, request) => {
    try {
      const response = await fetch(url, request)
      if (++answered === CALLS / 4) restarted = killAndRestart()
      return response
    } catch (error) {
      broken++
      throw error
    }
  }
  const { 'client-id': clientId, 'client-secret': clientSecret } = service.headers
  const manilla = new Manilla({ baseUrl: service.baseUrl, clientId, clientSecret, maxRetries: 20, fetch: watched })
  const calls = Array.from({ length: CALLS }, (_, index) =>
    index % 2 === 0
      ? manilla.checkouts.create(ORDER)
      : manilla.payments.initialize({ ...ORDER, provider: 'gateway' }).catch((error: unknown) => {
          // The process died while it waited for the provider, whose answer is not known yet.
          if (error instanceof ManillaApiError && error.is('attempt_in_progress')) return undefined
          throw error
        }),
  )
  const made = await Promise.all(calls)
  await restarted
  assert.ok(broken > 0, 'calls were under way when the process was killed')
  assert.ok(made.filter(Boolean).length >= CALLS / 2)
  const payments = await records.rows<{ attempts: number }>(sql`
    select (select count(*) from attempts a where a.payment_id = p.id) as attempts from payments p`)
  assert.equal(payments.length, CALLS, 'one payment for each call')
  assert.ok(payments.every(({ attempts }) => attempts <= 1))
})
