import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AttemptId } from '../../kernel/ids.ts'
import { type Currency, money } from '../../kernel/money.ts'
import type { ListedRefund, Receipt } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { OnRecord } from './match-reversals.ts'
import type { Refund } from './refund.ts'
import { unlistedReversal } from './unlisted-reversal.ts'

const id = 'att_1' as AttemptId
const NGN = 'NGN' as Currency
const at = new Date('2026-01-02T00:00:00Z')

const records = (amountReturned: number, refunds: Partial<Refund>[] = []): OnRecord => ({
  attempt: { id, currency: NGN, status: 'successful', amountReceived: 1_000, amountReturned } as Attempt,
  refunds: refunds.map((refund) => ({ id: 'rfd_1', createdAt: at, kind: 'merchant', ...refund }) as Refund),
  disputes: [],
})
const own = { attemptId: id, transactionId: 't' }
const receipt = (returned: number, more: Partial<Receipt> = {}): Receipt => ({
  ...{ transactionId: 't', amount: money(1_000, NGN), at, returned },
  ...more,
})
const listed = (amount: number, status: ListedRefund['status'], more: Partial<ListedRefund> = {}): ListedRefund => ({
  ...{ refundId: 'r', reference: null, amount: money(amount, NGN), status, at },
  ...more,
})

test('a reversal that no list names is what went back beyond our records', () => {
  assert.equal(unlistedReversal(records(0), [own], [receipt(1_000)], []), 1_000)
  assert.equal(unlistedReversal(records(300), [own], [receipt(1_000)], []), 700)
})

test('money that is on record as returned is not counted again', () => {
  assert.equal(unlistedReversal(records(1_000), [own], [receipt(1_000)], []), 0)
  const pending = records(400, [{ status: 'pending', amount: 400 }])
  assert.equal(unlistedReversal(pending, [own], [receipt(400)], []), 0, 'a refund of ours that is under way')
})

test('a refund of the provider that is listed as pending is recorded when it is successful', () => {
  assert.equal(unlistedReversal(records(0), [own], [receipt(400)], [listed(400, 'pending')]), 0)
  assert.equal(unlistedReversal(records(0), [own], [receipt(500)], [listed(400, 'pending')]), 100)
  assert.equal(unlistedReversal(records(0), [own], [receipt(400)], [listed(400, 'failed')]), 400)
})

test('a listed refund that does not fit is reviewed first', () => {
  assert.equal(unlistedReversal(records(0), [own], [receipt(1_000)], [listed(1_001, 'successful')]), 0)
})

test('the share of an attempt is unknown when its order has other transactions', () => {
  const both = [receipt(500, { returnedIsOfOrder: true }), receipt(0, { transactionId: 'u', returnedIsOfOrder: true })]
  assert.equal(unlistedReversal(records(0), [own], both, []), 0)
  assert.equal(unlistedReversal(records(0), [own, { ...own, transactionId: 'u' }], both, []), 500)
  assert.equal(unlistedReversal(records(0), [own, { ...own, transactionId: 'matched' }], [receipt(400)], []), 400)
})
