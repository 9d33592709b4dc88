import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handle, naira, order, paidCard, unknown } from '../../../test/fakes/paystack/rig.ts'

const NOW = new Date().toISOString()

test('paystack: a refund carries our reference, and is pending until they say that it is done', async (t) => {
  const { connection, wanted, transactionId, asked, takeNotices, refunds, ledger } = await paidCard(t)
  const first = await connection.refund(wanted)
  const refundId = String(refunds[0]?.id)
  assert.deepEqual(first, { kind: 'pending', refundId })
  const [look, make] = asked.slice(-2)
  assert.equal(`${look?.method} ${look?.path}`, `GET /refund?transaction=${transactionId}&perPage=100&page=1`)
  assert.deepEqual(JSON.parse(make?.body ?? ''), {
    transaction: transactionId,
    amount: 200_000,
    currency: 'NGN',
    merchant_note: `Refund ${wanted.reference}`,
  })
  assert.equal((await connection.check(handle())).kind, 'paid', 'it was, and part of it still is')
  takeNotices()
  assert.deepEqual(await connection.refund(wanted), { kind: 'refunded', refundId })
  assert.deepEqual(ledger().givenBack, [{ reference: order().reference, id: refundId, amount: wanted.amount }])
})

test('paystack: a refund that was made and never answered is found by its note', async (t) => {
  const { connection, wanted, upstream, refunds } = await paidCard(t)
  // The look before it is answered; the refund itself is not.
  upstream.garble = (said) => {
    upstream.trouble = 'reset after the work'
    upstream.garble = undefined
    return said
  }
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
  assert.equal(refunds.length, 1)
  upstream.trouble = undefined
  assert.deepEqual(await connection.refund(wanted), { kind: 'pending', refundId: String(refunds[0]?.id) })
  assert.equal(refunds.length, 1)
})

test('paystack: a refund that they accepted and do not list is not asked for again', async (t) => {
  const { connection, wanted, refunds } = await paidCard(t)
  const first = await connection.refund(wanted)
  assert.ok(first.kind === 'pending' && first.refundId !== null)
  const [made] = refunds.splice(0)
  assert.equal((await connection.refund({ ...wanted, refundId: first.refundId })).kind, 'unknown')
  assert.equal(refunds.length, 0)
  if (made) refunds.push(made)
  assert.deepEqual(await connection.refund({ ...wanted, refundId: first.refundId }), first)
})

test("paystack: others' refunds of the same payment are not taken for ours", async (t) => {
  const { connection, wanted, refunds, find } = await paidCard(t)
  const sale = find(order().reference)
  const note = { customerNote: '', createdAt: NOW, merchantNote: `Refund ${wanted.reference}0` }
  refunds.push({ id: 1n, sale, amount: 100_000, status: 'processed', ...note })
  assert.equal((await connection.refund(wanted)).kind, 'pending')
  assert.equal(refunds.length, 2)
})

test('paystack: a refund is looked for on every page', async (t) => {
  const { connection, wanted, refunds, find } = await paidCard(t)
  const sale = find(order().reference)
  const note = { customerNote: '', createdAt: NOW, merchantNote: '' }
  for (let id = 1n; id <= 250n; id++) refunds.push({ id, sale, amount: 1, status: 'failed', ...note })
  const ours = { customerNote: '', createdAt: NOW, merchantNote: `Refund ${wanted.reference}` }
  refunds.push({ id: 251n, sale, amount: 200_000, status: 'processed', ...ours })
  assert.deepEqual(await connection.refund(wanted), { kind: 'refunded', refundId: '251' })
  for (let id = 300n; id <= 1_300n; id++) refunds.unshift({ id, sale, amount: 1, status: 'failed', ...note })
  assert.equal((await connection.refund(wanted)).kind, 'unknown')
})

test('paystack: a refund that fails, waits for a person or comes back as another is never given again', async (t) => {
  const { connection, wanted, refunds, find } = await paidCard(t)
  await connection.refund(wanted)
  const [refund] = refunds
  assert.ok(refund)
  refund.status = 'needs-attention'
  assert.equal((await connection.refund(wanted)).kind, 'pending')
  refund.status = 'failed'
  assert.equal((await connection.refund(wanted)).kind, 'refused')
  refund.amount = 199_999
  assert.deepEqual(await connection.refund(wanted), unknown('it answered with another amount'))
  refund.sale = { ...find(order().reference), currency: 'GHS' }
  assert.deepEqual(await connection.refund(wanted), unknown('it answered with another amount'))
  assert.equal(refunds.length, 1)
})

test('paystack: a refund that is refused because an earlier try was slower than our look is found after all', async (t) => {
  const { connection, wanted, refunds, find, upstream } = await paidCard(t)
  upstream.garble = (said) => {
    const note = { customerNote: '', createdAt: NOW, merchantNote: `Refund ${wanted.reference}` }
    refunds.push({ id: 17n, sale: find(order().reference), amount: 400_000, status: 'pending', ...note })
    upstream.garble = undefined
    return said
  }
  const outcome = await connection.refund({ ...wanted, amount: naira(400_000) })
  assert.deepEqual(outcome, { kind: 'pending', refundId: '17' })
  assert.equal(refunds.length, 1)
})

test('paystack: without a transaction, or with a refused key, no refund is turned down', async (t) => {
  const { connection, wanted, say, asked, upstream, refunds } = await paidCard(t)
  const before = asked.length
  for (const transactionIds of [[], ['r'.repeat(32)]]) {
    assert.equal((await connection.refund({ ...wanted, transactionIds })).kind, 'unknown')
  }
  assert.equal(asked.length, before, 'their list answers to numbers alone')
  for (const status of [401, 403]) {
    say(status, { status: false, message: 'Invalid key' })
    assert.equal((await connection.refund(wanted)).kind, 'unknown')
    // To the refund itself alone: our look was answered.
    refunds.length = 0
    upstream.garble = (said) =>
      said.text.includes('Refunds retrieved') ? said : { status, text: '{"status":false,"message":"Invalid key"}' }
    assert.equal((await connection.refund(wanted)).kind, 'unknown')
  }
})

test('paystack: of several transactions, the newest that has enough left is refunded', async (t) => {
  const { connection, wanted, refunds, find, customer } = await paidCard(t)
  const second = order({ reference: 's'.repeat(32) })
  await connection.start(second)
  await customer.payByCard(second.reference, { save: false })
  const transactionIds = [...wanted.transactionIds, String(find(second.reference).id)]
  for (const [reference, kobo] of [
    ['f'.repeat(32), 200_000],
    ['g'.repeat(32), 400_000],
    ['f'.repeat(32), 200_000],
    ['h'.repeat(32), 350_000],
  ] as const)
    await connection.refund({ ...wanted, reference, transactionIds, amount: naira(kobo) })
  assert.deepEqual(
    refunds.map(({ sale, amount }) => [sale.reference, amount]),
    [
      [second.reference, 200_000],
      [order().reference, 400_000],
    ],
  )
})

test('paystack: a refund is not requested after its lease has run out', async (t) => {
  const { connection, wanted, refunds } = await paidCard(t)
  const mayAsk = async () => assert.fail('it is marked as asked for, and would never be asked for again')
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => false, mayAsk })).kind, 'unknown')
  assert.equal(refunds.length, 0)
  assert.equal((await connection.refund({ ...wanted, isLeaseHeld: () => true })).kind, 'pending')
})
