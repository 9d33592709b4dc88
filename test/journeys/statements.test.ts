import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { FAKES } from '../fakes/index.ts'
import { eventually } from '../support/paying.ts'
import { startProviderWorld } from '../support/provider-world.ts'

// A payment costs as much as its round trips to the database. These counts must not creep up.

const world = await startProviderWorld()
const paystack = FAKES.find(({ provider }) => provider.capabilities.name === 'paystack') ?? assert.fail()
const place = await world.addProvider(paystack.start)

/** Statements of timers, which run without payments too. */
const OF_TIMERS =
  /delivery_workers|delivery_retries|clock_timestamp|place between|skip locked|expires_at <= now\(\)|reconcile_at <=/

const sent: string[] = []
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  const [config] = args
  const text = typeof config === 'string' ? config : ((config as { text?: string } | undefined)?.text ?? '')
  if (!OF_TIMERS.test(text)) sent.push(text.trim().replace(/\s+/g, ' '))
  return (query as (...args: unknown[]) => unknown).apply(this, args)
} as typeof query
after(() => {
  pg.Client.prototype.query = query
})

async function payWhole(): Promise<void> {
  const { status, body } = await place.initialize({ webhook: world.listener.url })
  assert.equal(status, 200, JSON.stringify(body))
  const { reference } = body.data.data
  await place.fake.customer.payByCard(reference, { save: false })
  const count = world.listener.heard.length
  await place.pump()
  await world.listener.hears(count + 1)
}

test('a whole payment by initialize takes at most 12 statements and 5 commits', async (t) => {
  await payWhole() // fills the caches
  const PAYMENTS = 5
  sent.length = 0
  const startedAt = performance.now()
  for (let paid = 0; paid < PAYMENTS; paid++) await payWhole()
  // The result of the last delivery is written after the webhook has arrived.
  await eventually(
    async () => sent.filter((text) => text.startsWith('with results')).length,
    (count) => count === PAYMENTS,
  )
  const tookMs = performance.now() - startedAt
  const perPayment = sent.length / PAYMENTS
  const counts = Map.groupBy(sent, (text) => text.slice(0, 70))
  const list = [...counts].map(([text, times]) => `${times.length / PAYMENTS} ${text}`).join('\n')
  // Notifications depend on the time only: at most ten a second. On a busy machine a payment takes long, and has more of them.
  const notifications = sent.filter((text) => text.includes('pg_notify')).length / PAYMENTS
  assert.ok(perPayment - notifications <= 9, `${perPayment} statements per payment:\n${list}`)
  assert.ok(notifications <= 2 + tookMs / 100 / PAYMENTS, `${notifications} notifications in ${tookMs} ms:\n${list}`)
  // Each write is a statement with a commit of its own. Claims of deliveries write once in ten seconds.
  const commits = sent.filter((text) => /\b(insert into|update) /.test(text) && !/delivery_leases/.test(text))
  assert.ok(commits.length / PAYMENTS <= 5, `${commits.length / PAYMENTS} commits per payment:\n${list}`)
  t.diagnostic(`${perPayment} statements and ${commits.length / PAYMENTS} commits per payment`)
  assert.ok(perPayment >= 6, `the statements are counted:\n${list}`)
})
