import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sql } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { newAttemptId, orderReferenceOf } from '../../src/payments/state/new-attempt.ts'
import type { ListedTransaction } from '../../src/providers/provider.ts'
import { auditProvider } from '../../src/reconciliation/audit-provider.ts'
import { bookDifferences } from '../../src/reconciliation/book-differences.ts'
import { compareEntries } from '../../src/reconciliation/compare-entries.ts'
import { browserAs, type DashboardBrowser } from '../support/dashboard.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { assertAudited, payElsewhere } from '../support/payment-records.ts'
import { start, TRANSFER } from '../support/sandbox-payments.ts'
import type { Answer } from '../support/service.ts'

const service = await startPaying()
const { database, parts } = service
const shop = await service.addShop()
const { merchantId } = shop
const base = `/merchants/${merchantId}/sandbox`
const SCOPE = { place: shop.place, merchantId, mode: 'sandbox' as const, provider: 'gateway', keysVersion: 0 }
const AMOUNT = 10_000

const owner = await browserAs(service, 'owner', merchantId)

// biome-ignore lint/suspicious/noExplicitAny: answers are read as the test wants them
type Json = any

const open = async (): Promise<Json[]> => (await owner.call('GET', `${base}/transfers`)).body.data

const act = (browser: DashboardBrowser, { id, amount }: Json, how: string, body: object): Promise<Answer> =>
  browser.call('POST', `${base}/transfers/${id}/${how}`, { amount, ...body })

const begin = (reference: string, changes: object = {}) =>
  start(shop, { ...TRANSFER, amount: AMOUNT, reference, ...changes })

async function openMoney(transaction: string): Promise<Json> {
  const all = await eventually(open, (some) => some.some(({ transactionId }) => transactionId === transaction))
  return all.find(({ transactionId }) => transactionId === transaction)
}

/** What reconciliation makes of an entry of the list. */
async function book(entry: Omit<ListedTransaction, 'at' | 'amount'>): Promise<string | undefined> {
  const amount = money(7_000, 'NGN' as Currency)
  const listing = { kind: 'transactions' as const, entries: [{ ...entry, amount, at: new Date(), keysVersion: 0 }] }
  const compared = await compareEntries(parts, SCOPE, listing)
  await bookDifferences(parts, SCOPE, { listing, compared, isLong: false, onAsk: async () => {} })
  return compared[0]?.verdict.kind
}

/** As an order of ours that is not on record. */
const lostReference = () => orderReferenceOf(newAttemptId(new Date(), shop.place, shop.merchantId))

test('money that a restored database does not know is checked, or listed as unmatched', async () => {
  const { payment } = await begin('restored-1')
  const attempt = await database.row<{ order_reference: string }>(sql`
    update attempts set next_check_at = null where payment_id = ${uuidOf(payment.id as PaymentId)} returning order_reference`)
  assert.equal(await book({ transactionId: 'restored-a', reference: attempt?.order_reference ?? '' }), 'differs')
  const [checked] = (await shop.payment('restored-1')).attempts
  assert.match(checked.needsReview, /^contradiction: the provider took ₦70.00, our records do not have it/)
  const reference = lostReference()
  assert.equal(await book({ transactionId: 'restored-b', reference }), 'differs')
  assert.equal(await book({ transactionId: 'restored-b', reference }), 'equal')
  for (const reference of ['nobody-s', randomBytes(16).toString('hex'), null])
    assert.equal(await book({ transactionId: 'of-another-shop', reference }), 'foreign')
  assert.ok(!(await open()).some(({ transactionId }: Json) => transactionId === 'of-another-shop'))
  const lines = (await open()).filter(({ transactionId }: Json) => transactionId === 'restored-b')
  assert.deepEqual(
    lines.map(({ amount, kind }: Json) => [amount, kind]),
    [[7_000, 'unmatched']],
  )
})

test('unknown money is open without what the provider has given back of it', async () => {
  const repair = (transactionId: string, returned: number, reference = lostReference()) =>
    book({ transactionId, reference, returned })
  const lineOf = async (id: string) => (await open()).find(({ transactionId }: Json) => transactionId === id)
  await repair('reversed', 7_000)
  assert.equal(await lineOf('reversed'), undefined)
  const { transactionId, reference } = await payElsewhere(service, shop, 7_000)
  await openMoney(transactionId)
  await repair(transactionId, 2_000)
  assert.equal((await lineOf(transactionId)).amount, 5_000)
  await shop.call('POST', '/sandbox/gateway/refunds', { reference, amount: 3_000 })
  for (const returned of [3_000, 0]) {
    await repair(transactionId, returned, reference)
    assert.equal((await lineOf(transactionId)).amount, 4_000)
  }
  await begin('restored-2', { amount: 7_000 })
  const matched = await act(owner, await lineOf(transactionId), 'match', { payment: 'restored-2', note: 'seen' })
  assert.equal(matched.status, 200, JSON.stringify(matched.body))
  const { status, amountPaid, amountRefunded } = await shop.payment('restored-2')
  assert.deepEqual([status, amountPaid, amountRefunded], ['pending', 7_000, 3_000], 'less is there than is due')
  await assertAudited(database)
})

test('the repair leaves the money of another merchant who uses the same provider account', async () => {
  const other = await service.addShop('Second shop')
  assert.equal((await other.initialize({ reference: 'theirs' })).status, 200)
  const reference = String((await other.payment('theirs')).attempts[0].providerReference)
  assert.equal(await book({ transactionId: 'theirs-1', reference }), 'foreign')
  assert.ok(!(await open()).some(({ transactionId }: Json) => transactionId === 'theirs-1'))
})

test('the comparison with the provider names only money that it does not list', async () => {
  const range = { from: new Date(Date.now() - 3_600_000), to: new Date(Date.now() + 3_600_000) }
  const { differences } = await auditProvider(parts, SCOPE, range)
  // The unmatched money of these tests was made up: the sandbox provider's ledger does not have it.
  const real = differences.filter(({ finding }) => !/the provider does not list it/.test(finding))
  assert.deepEqual(real, [])
})
