import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from '../../../src/database/sql.ts'
import { idOf, type PaymentId } from '../../../src/kernel/ids.ts'
import { type Currency, money } from '../../../src/kernel/money.ts'
import { reconcileAttempt } from '../../../src/payments/refunds/reconcile-attempt.ts'
import { findPaymentStateById } from '../../../src/payments/store/payment-states.ts'
import { listAuditScopes } from '../../../src/payments/store/provider-audit.ts'
import { listUnmatchedMoney } from '../../../src/payments/store/unmatched.ts'
import { closeTransfer, matchTransfer } from '../../../src/payments/transfers/handle-transfer.ts'
import { auditProvider } from '../../../src/reconciliation/audit-provider.ts'
import { askByHand } from '../../../src/reconciliation/run-store.ts'
import { type FakeMonnify, startFakeMonnify } from '../../fakes/monnify/fake.ts'
import { eventually } from '../../support/paying.ts'
import { type At, startProviderWorld } from '../../support/provider-world.ts'
import { runDue } from '../../support/reconciling.ts'

// Monnify refunds an order, and does not say which of its transfers.

const world = await startProviderWorld({ worker: false })
const { database, parts } = world
const PART = 200_000
const HOUR_MS = 3_600_000
const ACCOUNT = { accountNumber: '0690000031', bankCode: '058' }
const REFUND = {
  amount: PART,
  destinationAccountNumber: ACCOUNT.accountNumber,
  destinationAccountBankCode: ACCOUNT.bankCode,
}
/** The list of refunds has no transfers, so the payment would get the refund of the other one. */
const OF_ANOTHER = /given back ₦2,000.00 of this order, and does not say of which transfer/

const range = () => ({ from: new Date(Date.now() - HOUR_MS), to: new Date(Date.now() + HOUR_MS) })

/** An order of Monnify's that is not on record here, its transfers, and what a member and an operator do. */
async function unknownOrder() {
  const place: At<FakeMonnify> = await world.addProvider(() => startFakeMonnify({ after }))
  const { fake, shop } = place
  const { body } = await place.initialize({ provider: 'monnify-virtual-bank-account' })
  const order = await place.orderOf(body.data.reference)
  await database.rows(sql`
    update attempts set order_reference = 'gone-' || id, provider_reference = 'gone-' || id where order_reference = ${order}`)
  const scope =
    (await listAuditScopes(database)).find(({ merchantId }) => merchantId === shop.merchantId) ?? assert.fail()
  const by = { scope, actor: 'cli:test', note: 'seen' }
  const open = () => listUnmatchedMoney(database, scope, { before: undefined, limit: 10 })
  const receipts = () =>
    database.rows<{ id: number; returned: number }>(sql`
      select id, returned from receipts where merchant_id = ${shop.merchantUuid} order by id`)
  return {
    ...{ place, fake, order, scope },
    open: async () => (await open()).map(({ id, amount }) => [id, amount]),
    shares: async () => (await receipts()).map(({ returned }) => returned),
    /** A transfer, and its notice. Returns the id of its record. */
    async transfer(amount = PART): Promise<number> {
      const { length } = await receipts()
      await fake.customer.transfer?.(order, amount)
      await place.pump()
      const rows = await eventually(receipts, (found) => found.length > length)
      return rows.at(-1)?.id ?? assert.fail()
    },
    /** Returns the status of the payment, or why it was refused. */
    async match(id: number, amount = PART): Promise<string> {
      const { id: paymentId } = await place.checkout({ amount: PART })
      const matching = matchTransfer(parts, by, { kind: 'receipt', id }, paymentId as PaymentId, amount)
      return matching.then(({ payment }) => payment.status).catch((error: Error) => error.message)
    },
    returnByHand: (id: number, amount = PART) =>
      closeTransfer(parts, by, { kind: 'receipt', id }, 'returned_by_hand', amount),
    audit: async () => (await auditProvider(parts, scope, range())).differences,
    async repair() {
      await askByHand(database, scope, range())
      await runDue(parts)
    },
  }
}

test('a refund that is recorded for one transfer of an unknown order does not take another one off the list', async () => {
  const { fake, order, transfer, match, returnByHand, open, shares, audit } = await unknownOrder()
  const first = await transfer()
  await fake.refundAtProvider(order, PART)
  assert.match(await match(first), /given back some/)
  assert.deepEqual(await open(), [])
  const second = await transfer()
  assert.deepEqual(await audit(), [])
  assert.match(await match(second), OF_ANOTHER)
  assert.deepEqual([await shares(), await open()], [[PART, 0], [[second, PART]]])
  await returnByHand(second)
  assert.deepEqual(await audit(), [])
})

test('a refund of an unknown order with two transfers is recorded once by the repair, and repeated repairs agree', async () => {
  const unknown = await unknownOrder()
  const { fake, order, transfer, open, shares } = unknown
  const first = await transfer()
  await transfer()
  await fake.refundAtProvider(order, PART + 50_000)
  for (const _ of [1, 2]) {
    await unknown.repair()
    assert.deepEqual(await shares(), [50_000, PART])
    assert.deepEqual(await unknown.audit(), [])
  }
  assert.deepEqual(await open(), [[first, PART - 50_000]])
})

test('a refund in the provider’s dashboard that a member recorded as by hand is not one of another transfer', async () => {
  const { fake, order, transfer, match, returnByHand, open, audit } = await unknownOrder()
  const first = await transfer()
  const second = await transfer()
  await fake.refundAtProvider(order, PART)
  await returnByHand(first)
  assert.deepEqual(await audit(), [])
  assert.match(await match(second), OF_ANOTHER)
  assert.deepEqual(await open(), [[second, PART]])
})

test('a refund through the payment of one transfer is not one of another transfer of that order', async () => {
  const { place, transfer, match, open, shares } = await unknownOrder()
  const first = await transfer()
  assert.equal(await match(first), 'successful')
  const [paid] = await database.rows<{ reference: string }>(sql`
    select p.reference from payments p join receipts r on r.payment_id = p.id where r.id = ${first}`)
  await place.shop.call('POST', `/payments/v1/payments/${paid?.reference}/refunds`, REFUND)
  const second = await transfer()
  assert.match(await match(second), OF_ANOTHER)
  assert.deepEqual([await shares(), await open()], [[0, 0], [[second, PART]]])
})

test('of two payments with transfers of one order, a refund counts for one', async () => {
  for (const isAtProvider of [false, true]) {
    const { place, fake, order, transfer, match } = await unknownOrder()
    const ids = [await transfer(), await transfer()]
    for (const id of ids) assert.equal(await match(id), 'successful')
    const paid = await database.rows<{ id: string; reference: string; place: number }>(sql`
      select p.id, p.reference, p.place from payments p join receipts r on r.payment_id = p.id where r.id = any(${ids}::bigint[]) order by r.id`)
    if (isAtProvider) await fake.refundAtProvider(order, PART)
    else await place.shop.call('POST', `/payments/v1/payments/${paid[0]?.reference}/refunds`, REFUND)
    const refunded: number[] = []
    for (const each of [...paid, ...paid]) {
      const state = await findPaymentStateById(database, idOf('payment', each.id, each.place))
      for (const attempt of state?.attempts.filter(({ amountReceived }) => amountReceived > 0) ?? [])
        assert.equal((await reconcileAttempt(parts, attempt)).kind, 'reconciled')
      refunded.push((await place.payment(each.reference)).amountRefunded)
    }
    assert.deepEqual(refunded, [PART, 0, PART, 0], `at the provider: ${isAtProvider}`)
  }
})

/** A refund that Monnify has not made yet. */
async function startRefund({ fake, order, scope }: Awaited<ReturnType<typeof unknownOrder>>, amount: number) {
  fake.switches.refundStatus = 'PENDING'
  const connection = await parts.providers.connect(scope, 'monnify')
  const { reference: transactionId } = fake.transactionOf(order)
  const handle = { reference: order, providerReference: transactionId, startedAt: new Date() }
  const { kind } = await connection.refund({
    reference: 'refund-under-way',
    order: { ...handle, channel: 'virtual-bank-account' },
    transactionIds: [transactionId],
    amount: money(amount, 'NGN' as Currency),
    reason: null,
    account: ACCOUNT,
  })
  assert.equal(kind, 'pending')
}

test('money whose refund is under way is not open again after the repair', async () => {
  const unknown = await unknownOrder()
  const { fake, order, transfer, match, open, shares } = unknown
  const id = await transfer()
  await fake.refundAtProvider(order, 50_000)
  await startRefund(unknown, 100_000)
  assert.match(await match(id), /given back some/)
  assert.deepEqual(await shares(), [150_000])
  assert.deepEqual(await unknown.audit(), [], 'the check of the order counts refunds that are under way')
  await unknown.repair()
  assert.deepEqual(await open(), [[id, 50_000]])
})

test('money whose refund failed is open again after the repair, unless another transfer of its order may have gone back', async () => {
  for (const isAlone of [true, false]) {
    const unknown = await unknownOrder()
    const { fake, transfer, match, open } = unknown
    const id = await transfer()
    await startRefund(unknown, PART)
    assert.match(await match(id), /given back some/)
    assert.deepEqual(await open(), [])
    const second = isAlone ? [] : [[await transfer(), PART]]
    fake.switches.refundStatus = 'FAILED'
    await unknown.repair()
    assert.deepEqual(await open(), isAlone ? [[id, PART]] : second)
    assert.equal((await unknown.audit()).length, isAlone ? 0 : 1)
  }
})

test('money that settling does not record is not matched, and stays on the list', async () => {
  const { transfer, match, open } = await unknownOrder()
  const implausible = 10 ** 15 + 1
  const id = await transfer(implausible)
  assert.match(await match(id, implausible), /was not recorded/)
  assert.deepEqual(await open(), [[id, implausible]])
})
