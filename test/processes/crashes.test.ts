import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { connect } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices } from '../../src/payments/settle/receive-notice.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, request, type Shop, startPaying } from '../support/paying.ts'
import {
  type Json,
  letPass,
  noticeAbout,
  noticesAbout,
  notify,
  recordAt,
  recordsOf,
} from '../support/payment-records.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'
import { AMOUNT, charge, isPaid, loseNotices, start } from '../support/sandbox-payments.ts'
import { CARD } from '../support/simulator.ts'

// C2: the service speaks with PostgreSQL through a proxy; the test looks at the same database directly.
const { url: directUrl, database } = await createDatabase()
const proxy = await startCuttingProxy(directUrl)
const proxied = connect({ url: proxy.url })
after(() => proxied.close())
const service = await startPaying({ database: proxied })
const { parts } = service

async function quietShop() {
  const shop = await service.addShop()
  await loseNotices(shop)
  return shop
}

async function chargedPayment(shop: Shop) {
  const started = await start(shop)
  await charge(shop, started.order)
  return started
}

async function questionsAbout(order: string): Promise<number> {
  const row = await database.row<{ count: number }>(sql`
    select sum(c.times) as count from provider_calls c join attempts a on a.id = c.attempt_id
     where a.order_reference = ${order} and c.call = 'check'`)
  return row?.count ?? 0
}

const PAID = ['attempt.started', 'attempt.pending', 'attempt.successful', 'payment.successful']

for (const what of ['committed', 'not committed'] as const) {
  test(`C2: the connection breaks as a check settles, ${what}: the next check finds the payment paid once`, async () => {
    const shop = await quietShop()
    const { payment, order } = await chargedPayment(shop)
    await letPass(database, payment, 11)
    const before = proxy.cuts()
    proxy.cut(what, { at: 'change', payment: payment.id })
    await checkDueAttempts(parts, 100)
    assert.equal(proxy.cuts(), before + 1, 'it broke at the write')
    const now = await shop.payment(payment.id)
    assert.equal(now.status, what === 'committed' ? 'successful' : 'pending')

    const first = await recordsOf(database, payment)
    await letPass(database, payment, 6) // a failed check shortens its lease
    // A paid card is not checked again. Here it is, as if the process had not known.
    if (what === 'committed')
      await database.rows(sql`update attempts set next_check_at = now() where order_reference = ${order}`)
    const questions = await questionsAbout(order)
    await checkDueAttempts(parts, 100)
    assert.equal(await questionsAbout(order), questions + 1)
    assert.ok(isPaid(await shop.payment(payment.id)))
    const records = await recordsOf(database, payment)
    assert.deepEqual(records.eventTypes, PAID)
    assert.equal(records.receipts.length, 1)
    if (what === 'committed') assert.deepEqual(records, first, 'the repeat changed nothing')
  })

  test(`C2: the connection breaks as a notice is processed, ${what}: it is answered 2xx, and the payment is paid once`, async () => {
    const shop = await quietShop()
    const { payment, order } = await chargedPayment(shop)
    const notice = noticeAbout(await recordAt(service, shop, order), 'payment.paid')
    const before = proxy.cuts()
    proxy.cut(what, { at: 'change', payment: payment.id })
    assert.equal((await notify(service, shop, notice)).status, 200)
    await eventually(
      async () => proxy.cuts(),
      (cuts) => cuts === before + 1,
    )
    if (what === 'committed') await eventually(() => shop.payment(payment.id), isPaid)
    assert.equal((await noticesAbout(database, order))[0]?.state, what === 'committed' ? 'done' : 'waiting')

    assert.equal((await notify(service, shop, notice)).status, 200, 'the provider sends it again')
    await database.rows(sql`update notices set due_at = now() where reference = ${order}`)
    await processWaitingNotices(parts, 100)
    const [kept] = await noticesAbout(database, order)
    assert.deepEqual([kept?.state, kept?.times], ['done', 2])
    assert.ok(isPaid(await shop.payment(payment.id)))
    const { eventTypes, receipts } = await recordsOf(database, payment)
    assert.deepEqual(eventTypes, PAID)
    assert.equal(receipts.length, 1)
  })

  test(`C2: the connection breaks as an attempt begins, ${what}: 503, no provider was called, and the repeat does not double anything`, async () => {
    const shop = await quietShop()
    const headers = { 'idempotency-key': `broken-${what}` }
    proxy.cut(what, { at: 'change' })
    const { status, body } = await shop.initialize({ reference: `broken-${what.replace(' ', '-')}` }, headers)
    assert.deepEqual([status, body.code], [503, 'unavailable'])
    const { body: ledger } = await shop.call('GET', '/sandbox/gateway/ledger')
    assert.deepEqual(ledger.data, [])
    const again = await shop.initialize({ reference: `broken-${what.replace(' ', '-')}` }, headers)
    if (what === 'not committed') assert.equal(again.status, 200)
    // It is on disk that a call may have been made. Only the provider's answer ends that.
    else assert.deepEqual([again.status, again.body.code], [409, 'attempt_in_progress'])
    const payment = await shop.payment(`broken-${what.replace(' ', '-')}`)
    assert.equal(payment.attempts.length, 1)
    await recordsOf(database, payment)
  })

  // A refund has three commits: our intent, the provider's ledger, and our record of its answer.
  for (const [moment, letPassFirst] of [
    ['promised', 0],
    ['written down', 2],
  ] as const) {
    test(`C2: the connection breaks as a refund is ${moment}, ${what}: the money goes back once`, async () => {
      const shop = await quietShop()
      const { payment, order } = await chargedPayment(shop)
      await letPass(database, payment, 11)
      await checkDueAttempts(parts, 100)
      const refund = () => shop.call('POST', `/payments/v1/payments/${payment.id}/refunds`, { amount: AMOUNT })
      const before = proxy.cuts()
      proxy.cut(what, { letPass: letPassFirst })
      assert.equal((await refund()).status, 503)
      assert.equal(proxy.cuts(), before + 1)
      const { refunds } = await recordsOf(database, payment)
      const isPromised = moment === 'written down' || what === 'committed'
      assert.equal(refunds.length, isPromised ? 1 : 0)
      // The merchant repeats what was answered 503.
      const again = await refund()
      if (isPromised) assert.equal(again.body.code, 'duplicate_refund', 'it is promised already')
      else assert.equal(again.status, 201)

      await letPass(database, payment, 61)
      await sendDueRefunds(parts, 100)
      const after = await shop.payment(payment.id)
      assert.deepEqual([after.status, after.amountRefunded], ['successful', AMOUNT])
      const records = await recordsOf(database, payment)
      assert.deepEqual(records.refunds, [{ amount: AMOUNT, kind: 'merchant', status: 'successful' }])
      assert.deepEqual(records.eventTypes, [...PAID, 'refund.successful'])
      const { body } = await shop.call('GET', `/sandbox/gateway/ledger?reference=${order}`)
      assert.equal(body.data.refunded, AMOUNT)
    })
  }
}

// C1: real processes, killed for real.

const CREDENTIALS = {
  SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
  SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
}

/** A process that is killed and restarted. Calls in between get no answer. */
class Copy {
  #service: ServiceProcess | undefined
  readonly #env: Record<string, string>

  constructor(env: Record<string, string>) {
    this.#env = env
  }

  get url(): string {
    const port = this.#service && new URL(this.#service.baseUrl).port
    return `http://127.0.0.1:${port ?? 1}`
  }

  async start(): Promise<void> {
    this.#service = await startProcess(this.#env)
  }

  async kill(): Promise<void> {
    const service = this.#service
    this.#service = undefined
    service?.child.kill('SIGKILL')
    await service?.exited
  }
}

test('C1: two copies are killed with -9, again and again, while payments are started, charged and settled: what is paid in the ledger is successful once, with no human step', async (t) => {
  const { url, database: records } = await createDatabase()
  const env = {
    ...CREDENTIALS,
    DATABASE_URL: url,
    SECRET_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'silent',
  }
  const copies = [new Copy(env), new Copy(env)]
  t.after(() => Promise.all(copies.map((copy) => copy.kill())))
  await Promise.all(copies.map((copy) => copy.start()))
  const headers = { 'client-id': CREDENTIALS.SANDBOX_CLIENT_ID, 'client-secret': CREDENTIALS.SANDBOX_CLIENT_SECRET }

  /** Undefined without an answer. */
  const ask = async (method: string, path: string, body?: unknown) => {
    const copy = copies[Math.random() < 0.5 ? 0 : 1] as Copy
    return request(copy.url + path, method, headers, body).catch(() => undefined)
  }

  const faults = await ask('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 0.3, doubled: 0.3 })
  assert.equal(faults?.status, 200)
  let acknowledged = 0
  let isOver = false
  async function customer(name: string): Promise<void> {
    for (let count = 0; !isOver; count++) {
      const reference = `${name}-${count}`
      const transfer = count % 2 === 1
      const started = await ask('POST', '/payments/v1/payments/initialize', {
        provider: transfer ? 'gateway-virtual-bank-account' : 'gateway',
        amount: AMOUNT,
        reference,
        user: { email: 'ada@example.com' },
      })
      // the port is closed while the process restarts
      if (!started) await new Promise((resolve) => setTimeout(resolve, 20))
      if (started?.status !== 200) continue
      const { accountNumber, reference: order } = started.body.data.data
      const paid = transfer
        ? await ask('POST', '/sandbox/gateway/transfers', { accountNumber, amount: AMOUNT })
        : await ask('POST', `/sandbox/gateway/charges/${order}`, { card: CARD.pays })
      if (paid?.status === 200) acknowledged++
    }
  }
  const customers = Promise.all(Array.from({ length: 4 }, (_, index) => customer(`c${index}`)))
  const ROUNDS = 2
  for (let round = 0; round < ROUNDS; round++) {
    const enough = acknowledged + 5 + Math.floor(Math.random() * 20)
    await eventually(
      async () => acknowledged,
      (count) => count >= enough,
      30_000,
    )
    const chosen = round === 1 ? copies : [copies[round] as Copy]
    await Promise.all(chosen.map((copy) => copy.kill()))
    await Promise.all(chosen.map((copy) => copy.start()))
  }
  isOver = true
  await customers

  const open = () =>
    records.rows<{ reference: string; taken: number }>(sql`
      select p.reference, g.taken from gateway_payments g
        left join attempts a on a.order_reference = g.reference left join payments p on p.id = a.payment_id
       where g.taken > 0 and (a.status is distinct from 'successful' or a.amount_received <> g.taken)`)
  assert.ok((await open()).length > 0, 'something is left to find')
  // Two minutes pass: leases of dead processes end, and checks are due. The workers do the rest. On a slow machine a
  // check may fail, and the next one is due some minutes later.
  for (let times = 0; times < 5 && (await open()).length > 0; times++) {
    await passFor(records, 120)
    await eventually(open, (some) => some.length === 0).catch(() => {})
  }
  assert.deepEqual(await open(), [])

  const ledger = await records.rows<{ taken: number }>(sql`select taken from gateway_payments where taken > 0`)
  assert.ok(acknowledged > 15, `${acknowledged} were acknowledged`)
  assert.ok(ledger.length >= acknowledged, `${ledger.length} in the ledger, ${acknowledged} acknowledged`)
  assert.ok(ledger.every(({ taken }) => taken === AMOUNT))
  const counted = await records.rows<{ reference: string }>(sql`
    select p.reference, p.status, p.amount_paid, p.sequence,
           (select count(*) from attempts a where a.payment_id = p.id and a.status = 'successful') as successes,
           (select count(*) from receipts r where r.payment_id = p.id and r.counted and r.amount = p.amount) as receipts,
           (select count(*) from events e where e.payment_id = p.id) as events,
           (select max(e.sequence) from events e where e.payment_id = p.id) as last,
           (select count(*) from events e where e.payment_id = p.id and e.type = 'payment.successful') as told
      from payments p where p.id in (select a.payment_id from attempts a join gateway_payments g on g.reference = a.order_reference
                                      where g.taken > 0)`)
  assert.equal(counted.length, ledger.length, 'one payment for each')
  for (const { reference, ...records } of counted as Json[]) {
    const { sequence } = records
    assert.deepEqual(
      records,
      {
        status: 'successful',
        amount_paid: AMOUNT,
        sequence,
        successes: 1,
        receipts: 1,
        events: sequence,
        last: sequence,
        told: 1,
      },
      reference,
    )
  }
  const others = await records.rows<{ status: string; needs_review: string | null; code: string | null }>(sql`
    select a.status, (select c.summary from cases c where c.subject = a.id::text and c.closed_at is null and c.summary not like 'held: %' order by c.id limit 1) as needs_review, a.failure->>'code' as code from attempts a left join gateway_payments g on g.reference = a.order_reference
     where coalesce(g.taken, 0) = 0`)
  // A start whose process died before it called the provider has failed by now: it cannot have been paid.
  for (const { status, needs_review, code } of others) {
    assert.ok(['pending', 'processing'].includes(status) || code === 'provider_unavailable', `${status} ${code}`)
    assert.equal(needs_review, null)
  }
  const { body } = (await ask('GET', '/payments/v1/payments?status=successful&limit=100')) as Json
  assert.ok(body.data.every(({ amountPaid }: Json) => amountPaid === AMOUNT))
})

/** For all that is under way at once, the provider's own notices included. */
async function passFor(records: typeof database, seconds: number): Promise<void> {
  const statements = [
    sql`
      update attempts set created_at = created_at - past, watched_since = watched_since - past,
             next_check_at = next_check_at - past, check_leased_until = check_leased_until - past
        from make_interval(secs => ${seconds}) as past`,
    sql`update notices set due_at = due_at - make_interval(secs => ${seconds})`,
    sql`update gateway_notices set due_at = due_at - make_interval(secs => ${seconds})`,
  ]
  // The service writes the same rows, in another order. A transaction is repeated after a deadlock.
  for (const statement of statements) await records.transaction((tx) => tx.rows(statement))
}
