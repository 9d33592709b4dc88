import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { sendDueRefunds } from '../../src/payments/refunds/refund-payment.ts'
import type { ProviderClient, Providers } from '../../src/providers/provider.ts'
import { doorInTrouble } from '../support/door-in-trouble.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { closeInstructions, letPass } from '../support/payment-records.ts'
import { refund } from '../support/returns.ts'
import {
  AMOUNT,
  becomes,
  charge,
  isPaid,
  ledger,
  paid,
  payByCard,
  type Started,
  start,
  TRANSFER,
  transfer,
} from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts } = service
const shop = await service.addShop()

async function eventsOf(id: string, like: string) {
  return database.rows<{ type: string; sequence: number; data: Record<string, Record<string, unknown>> }>(sql`
    select type, sequence, coalesce(body::jsonb->'data', data) as data from events where payment_id = ${uuidOf(id as never)} and type like ${like} order by sequence`)
}

test('a refund without an amount returns all money through the provider that received it', async () => {
  const { reference, id, order } = await paid(shop)
  const { status, body } = await refund(shop, reference)
  assert.equal(status, 201)
  const { id: refundId, createdAt, resolvedAt, ...rest } = body.data
  assert.match(refundId, /^rfd_/)
  assert.ok(Date.parse(resolvedAt) >= Date.parse(createdAt))
  assert.deepEqual(rest, {
    amount: AMOUNT,
    currency: 'NGN',
    payment: id,
    kind: 'merchant',
    status: 'successful',
    reason: null,
    failure: null,
    needsReview: null,
  })
  const { status: state, amountPaid, amountRefunded } = await shop.payment(reference)
  assert.deepEqual([state, amountPaid, amountRefunded], ['successful', AMOUNT, AMOUNT], 'nothing undoes a success')
  const records = await ledger(shop, order)
  assert.deepEqual([records.status, records.amount, records.refunded], ['refunded', AMOUNT, AMOUNT])
  const [event, ...others] = await eventsOf(id, 'refund.%')
  assert.equal(others.length, 0)
  assert.equal(event?.type, 'refund.successful')
  assert.deepEqual(event?.data.refund?.id, refundId)
  assert.equal(event?.data.payment?.amountRefunded, AMOUNT)
})

test('partial refunds add up, and the last one is the rest', async () => {
  const { payment, attempt, order } = await payByCard(shop)
  const { reference, id } = payment
  for (const [name, amount, total] of [
    [reference, 1, 1],
    [attempt.reference, 250_000, 250_001],
    [id, undefined, AMOUNT],
  ] as const) {
    const { status, body } = await refund(shop, name, { amount, reason: 'Out of stock' })
    assert.deepEqual([status, body.data.status, body.data.reason], [201, 'successful', 'Out of stock'])
    assert.equal((await shop.payment(reference)).amountRefunded, total)
  }
  assert.equal((await ledger(shop, order)).refunded, AMOUNT)
  const events = await eventsOf(id, 'refund.%')
  assert.deepEqual(
    events.map(({ data }) => data.refund?.amount),
    [1, 250_000, 999_999],
  )
  const sequences = events.map(({ sequence }) => sequence)
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  )
})

test('more than was paid is 422 refund_exceeds_payment with the refundable amount', async () => {
  const { reference, order } = await paid(shop)
  const over = await refund(shop, reference, { amount: AMOUNT + 1 })
  assert.deepEqual([over.status, over.body.code, over.body.refundable], [422, 'refund_exceeds_payment', AMOUNT])
  assert.equal((await refund(shop, reference, { amount: AMOUNT - 10 })).status, 201)
  const more = await refund(shop, reference, { amount: 11 })
  assert.deepEqual([more.status, more.body.refundable], [422, 10])
  assert.equal(more.body.detail, '10 NGN (₦0.10) of 1250000 NGN (₦12,500.00) can still be refunded.')
  assert.equal((await refund(shop, reference, { amount: 10 })).status, 201)
  const nothing = await refund(shop, reference, { allowDuplicate: true })
  assert.deepEqual([nothing.status, nothing.body.code, nothing.body.refundable], [422, 'refund_exceeds_payment', 0])
  assert.equal((await ledger(shop, order)).refunded, AMOUNT)
})

test('of twenty concurrent full refunds one is made', async () => {
  const { reference, id, order } = await paid(shop)
  const all = await Promise.all(Array.from({ length: 20 }, () => refund(shop, reference)))
  assert.deepEqual(all.map(({ status }) => status).sort(), [201, ...Array(19).fill(409)])
  assert.equal((await shop.payment(reference)).amountRefunded, AMOUNT)
  const records = await ledger(shop, order)
  assert.equal(records.refunded, AMOUNT)
  assert.equal(records.transactions.filter(({ kind }: { kind: string }) => kind === 'refund').length, 1)
  assert.equal((await eventsOf(id, 'refund.%')).length, 1)
})

test('of twenty concurrent refunds of a tenth ten are made', async () => {
  const { reference, order } = await paid(shop)
  const all = await Promise.all(
    Array.from({ length: 20 }, () => refund(shop, reference, { amount: AMOUNT / 10, allowDuplicate: true })),
  )
  assert.equal(all.filter(({ status }) => status === 201).length, 10)
  assert.equal((await shop.payment(reference)).amountRefunded, AMOUNT)
  assert.equal((await ledger(shop, order)).refunded, AMOUNT)
})

test('an unpaid payment is not refunded: 409 while it is open, 422 when it ended', async () => {
  const { data } = (await shop.initialize()).body
  const open = await refund(shop, data.reference)
  assert.deepEqual([open.status, open.body.code], [409, 'payment_not_completed'])
  await shop.call('POST', `/payments/v1/payments/${data.reference}/cancel`)
  const cancelled = await refund(shop, data.reference)
  assert.deepEqual([cancelled.status, cancelled.body.code], [422, 'refund_exceeds_payment'])
})

test('a payment that is not there is 404', async () => {
  const { status, body } = await refund(shop, 'never-was')
  assert.deepEqual([status, body.code], [404, 'not_found'])
})

test('a refund whose body has mistakes is refused, above all one whose amount is misspelt: that would give all back', async () => {
  const { reference } = await paid(shop)
  for (const amount of [0, -1, 0.5, '5', true, 1e15, [5]]) {
    const { status, body } = await refund(shop, reference, { amount })
    assert.deepEqual([status, body.code, body.errors?.[0].pointer], [400, 'invalid_request', '/amount'], String(amount))
  }
  const zero = await refund(shop, reference, { amount: 0 })
  assert.match(zero.body.detail, /at least 1/)
  for (const field of ['amonut', 'Amount', 'amounts']) {
    const { status, body } = await refund(shop, reference, { [field]: 5 })
    assert.deepEqual([status, body.code], [400, 'unknown_field'], field)
  }
  const unknown = await refund(shop, reference, { value: 100, reason: 'returned', note: 'x' })
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'unknown_field'])
  assert.deepEqual(
    unknown.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/value', '/note'],
    'any other field may be the amount',
  )
  const long = await refund(shop, reference, { amount: 0, reason: 'x'.repeat(201) })
  assert.deepEqual(
    long.body.errors.map(({ pointer }: { pointer: string }) => pointer),
    ['/amount', '/reason'],
    'all at once',
  )
  for (const body of ['[]', '5', '"x"', '{', 'null'])
    assert.equal((await refund(shop, reference, body)).status, 400, body)
  assert.equal((await shop.payment(reference)).amountRefunded, 0)
})

test('null means absent, and so does no body at all: all of the money goes back', async () => {
  const { reference } = await paid(shop)
  assert.equal((await refund(shop, reference, { amount: null, reason: null })).body.data.amount, AMOUNT)
  for (const headers of [undefined, { 'content-type': 'application/json' }]) {
    const { reference } = await paid(shop)
    const silent = await shop.call('POST', `/payments/v1/payments/${reference}/refunds`, undefined, headers)
    assert.deepEqual([silent.status, silent.body.data?.amount], [201, AMOUNT], JSON.stringify(silent.body))
  }
})

test('an amount in the address, where it would be ignored, does not refund everything', async () => {
  const { reference } = await paid(shop)
  const { status, body } = await shop.call('POST', `/payments/v1/payments/${reference}/refunds?amount=5`)
  assert.deepEqual([status, body.code], [400, 'unknown_field'])
  assert.equal((await shop.payment(reference)).amountRefunded, 0)
})

test('a refused refund fails, and its amount can be refunded again', async () => {
  const { reference, id, order } = await paid(shop)
  // As after a refund on the provider's own dashboard that nobody told us of.
  await database.rows(sql`update gateway_payments set refunded = taken where reference = ${order}`)
  const { status, body } = await refund(shop, reference)
  assert.deepEqual([status, body.data.status, body.data.failure], [201, 'failed', 'refund_exceeds_payment'])
  assert.ok(body.data.resolvedAt)
  assert.equal((await shop.payment(reference)).amountRefunded, 0)
  await database.rows(sql`update gateway_payments set refunded = 0 where reference = ${order}`)
  const again = await refund(shop, reference)
  assert.deepEqual([again.status, again.body.data.status], [201, 'successful'])
  assert.deepEqual(
    (await eventsOf(id, 'refund.%')).map(({ type }) => type),
    ['refund.failed', 'refund.successful'],
  )
})

for (const trouble of ['silent before the work', 'silent after the work', 'answering 503 after the work'] as const) {
  test(`B21: a provider that is ${trouble} leaves the refund pending; asked again it is made once`, async (t) => {
    const door = await doorInTrouble(t, service)
    const { reference, id, order } = await paid(shop)
    door.upstream.trouble = trouble
    const { status, body } = await door.call(shop, 'POST', `/payments/v1/payments/${reference}/refunds`, {
      amount: 1_000_000,
    })
    // After the work the provider's notice may be quicker than the end of our own wait.
    const expected = trouble === 'silent before the work' ? ['pending'] : ['pending', 'successful']
    assert.equal(status, 201)
    assert.ok(expected.includes(body.data.status), body.data.status)
    const held = await refund(shop, reference, { amount: 250_001 })
    assert.deepEqual([held.status, held.body.refundable], [422, 250_000], 'what is promised is not promised twice')
    await database.rows(sql`update refunds set due_at = now() where status = 'pending'`)
    await sendDueRefunds(parts, 100)
    await eventually(
      () => shop.payment(reference),
      ({ amountRefunded }) => amountRefunded === 1_000_000,
    )
    const records = await ledger(shop, order)
    assert.equal(records.refunded, 1_000_000)
    assert.equal(records.transactions.filter(({ kind }: { kind: string }) => kind === 'refund').length, 1)
    assert.equal((await eventsOf(id, 'refund.successful')).length, 1)
  })
}

test('surplus money is refunded automatically and not counted as a refund of the payment', async () => {
  const reference = 'paid-twice'
  const [card, account] = [await start(shop, { reference }), await start(shop, { ...TRANSFER, reference })]
  await charge(shop, card.order)
  await becomes(shop, card.payment, isPaid)
  await transfer(shop, account.accountNumber, AMOUNT)
  const payment = await becomes(shop, card.payment, ({ attempts }) => attempts[1].status === 'surplus')
  await letPass(database, payment, 61)
  await sendDueRefunds(parts, 100)
  const record = await eventually(
    () => ledger(shop, account.order),
    ({ refunded }) => refunded === AMOUNT,
  )
  assert.equal(record.status, 'refunded')
  const after = await shop.payment(reference)
  assert.deepEqual([after.amountPaid, after.amountRefunded], [AMOUNT, 0])
  const [event] = await eventsOf(payment.id, 'refund.%')
  assert.deepEqual([event?.type, event?.data.refund?.kind], ['refund.successful', 'surplus'])
  const whole = await refund(shop, reference)
  assert.deepEqual(
    [whole.status, whole.body.data.amount],
    [201, AMOUNT],
    'and the payment itself can still be refunded',
  )
  assert.equal((await ledger(shop, card.order)).refunded, AMOUNT)
})

test('a transfer that brought too much can be refunded with its excess', async () => {
  const { payment, accountNumber } = await start(shop, TRANSFER)
  await transfer(shop, accountNumber, AMOUNT + 500)
  const paid = await becomes(shop, payment, isPaid)
  assert.equal(paid.amountPaid, AMOUNT + 500)
  assert.equal((await refund(shop, payment.reference, { amount: 500 })).status, 201)
  assert.equal((await refund(shop, payment.reference)).body.data.amount, AMOUNT)
})

/** A payment that was cancelled with a part on each of two accounts. */
async function cancelledWithParts(reference: string, parts: [number, number]) {
  const started = []
  for (const _ of parts) {
    started.push(await start(shop, { ...TRANSFER, reference }))
    await closeInstructions(database, reference)
  }
  for (const [index, { accountNumber }] of started.entries()) await transfer(shop, accountNumber, parts[index] ?? 0)
  const [{ payment }] = started as [Started]
  await becomes(shop, payment, ({ amountPaid }) => amountPaid === parts[0] + parts[1])
  assert.equal((await shop.call('POST', `/payments/v1/payments/${reference}/cancel`)).status, 200)
  return started.map(({ order }) => order)
}

test('parts that came through two attempts go back one by one: too much at once is refused with what can go at once', async () => {
  const orders = await cancelledWithParts('in-two-parts', [700_000, 500_000])
  const both = await refund(shop, 'in-two-parts', { amount: 1_200_000 })
  assert.deepEqual([both.status, both.body.code, both.body.refundable], [422, 'refund_exceeds_payment', 700_000])
  assert.match(
    both.body.detail,
    /^1200000 NGN \(₦12,000.00\) of 1200000 NGN .*700000 NGN \(₦7,000.00\) at most can go back at once/,
  )

  const larger = await refund(shop, 'in-two-parts')
  assert.deepEqual([larger.status, larger.body.data.status, larger.body.data.amount], [201, 'successful', 700_000])
  const rest = await refund(shop, 'in-two-parts')
  assert.deepEqual([rest.status, rest.body.data.status, rest.body.data.amount], [201, 'successful', 500_000])
  const nothing = await refund(shop, 'in-two-parts', { amount: 1 })
  assert.deepEqual([nothing.status, nothing.body.refundable], [422, 0])

  const { status, amountPaid, amountRefunded } = await shop.payment('in-two-parts')
  assert.deepEqual([status, amountPaid, amountRefunded], ['cancelled', 1_200_000, 1_200_000])
  const taken = await Promise.all(orders.map((order) => ledger(shop, order)))
  assert.deepEqual(
    taken.map(({ refunded }) => refunded),
    [700_000, 500_000],
    'each the way it came',
  )
})

test('the audit log has one entry for each refund, with its actor', async () => {
  const { reference } = await paid(shop)
  const { id } = (await refund(shop, reference, { amount: 1_000 })).body.data
  assert.equal((await refund(shop, reference, { amount: AMOUNT })).status, 422)
  const acts = await database.rows(sql`
    select actor, act, subject from audit_log where merchant_id = ${shop.merchantUuid} order by at desc limit 1`)
  const actor = `credential:${shop.headers['client-id']}`
  assert.deepEqual(acts, [{ actor, act: 'refund.asked_for', subject: id }])
})

test('a slow provider is called by one process only', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const payment = await paid(shop)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status, transaction_ids, due_at)
    select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 100, currency, 'surplus', false, 'pending', '{}', now()
      from attempts where payment_id = ${uuidOf(payment.id as never)}`)
  let asked = 0
  const answered = Promise.withResolvers<void>()
  const connect: Providers['connect'] = async (...of) => {
    const connection = await parts.providers.connect(...of)
    const refund: ProviderClient['refund'] = async () => {
      asked++
      await answered.promise
      return { kind: 'refused', because: 'it was slow, and then it refused' }
    }
    return { ...connection, refund }
  }
  const slow = { ...parts, providers: { ...parts.providers, connect } }
  const first = sendDueRefunds(slow, 10)
  await eventually(
    async () => asked,
    (times) => times === 1,
  )
  for (let seconds = 0; seconds < 180; seconds += 20) {
    await letPass(database, payment, 20)
    t.mock.timers.tick(20_000)
    await eventually(
      () =>
        database.row(
          sql`select from refunds where payment_id = ${uuidOf(payment.id as never)} and leased_until > now() + interval '45 seconds'`,
        ),
      (row) => row !== undefined,
    )
    assert.equal(await sendDueRefunds(slow, 10), 0)
  }
  answered.resolve()
  assert.equal(await first, 1)
  assert.equal(asked, 1)
})

test('a refund that the provider accepted is asked about by the id that it gave', async () => {
  const payment = await paid(shop)
  await database.rows(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status, transaction_ids, due_at)
    select place, gen_random_uuid(), payment_id, id, merchant_id, mode, 100, currency, 'surplus', false, 'pending', '{}', now()
      from attempts where payment_id = ${uuidOf(payment.id as never)}`)
  const asked: (string | undefined)[] = []
  const connect: Providers['connect'] = async (...of) => {
    const connection = await parts.providers.connect(...of)
    const refund: ProviderClient['refund'] = async ({ refundId }) => {
      asked.push(refundId)
      return asked.length === 1 ? { kind: 'pending', refundId: 'theirs-1' } : { kind: 'refunded', refundId: 'theirs-1' }
    }
    return { ...connection, refund }
  }
  const accepting = { ...parts, providers: { ...parts.providers, connect } }
  await sendDueRefunds(accepting, 10)
  await letPass(database, payment, 3_600)
  await sendDueRefunds(accepting, 10)
  assert.deepEqual(asked, [undefined, 'theirs-1'])
})
