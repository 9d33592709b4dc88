import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { reconcileAttempt } from '../../src/payments/refunds/reconcile-attempt.ts'
import { checkAttempt } from '../../src/payments/settle/settle-attempt.ts'
import { refundReference } from '../../src/payments/state/refund.ts'
import { insertUnmatched, readShares } from '../../src/payments/store/receipts.ts'
import { leaseRefund } from '../../src/payments/store/refunds.ts'
import { closeTransfer } from '../../src/payments/transfers/handle-transfer.ts'
import type { ListedDispute, ProviderClient, Receipt } from '../../src/providers/provider.ts'
import { spreadReversed } from '../../src/providers/spread-reversed.ts'
import { type Shop, startPaying } from '../support/paying.ts'
import { assertAudited } from '../support/payment-records.ts'
import { listedRefund, listingProvider, refund } from '../support/returns.ts'
import { AMOUNT, loseNotices, type Paid, paid } from '../support/sandbox-payments.ts'

const service = await startPaying()
const { database, parts } = service
afterEach(() => assertAudited(database))
const { attemptOf, pendingRefund, reconcileWith, withProvider } = listingProvider(service)

const naira = (amount: number) => money(amount, 'NGN' as Currency)

const disputed = (status: ListedDispute['status'], amount = AMOUNT): ListedDispute => ({
  disputeId: 'd-1',
  amount: naira(amount),
  status,
  reason: null,
  respondBy: null,
  openedAt: new Date(),
})

/** The same amount came once more after the payment was paid, and the provider refused to give it back. */
async function surplusKept(payment: Paid): Promise<void> {
  const paymentId = uuidOf(payment.id as PaymentId)
  await database.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, taken_at)
    select place, merchant_id, mode, provider, account, 'second', id, payment_id, ${AMOUNT}, currency, false, now()
      from attempts where payment_id = ${paymentId}`)
  await database.rows(sql`
    update attempts set amount_received = amount_received + ${AMOUNT} where payment_id = ${paymentId}`)
}

const moneyOf = async (shop: Shop, payment: Paid) => {
  const { amountPaid, amountRefunded } = await shop.payment(payment.reference)
  return [amountPaid, amountRefunded]
}

test('a refund at the provider leaves room for one of ours that is not answered yet', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await surplusKept(payment)
  const reference = refundReference(await pendingRefund(payment, AMOUNT))
  await reconcileWith(payment, [listedRefund('t-1', 300_000)])
  const ours = listedRefund('t-2', AMOUNT, { reference })
  assert.equal((await reconcileWith(payment, [listedRefund('t-1', 300_000), ours])).kind, 'reconciled')
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, AMOUNT])
})

test('a failed refund that is done after all counts as far as the payment has money', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await surplusKept(payment)
  const reference = refundReference(await pendingRefund(payment, AMOUNT))
  await reconcileWith(payment, [listedRefund('t-1', AMOUNT, { reference, status: 'failed' })])
  assert.equal((await refund(shop, payment.reference, { amount: AMOUNT })).body.data.status, 'successful')
  assert.equal((await reconcileWith(payment, [listedRefund('t-1', AMOUNT, { reference })])).kind, 'reconciled')
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, AMOUNT])
})

test('a refund of more than is left at the provider is refused, not an error', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await surplusKept(payment)
  assert.equal((await refund(shop, payment.reference, { amount: 800_000 })).status, 201)
  await reconcileWith(payment, [listedRefund('t-1', 850_000), listedRefund('t-2', 850_000)])
  const { status, body } = await refund(shop, payment.reference, { amount: 450_000 })
  assert.deepEqual([status, body.code], [422, 'refund_exceeds_payment'])
})

test('a dispute that is lost again after a refund counts what is left', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await reconcileWith(payment, [], [disputed('lost')])
  await reconcileWith(payment, [], [disputed('won')])
  await loseNotices(shop)
  assert.equal((await refund(shop, payment.reference, { amount: 800_000 })).body.data.status, 'successful')
  assert.equal((await reconcileWith(payment, [], [disputed('lost')])).kind, 'reconciled')
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, AMOUNT])
  assert.match((await shop.payment(payment.reference)).attempts[0].needsReview, /^dispute_lost: /)
})

test('a refund that was made before ours was asked for is not taken for ours', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  await pendingRefund(payment, 300_000)
  const before = new Date(Date.now() - 3_600_000)
  await reconcileWith(payment, [listedRefund('t-1', 300_000, { at: before })])
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, 300_000])
})

test('the lease of a refund ends no earlier in the database than in the process that holds it', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  const id = await pendingRefund(payment, 300_000)
  const leased = await database.transaction(async (tx) => {
    await tx.rows(sql`select pg_sleep(0.5)`) // such as waiting for the payment's lock
    const lease = await leaseRefund(tx, id, new Date())
    const row = await tx.row<{ left: number }>(sql`
      select extract(epoch from leased_until - clock_timestamp())::float8 * 1000 as left from refunds where id = ${uuidOf(id)}`)
    return { atProcess: (lease ?? assert.fail()).heldUntilMs - performance.now(), atDatabase: row?.left ?? 0 }
  })
  assert.ok(leased.atDatabase >= leased.atProcess - 50, JSON.stringify(leased))
})

/** Asks a provider that answers with these transactions. */
async function checkWith(payment: Paid, receipts: Receipt[]) {
  const check: ProviderClient['check'] = async () => ({ kind: 'paid', receipts })
  return checkAttempt(withProvider({ check }), await attemptOf(payment), { source: 'check' })
}

const receipt = (transactionId: string, returned = 0): Receipt => ({
  transactionId,
  idIsProviders: true,
  amount: naira(AMOUNT),
  at: new Date(),
  ...(returned > 0 && { returned }),
})

test('a refund that is on record is not taken for one of new money, where the provider names one sum for all', async () => {
  const shop = await service.addShop()
  const payment = await paid(shop)
  assert.equal((await refund(shop, payment.reference, { amount: 300_000 })).body.data.status, 'successful')
  const known = await database.row<{ transaction_id: string }>(sql`
    select transaction_id from receipts where payment_id = ${uuidOf(payment.id as PaymentId)}`)
  const second: Receipt = { ...receipt('second', 300_000), returnedIsOfOrder: true }
  await checkWith(payment, [receipt(known?.transaction_id ?? ''), second])
  const refunds = await database.rows<{ kind: string; amount: number }>(sql`
    select kind, amount from refunds where payment_id = ${uuidOf(payment.id as PaymentId)} order by created_at`)
  assert.deepEqual(
    refunds.map(({ kind, amount }) => [kind, amount]),
    [
      ['merchant', 300_000],
      ['surplus', AMOUNT],
    ],
  )
})

/** A payment by transfer, of which nobody sends notices. */
async function byTransfer(shop: Shop) {
  await loseNotices(shop)
  const { data } = (await shop.initialize({ provider: 'gateway-virtual-bank-account', amount: AMOUNT })).body
  const { id, reference, attempts } = await shop.payment(data.reference)
  const order: string = attempts[0].providerReference
  const { accountNumber } = data.data
  const act = async (path: string, body: object) => {
    const { status } = await shop.call('POST', `/sandbox/gateway/${path}`, body)
    assert.ok(status === 200 || status === 201, `${path}: ${status}`)
  }
  const payment: Paid = { id, reference, order }
  return {
    payment,
    transfer: (amount: number) => act('transfers', { accountNumber, amount }),
    refund: (amount: number) => act('refunds', { payment: order, reference: order, amount }),
    check: async () => checkAttempt(parts, await attemptOf(payment), { source: 'check' }),
    list: async () => reconcileAttempt(parts, await attemptOf(payment)),
  }
}

test('refunds of an order with two transfers count once, whether they are listed before or after the second is seen', async () => {
  const shop = await service.addShop()
  for (const isListedFirst of [true, false]) {
    const { payment, transfer, refund, check, list } = await byTransfer(shop)
    await transfer(200_000)
    await check()
    await refund(120_000)
    await list()
    await transfer(200_000)
    await refund(120_000)
    if (isListedFirst) await list()
    await check()
    await list()
    const { amountReceived, amountReturned } = await attemptOf(payment)
    assert.deepEqual([amountReceived, amountReturned], [400_000, 240_000], `listed first: ${isListedFirst}`)
  }
})

test('a refund of an unknown order with two transfers is recorded once, for the one that it was first recorded for', async () => {
  const shop = await service.addShop()
  const scope = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
  const transfers = [receipt('first'), receipt('second')]
  for (const seen of [transfers.slice(0, 1), transfers])
    await database.transaction((tx) =>
      insertUnmatched(tx, scope, { provider: 'gateway', keysVersion: 0 }, spreadReversed(seen, 120_000)),
    )
  const rows = await database.rows<{ returned: number }>(sql`
    select returned from receipts where merchant_id = ${uuidOf(shop.merchantId)} order by id`)
  assert.deepEqual(
    rows.map(({ returned }) => returned),
    [120_000, 0],
  )
})

test('a refund of an unknown order is recorded once, also by two notices at once', async () => {
  const shop = await service.addShop()
  const scope = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
  const transfers = [receipt('first'), receipt('second')]
  const record = (tx: Transaction, seen: Receipt[]) =>
    insertUnmatched(tx, scope, { provider: 'gateway', keysVersion: 0 }, spreadReversed(seen, 120_000))
  const [isWritten, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = database.transaction(async (tx) => {
    await record(tx, transfers.slice(0, 1))
    isWritten.resolve()
    await mayEnd.promise
  })
  await isWritten.promise
  const second = database.transaction((tx) => record(tx, transfers))
  await sleep(300)
  mayEnd.resolve()
  await Promise.all([first, second])
  const rows = await database.rows<{ returned: number }>(sql`
    select returned from receipts where merchant_id = ${uuidOf(shop.merchantId)} order by transaction_id`)
  assert.deepEqual(
    rows.map(({ returned }) => returned),
    [120_000, 0],
  )
})

/**
 * A payment by transfer whose order some notices do not name, so that its transfers are recorded as unmatched money.
 */
async function byUnnamedTransfers() {
  const shop = await service.addShop()
  const scope = { place: shop.place, merchantId: shop.merchantId, mode: 'sandbox' as const }
  const at = { provider: 'gateway', keysVersion: 0 }
  const paying = await byTransfer(shop)
  const { order } = paying.payment
  const receipts = async () => {
    const answer = await (await parts.providers.connect(scope, 'gateway')).check({
      ...{ reference: order, providerReference: order },
      ...{ channel: 'virtual-bank-account', startedAt: new Date() },
    })
    return 'receipts' in answer ? answer.receipts : []
  }
  const unmatched = () =>
    database.rows<{ id: number; transaction_id: string }>(sql`
      select id, transaction_id from receipts where merchant_id = ${uuidOf(shop.merchantId)} and attempt_id is null order by id`)
  return {
    ...paying,
    ...{ scope, receipts },
    /** The unmatched records after such a notice. */
    async notice() {
      const all = await receipts()
      await database.transaction((tx) => insertUnmatched(tx, scope, at, all))
      return unmatched()
    },
    returnByHand: (id = 0, amount = 200_000) =>
      closeTransfer(
        parts,
        { scope, actor: 'member', note: 'by bank' },
        { kind: 'receipt', id },
        'returned_by_hand',
        amount,
      ),
    /** Received and returned, after a check of the order. */
    async totals() {
      await paying.check()
      const { amountReceived, amountReturned } = await attemptOf(paying.payment)
      return [amountReceived, amountReturned]
    },
  }
}

test('what was returned by hand of a second transfer is not counted when the provider names its order later', async () => {
  const { transfer, check, notice, returnByHand, totals } = await byUnnamedTransfers()
  await transfer(200_000)
  await check()
  await transfer(300_000)
  const [second] = await notice()
  await returnByHand(second?.id, 300_000)
  assert.deepEqual(await totals(), [500_000, 300_000])
})

test('what was returned by hand of a second transfer counts beside a refund of the first', async () => {
  const { transfer, refund, check, list, notice, returnByHand, totals } = await byUnnamedTransfers()
  await transfer(300_000)
  await check()
  await refund(300_000)
  await list()
  await transfer(200_000)
  const [second] = await notice()
  await returnByHand(second?.id)
  assert.deepEqual(await totals(), [500_000, 500_000])
})

test('a share that is on record stays with its transfer when the order becomes known', async () => {
  const { transfer, refund, notice, returnByHand, totals } = await byUnnamedTransfers()
  await transfer(200_000)
  await notice()
  await refund(200_000)
  await notice()
  await transfer(200_000)
  const [, second] = await notice()
  await returnByHand(second?.id)
  assert.deepEqual(await totals(), [400_000, 400_000])
})

test('a refund at the provider that a member recorded as by hand counts once when the order becomes known', async () => {
  const { transfer, refund, notice, returnByHand, totals } = await byUnnamedTransfers()
  await transfer(200_000)
  await transfer(200_000)
  const [first] = await notice()
  await refund(200_000)
  await returnByHand(first?.id)
  assert.deepEqual(await totals(), [400_000, 200_000])
})

test('shares count what a member is returning by hand at the same moment', async () => {
  const { scope, transfer, refund, notice, receipts } = await byUnnamedTransfers()
  await transfer(200_000)
  await transfer(200_000)
  const [first] = await notice()
  await refund(200_000)
  const all = await receipts()
  const [isLocked, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const returning = database.transaction(async (tx) => {
    await tx.rows(sql`select id from receipts where place = ${scope.place} and id = ${first?.id} for update`)
    await tx.rows(sql`
      insert into reviews (place, id, merchant_id, mode, kind, act, receipt_id, amount, currency, actor)
      values (${scope.place}, gen_random_uuid(), ${uuidOf(scope.merchantId)}, 'sandbox', 'unmatched', 'returned_by_hand', ${first?.id}, 200000, 'NGN', 'member')`)
    isLocked.resolve()
    await mayEnd.promise
  })
  await isLocked.promise
  const reading = database.transaction((tx) => readShares(tx, { ...scope, provider: 'gateway', keysVersion: 0 }, all))
  await sleep(300)
  mayEnd.resolve()
  await returning
  assert.equal((await reading).get(first?.transaction_id ?? ''), 200_000)
})

/** A payment whose money the provider was giving back when we first saw it. */
async function seenWithReturn(shop: Shop, returned: number): Promise<Paid> {
  await loseNotices(shop)
  const { data } = (await shop.initialize({ amount: AMOUNT })).body
  const { id, reference } = await shop.payment(data.reference)
  const payment: Paid = { id, reference, order: String(data.data.reference) }
  await checkWith(payment, [receipt(`first-${id}`, returned)])
  return payment
}

test('a refund that was under way when we first saw its money, and that fails, is not recorded as returned', async () => {
  const shop = await service.addShop()
  const payment = await seenWithReturn(shop, 300_000)
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, 300_000])
  await reconcileWith(payment, [listedRefund('t-1', 300_000, { status: 'pending' })])
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, 300_000])
  await reconcileWith(payment, [listedRefund('t-1', 300_000, { status: 'failed' })])
  assert.deepEqual(await moneyOf(shop, payment), [AMOUNT, 0])
})

test('when a full return at first sight fails later, the attempt needs review', async () => {
  const shop = await service.addShop()
  const payment = await seenWithReturn(shop, AMOUNT)
  for (const status of ['pending', 'failed', 'failed'] as const)
    await reconcileWith(payment, [listedRefund('t-1', AMOUNT, { status })])
  const { status, attempts } = await shop.payment(payment.reference)
  assert.equal(status, 'pending')
  assert.match(attempts[0].needsReview, /^refund_failed: /)
})
