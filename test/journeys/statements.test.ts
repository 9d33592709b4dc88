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
  /pg_notify|delivery_workers|delivery_retries|clock_timestamp|place between|skip locked|expires_at <= now\(\)|reconciliation_/

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

const MOST_STATEMENTS = 40
const isCommit = (text: string) => text === 'commit' || text.startsWith('insert into notices') || isRecorded(text)

test(`a whole payment by initialize takes at most ${MOST_STATEMENTS} statements, five commits among them`, async (t) => {
  await payWhole() // fills the caches
  const payments: string[][] = []
  // Caches that expire depend on the time. On a busy machine some payments have more of them, so the payment with the
  // fewest counts.
  const fewest = () => payments.toSorted((a, b) => a.length - b.length)[0] ?? []
  while (payments.length < 5 || (payments.length < 30 && fewest().length > MOST_STATEMENTS))
    payments.push(await payWhole())
  const least = fewest()
  const list = least.map((text) => text.slice(0, 70)).join('\n')
  assert.ok(least.length <= MOST_STATEMENTS, `${least.length} statements:\n${list}`)
  // The intent, the instructions, the notice, the success, and the result of the delivery.
  const commits = least.filter(isCommit)
  assert.equal(commits.length, 5, list)
  t.diagnostic(`${least.length} statements and ${commits.length} commits`)
  assert.ok(least.length >= 25, `the statements are counted:\n${list}`)
})
