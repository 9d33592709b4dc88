import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { connect } from '../../src/database/database.ts'
import { unavailable } from '../../src/database/pool.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { ensureDefaultSecret } from '../../src/events/webhook-secret-store.ts'
import { newId, type PaymentId, placeOf, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { changePayment } from '../../src/payments/change-payment.ts'
import { recordRefund } from '../../src/payments/refunds/write-reversals.ts'
import { expirePayments } from '../../src/payments/settle/expire-payments.ts'
import { checkAttempt, settleAttempt } from '../../src/payments/settle/settle-attempt.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { endNotice, insertNotice } from '../../src/payments/store/notices.ts'
import { findPaymentStateById, lockPayment } from '../../src/payments/store/payment-states.ts'
import { eraseCustomer } from '../../src/payments/upkeep/erase-customer.ts'
import type { Asked } from '../fakes/upstream.ts'
import { startBetween } from '../support/between.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { lockAwaited, recordsOf } from '../support/payment-records.ts'
import { charge, isPaid, loseNotices, startAttempt } from '../support/sandbox-payments.ts'

// A change locks the payment, reads it, decides, and writes. What can happen at the same moment, and in between?

const service = await startPaying()
const { database, parts } = service

async function pass({ method, path, headers, body }: Asked) {
  const type = body && { 'content-type': 'application/json' }
  const answer = await fetch(service.baseUrl + path, {
    method,
    headers: { authorization: String(headers.authorization ?? ''), ...type },
    ...(body && { body }),
  })
  return { status: answer.status, text: await answer.text() }
}

test('an answer "pending" that is older than the success does not undo it', async (t) => {
  const between = await startBetween(t, service)
  const { payment, attempt } = await startAttempt(database, between.shop)
  between.meanwhile = async (asked) => {
    between.meanwhile = undefined
    const pending = await pass(asked)
    await charge(between.shop, attempt.orderReference)
    await checkAttempt(parts, attempt, { source: 'notice' })
    return pending
  }
  await checkAttempt(between.parts, attempt, { source: 'check' })
  assert.equal((await between.shop.payment(payment.id)).status, 'successful')
  const { eventTypes } = await recordsOf(database, payment)
  assert.deepEqual(eventTypes.slice(-2), ['attempt.successful', 'payment.successful'])
})

test('the same transaction id at another provider of the same payment is other money', async () => {
  const shop = await service.addShop()
  await loseNotices(shop)
  const { payment, attempt: first } = await startAttempt(database, shop, { provider: 'gateway-virtual-bank-account' })
  const receipts = (amount: number) => [
    { transactionId: '4711', idIsProviders: true as const, amount: money(amount, 'NGN' as Currency), at: new Date() },
  ]
  await settleAttempt(parts, first, { source: 'check', outcome: { kind: 'pending', receipts: receipts(100) } })
  await database.rows(sql`update attempts set provider = 'paystack' where id = ${uuidOf(first.id)}`)
  await database.rows(sql`update receipts set provider = 'paystack' where attempt_id = ${uuidOf(first.id)}`)
  assert.equal((await shop.initialize({ reference: payment.reference })).status, 200)
  const state = (await findPaymentStateById(database, payment.id as PaymentId)) ?? assert.fail()
  const second = state.attempts[1] ?? assert.fail()
  const outcome = { kind: 'paid', receipts: receipts(1_250_000) } as const
  await settleAttempt(parts, second, { source: 'check', outcome })
  assert.equal((await shop.payment(payment.id)).status, 'successful')
})

test('a default webhook secret whose transaction was rolled back is created again', async () => {
  const shop = await service.addShop()
  const scope = { merchantId: shop.merchantId, mode: 'live' } as const
  const rolledBack = database.transaction(async (tx) => {
    for (const _ of [1, 2]) await ensureDefaultSecret(tx, parts.secrets, scope)
    throw unavailable(new Error('the connection breaks'))
  })
  await assert.rejects(rolledBack)
  await ensureDefaultSecret(database, parts.secrets, scope)
  assert.ok(
    await database.row(sql`select from webhook_secrets where merchant_id = ${shop.merchantUuid} and mode = 'live'`),
  )
})

test('initialize with an integration that another process has just removed stores no payment', async () => {
  const shop = await service.addShop()
  await startAttempt(database, shop) // fills the cache
  await database.rows(sql`
    update integrations set enabled = false, version = version + 1 where merchant_id = ${shop.merchantUuid}`)
  const { status, body } = await shop.initialize({ reference: 'just-removed' })
  assert.deepEqual([status, body.code], [422, 'provider_not_configured'])
  assert.equal(
    await database.row(
      sql`select from payments where merchant_id = ${shop.merchantUuid} and reference = 'just-removed'`,
    ),
    undefined,
  )
})

test('the events of one decision are listed in their order', async () => {
  const shop = await service.addShop()
  for (let paid = 0; paid < 5; paid++) {
    const { payment, attempt } = await startAttempt(database, shop, { provider: 'gateway-virtual-bank-account' })
    const amount = payment.amount + 500
    const paidTooMuch = money(amount, 'NGN' as Currency)
    const receipts = [
      { transactionId: `over-${paid}`, idIsProviders: true as const, amount: paidTooMuch, at: new Date() },
    ]
    await settleAttempt(parts, attempt, { source: 'check', outcome: { kind: 'paid', receipts } })
    const { body } = await shop.call('GET', `/payments/v1/events?payment=${payment.id}`)
    const sequences = body.data.map(({ sequence }: { sequence: number }) => sequence)
    assert.deepEqual(
      sequences,
      sequences.toSorted((a: number, b: number) => b - a),
    )
    assert.ok(sequences.length >= 2, 'successful and overpaid')
  }
})

const paidBy = (transactionId: string) => ({
  kind: 'paid' as const,
  receipts: [
    { transactionId, idIsProviders: true as const, amount: money(1_250_000, 'NGN' as Currency), at: new Date() },
  ],
})

const settle = (attempt: Attempt, transactionId: string, through = parts) =>
  settleAttempt(through, attempt, { source: 'check', outcome: paidBy(transactionId) })

test('a change that waits for another sees the receipts that were written meanwhile', async () => {
  const shop = await service.addShop()
  const { payment, attempt } = await startAttempt(database, shop)
  const other = await lock(attempt)
  const waiting = settle(attempt, 'written-meanwhile')
  await lockAwaited(database)
  await other.query(
    `insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, taken_at)
     select place, merchant_id, mode, provider, account, 'written-meanwhile', id, payment_id, 1250000, 'NGN', true, now()
       from attempts where place = $1 and id = $2`,
    [attempt.place, uuidOf(attempt.id)],
  )
  await other.query('commit')
  await waiting
  assert.deepEqual(await receiptsOf(attempt), { rows: 1, counted: 1 })
  assert.equal((await shop.payment(payment.id)).amountPaid, 0, 'the money of that receipt is counted by who wrote it')
  await other.end()
})

for (const [where, position] of [
  ['first', 0],
  ['in the middle', 2],
  ['last', 4],
] as const) {
  test(`a statement that fails ${where} fails the whole change, with its own error`, async () => {
    const shop = await service.addShop()
    const { payment, attempt } = await startAttempt(database, shop)
    const count = (number: number) => sql`
      update payments set metadata = jsonb_build_object('written', ${String(number)}::text)
       where place = ${attempt.place} and id = ${uuidOf(attempt.paymentId)}`
    const broken = sql`
      update payments set amount_paid = -1 where place = ${attempt.place} and id = ${uuidOf(attempt.paymentId)}`
    const statements: Statement[] = [0, 1, 2, 3].map(count)
    statements.splice(position, 0, broken)
    const change = changePayment(parts, attempt.paymentId, {
      decide: (_state, _read, tx) => {
        for (const statement of statements) tx.write(statement)
      },
    })
    await assert.rejects(change, { code: '23514' })
    assert.deepEqual((await shop.payment(payment.id)).metadata, payment.metadata)
  })
}

test('what runs after a commit, such as the counters of the metrics, does not run when the transaction is rolled back', async () => {
  const ran: string[] = []
  await database.transaction((tx) => tx.afterCommit(() => ran.push('committed')))
  const refused = database.transaction((tx) => {
    tx.afterCommit(() => ran.push('rolled back'))
    tx.write(sql`select 1 / 0`)
  })
  await assert.rejects(refused, /division by zero/)
  assert.deepEqual(ran, ['committed'])
})

test('a change whose error is swallowed is not taken for committed', async () => {
  const { attempt } = await startAttempt(database, await service.addShop())
  const change = database.transaction(async (tx) => {
    await tx.rows(sql`select 1 / 0`).catch(() => {})
    tx.write(
      sql`update attempts set failed_try_id = 'no' where place = ${attempt.place} and id = ${uuidOf(attempt.id)}`,
    )
  })
  await assert.rejects(change, { code: '25P02' })
})

test('a commit whose answer is lost: the caller is told to try again, and the next signal finds the success on record', async () => {
  const shop = await service.addShop()
  const { payment, attempt } = await startAttempt(database, shop)
  const proxy = await startCuttingProxy(service.databaseUrl ?? assert.fail())
  const cut = connect({ url: proxy.url })
  try {
    await cut.ping()
    proxy.cut('committed')
    await assert.rejects(settle(attempt, 'answer-lost', { ...parts, database: cut }), { code: 'unavailable' })
    assert.equal(proxy.cuts(), 1)
  } finally {
    await cut.close()
  }
  const committed = await eventually(() => shop.payment(payment.id), isPaid)
  await settle(attempt, 'answer-lost')
  const { sequence } = (await findPaymentStateById(database, attempt.paymentId))?.payment ?? assert.fail()
  const { eventTypes } = await recordsOf(database, payment)
  assert.equal(eventTypes.filter((type) => type === 'payment.successful').length, 1)
  assert.equal(sequence, eventTypes.length)
  assert.deepEqual((await shop.payment(payment.id)).attempts, committed.attempts)
})

test('two changes of one payment at once: the second is decided on what the first has written', async () => {
  const shop = await service.addShop()
  const { payment, attempt } = await startAttempt(database, shop)
  await Promise.all([settle(attempt, 'twice-1'), settle(attempt, 'twice-2')])
  const { status, attempts } = await shop.payment(payment.id)
  assert.deepEqual([status, attempts.length], ['successful', 1])
  assert.deepEqual(await receiptsOf(attempt), { rows: 2, counted: 1 }, 'the second transaction is surplus')
})

test('one transaction for two payments at once, in both orders: it counts once, and nobody waits for ever', async () => {
  const shop = await service.addShop()
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const started = [await startAttempt(database, shop), await startAttempt(database, shop)]
    const id = `contested-${order}`
    const attempts = order.map((index) => started[index]?.attempt ?? assert.fail())
    await Promise.all(attempts.map((attempt) => settle(attempt, id)))
    const paid = await Promise.all(started.map(async ({ payment }) => (await shop.payment(payment.id)).status))
    assert.deepEqual(paid.toSorted(), ['pending', 'successful'])
  }
})

test('a payment that another transaction holds is refused with 503, and others are changed meanwhile', async () => {
  const shop = await service.addShop()
  const [held, free] = [await startAttempt(database, shop), await startAttempt(database, shop)]
  const other = await lock(held.attempt)
  const impatient = connect({ url: service.databaseUrl ?? assert.fail(), lockTimeoutMs: 200 })
  const through = { ...parts, database: impatient }
  const refused = assert.rejects(
    settle(held.attempt, 'held', through),
    (error: { code: string; retryAfterSeconds: number }) => {
      assert.deepEqual([error.code, error.retryAfterSeconds], ['unavailable', 1])
      return true
    },
  )
  await settle(free.attempt, 'free')
  await refused
  await Promise.all([other.end(), impatient.close()])
  assert.equal((await shop.payment(free.payment.id)).status, 'successful')
  assert.equal((await shop.payment(held.payment.id)).status, 'pending')
})

test('a read that goes on after its transaction has failed sends nothing more', async () => {
  const gone = newId('payment', new Date(), 1)
  const { promise, resolve } = Promise.withResolvers<unknown>()
  const change = changePayment(parts, gone, {
    read: async (tx) => {
      await tx.rows(sql`select pg_sleep(0.1)`)
      await tx.rows(sql`select 2`).then(resolve, resolve)
    },
    decide: () => {},
  })
  await assert.rejects(change, /is gone/)
  assert.match(String(await promise), /the transaction is over/)
})

test('a transaction whose begin fails writes nothing', async (t) => {
  const shop = await service.addShop()
  const { payment, attempt } = await startAttempt(database, shop)
  const query = pg.Client.prototype.query as (query: unknown) => unknown
  let hasFailed = false
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, sent: { text?: string }) {
    if (sent.text === 'begin' && !hasFailed) {
      hasFailed = true
      sent.text = 'select 1 / 0' // in place of a cancel that arrives late
    }
    return query.call(this, sent)
  })
  const change = changePayment(parts, attempt.paymentId, {
    decide: (_state, _read, tx) =>
      tx.write(sql`update payments set metadata = '{"written": "alone"}' where id = ${uuidOf(attempt.paymentId)}`),
  })
  await assert.rejects(change, { code: '22012' })
  assert.deepEqual((await shop.payment(payment.id)).metadata, payment.metadata)
})

test('a payment that stays locked does not keep later ones from expiring', async () => {
  const shop = await service.addShop()
  const [held, free] = [await startAttempt(database, shop), await startAttempt(database, shop)]
  for (const [hours, { attempt }] of [
    [2, held],
    [1, free],
  ] as const)
    await database.rows(sql`
      update payments set expires_at = now() - make_interval(hours => ${hours}) where id = ${uuidOf(attempt.paymentId)}`)
  const other = await lock(held.attempt)
  const impatient = connect({ url: service.databaseUrl ?? assert.fail(), lockTimeoutMs: 200 })
  try {
    await assert.rejects(expirePayments({ ...parts, database: impatient }, 100), { code: 'unavailable' })
  } finally {
    await impatient.close()
    await other.end()
  }
  assert.equal((await shop.payment(free.payment.id)).status, 'expired')
  assert.equal(await expirePayments(parts, 100), 1)
  assert.equal((await shop.payment(held.payment.id)).status, 'expired')
})

test('two refunds made at the provider that count towards nothing: the second event names both', async () => {
  const { payment, attempt } = await startAttempt(database, await service.addShop())
  await settle(attempt, 'refunded-at-provider')
  await database.transaction(async (tx) => {
    const state = await lockPayment(tx, attempt.paymentId)
    const nothingLeft = { ...state, payment: { ...state.payment, amountRefunded: state.payment.amountPaid } }
    const work = { tx, deps: parts, state: nothingLeft, attempt, refunds: [], disputes: [] }
    for (const id of ['at-provider-1', 'at-provider-2']) recordRefund(work, 100, id)
  })
  const events = await database.rows<{ body: string }>(sql`
    select body from events where payment_id = ${uuidOf(attempt.paymentId)} and type = 'refund.successful' order by sequence`)
  assert.deepEqual(
    events.map(({ body }) => JSON.parse(body).data.payment.refunds.length),
    [1, 2],
    payment.id,
  )
})

test('a customer who is erased while a notice about them ends: its body is not kept', async () => {
  const shop = await service.addShop()
  const { payment, attempt } = await startAttempt(database, shop)
  const { place, merchantId, mode } = attempt
  const reading = { kind: 'unreadable' as const, because: 'it names no order' }
  const received = {
    provider: attempt.provider,
    keysVersion: attempt.keysVersion,
    body: Buffer.from(payment.user.email),
    reading,
  }
  const { notice } = await insertNotice(database, parts.secrets, attempt, received, new Date())
  let statements = 0
  const between = {
    ...database,
    rows: async <Row>(statement: Statement) => {
      if (statements++ === 1) await eraseCustomer(parts, 'test', { place, merchantId, mode }, payment.user.email)
      return database.rows<Row>(statement)
    },
  }
  await endNotice(between, notice, { state: 'done', note: null, attemptId: attempt.id })
  const row = await database.row<{ body: Buffer | string }>(sql`
    select body from notices where place = ${place} and id = ${notice.id}`)
  assert.equal(row?.body.length, 0)
})

/** Locks the payment's row like a process that is frozen in its transaction. */
async function lock({ paymentId }: Attempt): Promise<pg.Client> {
  const client = new pg.Client(service.databaseUrl)
  await client.connect()
  await client.query('begin')
  const row = 'select from payments where place = $1 and id = $2 for update'
  await client.query(row, [placeOf(paymentId), uuidOf(paymentId)])
  return client
}

function receiptsOf({ place, id }: Attempt) {
  return database.row<{ rows: number; counted: number }>(sql`
    select count(*) as rows, count(*) filter (where counted) as counted from receipts
     where place = ${place} and attempt_id = ${uuidOf(id)}`)
}
