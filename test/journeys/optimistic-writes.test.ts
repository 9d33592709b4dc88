import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { type Database, type Queries, STATEMENT_SENT, type Transaction } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { type AttemptId, type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { checkAttempt, settleAttempt } from '../../src/payments/settle-attempt.ts'
import { startAttempt } from '../../src/payments/start-attempt.ts'
import { findAttempt } from '../../src/payments/store/attempts.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import { findNewReceipts, insertReceipts } from '../../src/payments/store/receipts.ts'
import type { Asked } from '../fakes/upstream.ts'
import { startBetween } from '../support/between.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { recordsOf } from '../support/payment-records.ts'
import { paid } from '../support/returns.ts'
import { CARD } from '../support/simulator.ts'

// A decision is made on a snapshot and written if nothing has changed since. What can change in between?

const service = await startPaying()
const { database, parts } = service

async function start(shop: Shop, changes: Record<string, unknown> = {}) {
  const { status, body } = await shop.initialize(changes)
  assert.equal(status, 200, JSON.stringify(body))
  const payment = await shop.payment(body.data.reference)
  const attempt = await findAttempt(database, payment.attempts.at(-1).id as AttemptId)
  return { payment, attempt: attempt ?? assert.fail() }
}

const charge = (shop: Shop, order: string) =>
  shop.call('POST', `/sandbox/gateway/charges/${order}`, { card: CARD.pays })

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
  const { payment, attempt } = await start(between.shop)
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
  await shop.call('PUT', '/sandbox/gateway/faults', { seed: 1, lost: 1 })
  const { payment, attempt: first } = await start(shop, { provider: 'gateway-virtual-bank-account' })
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
  await settleAttempt(parts, second, { source: 'check', outcome }, state)
  assert.equal((await shop.payment(payment.id)).status, 'successful')
})

test('initialize sends its intent before it looks for a saved card', async () => {
  const shop = await service.addShop()
  await start(shop) // fills the caches
  const sent: string[] = []
  const listen = (message: unknown) => void sent.push((message as Statement).text)
  STATEMENT_SENT.subscribe(listen)
  try {
    await start(shop)
  } finally {
    STATEMENT_SENT.unsubscribe(listen)
  }
  const indexOf = (part: string) => sent.findIndex((text) => text.includes(part))
  const intent = indexOf('insert into payments')
  assert.ok(intent >= 0)
  assert.ok(intent < indexOf('from saved_cards'), 'the look-up is made, and it is second')
})

test('initialize with an integration that another process has just removed stores no payment', async () => {
  const shop = await service.addShop()
  await start(shop) // fills the cache
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

test('an integration that changes whenever it is read does not prevent a start', async () => {
  const shop = await service.addShop()
  const wanted = { amount: 1_250_000, country: 'NG', user: { email: 'ada@example.com' } }
  const { id } = (await shop.call('POST', '/payments/v1/checkouts', wanted)).body.data
  const changing = <Db extends Queries>(db: Db): Db => ({
    ...db,
    async rows<Row>(statement: Statement) {
      const rows = await db.rows<Row>(statement)
      if (!/from integrations\s+where/.test(statement.text)) return rows
      await database.rows(sql`update integrations set version = version + 1 where merchant_id = ${shop.merchantUuid}`)
      return rows
    },
  })
  const unsteady: Database = {
    ...changing(database),
    transaction: (work: (tx: Transaction) => Promise<never>) => database.transaction((tx) => work(changing(tx))),
  }
  const capabilities = parts.providers.find('gateway')?.capabilities ?? assert.fail()
  const { attempt } = await startAttempt({ ...parts, database: unsteady }, id, { capabilities, channel: 'card' })
  assert.equal(attempt.status, 'pending')
})

test('the events of one decision are listed in their order', async () => {
  const shop = await service.addShop()
  for (let paid = 0; paid < 5; paid++) {
    const { payment, attempt } = await start(shop, { provider: 'gateway-virtual-bank-account' })
    const amount = payment.amount + 500
    const receipts = [
      {
        transactionId: `over-${paid}`,
        idIsProviders: true as const,
        amount: money(amount, 'NGN' as Currency),
        at: new Date(),
      },
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

test('for a merchant with one key, the write of money does not search what is on record under other keys', async () => {
  const shop = await service.addShop()
  let written: { text: string; values: unknown[] } | undefined
  const onSent = (message: unknown) => {
    const statement = message as { text: string; values: unknown[] }
    if (statement.text.includes('under_other_keys')) written = statement
  }
  STATEMENT_SENT.subscribe(onSent)
  await paid(shop)
  STATEMENT_SENT.unsubscribe(onSent)
  const { text, values } = written ?? assert.fail()
  const literals = values.map((value) => pg.escapeLiteral(Array.isArray(value) ? `{${value}}` : String(value)))
  const client = new pg.Client({ connectionString: service.databaseUrl })
  await client.connect()
  // A plan for few rows reads all of them, and is used for some time after the table has grown.
  await client.query(`analyze receipts; set plan_cache_mode = force_generic_plan; prepare written as ${text}`)
  const { rows } = await client.query(`explain (analyze, timing off) execute written (${literals})`)
  await client.end()
  const reads = rows.map((row) => String(row['QUERY PLAN'])).filter((line) => / on receipts o /.test(line))
  assert.ok(reads.length > 0 && reads.every((line) => line.includes('never executed')), reads.join('\n'))
})

test('one statement finds new money, if nothing was given back of its order or no money is new', async () => {
  const { attempt } = await start(await service.addShop())
  const receipt = (transactionId: string, returned?: number) => ({
    ...{
      transactionId,
      idIsProviders: true as const,
      amount: money(1_000, 'NGN' as Currency),
      at: new Date(),
      returnedIsOfOrder: true as const,
    },
    ...(returned !== undefined && { returned }),
  })
  await database.transaction(async (tx) => {
    let sent = 0
    const counting: Transaction = {
      ...tx,
      rows(statement) {
        sent++
        return tx.rows(statement)
      },
    }
    const find = async (...receipts: ReturnType<typeof receipt>[]) => {
      sent = 0
      const found = await findNewReceipts(counting, attempt, receipts)
      return { sent, found: found.map(({ transactionId, returned = 0 }) => [transactionId, returned]) }
    }
    assert.deepEqual(await find(receipt('t1')), { sent: 1, found: [['t1', 0]] })
    await insertReceipts(tx, attempt, [receipt('t1')], true)
    assert.deepEqual(await find(receipt('t1', 400)), { sent: 1, found: [] })
    const { sent: statements, found } = await find(receipt('t1'), receipt('t2', 400))
    assert.deepEqual([statements > 1, found], [true, [['t2', 400]]])
  })
})
