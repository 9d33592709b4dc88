import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { FAKES } from '../fakes/index.ts'
import { eventually } from '../support/paying.ts'
import { startProviderWorld } from '../support/provider-world.ts'

// A payment costs as much as its round trips to the database. These counts must not creep up.

const world = await startProviderWorld({ inOneProcess: true })
const paystack = FAKES.find(({ provider }) => provider.capabilities.name === 'paystack') ?? assert.fail()
const place = await world.addProvider(paystack.start)

/** Statements of timers, which run without payments too, and notifications, which many changes share. */
const OF_TIMERS =
  /pg_notify|delivery_workers|delivery_retries|clock_timestamp|place between|skip locked|expires_at <= now\(\)|reconcile_at <=/

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

const isRecorded = (text: string) => text.startsWith('with results')

/** The statements of a whole payment, until the result of its delivery is recorded. */
async function payWhole(): Promise<string[]> {
  sent.length = 0
  const { status, body } = await place.initialize({ webhook: world.listener.url })
  assert.equal(status, 200, JSON.stringify(body))
  const { reference } = body.data.data
  await place.fake.customer.payByCard(reference, { save: false })
  await place.pump()
  await eventually(
    async () => sent.some(isRecorded),
    (isDone) => isDone,
  )
  return [...sent]
}

test('a whole payment by initialize takes at most 7 statements and 5 commits', async (t) => {
  await payWhole() // fills the caches
  const payments: string[][] = []
  // Caches that expire depend on the time, so the payment with the fewest statements counts.
  const fewest = () => payments.toSorted((a, b) => a.length - b.length)[0] ?? []
  while (payments.length < 5 || (payments.length < 30 && fewest().length > 7)) payments.push(await payWhole())
  const least = fewest()
  const list = least.map((text) => text.slice(0, 70)).join('\n')
  assert.ok(least.length <= 7, `${least.length} statements:\n${list}`)
  // Each write is a statement with a commit of its own. Claims of deliveries write once in ten seconds.
  const commits = least.filter((text) => /\b(insert into|update) /.test(text) && !/delivery_leases/.test(text))
  assert.ok(commits.length <= 5, `${commits.length} commits:\n${list}`)
  t.diagnostic(`${least.length} statements and ${commits.length} commits`)
  assert.ok(least.length >= 6, `the statements are counted:\n${list}`)
})
