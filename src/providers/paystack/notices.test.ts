import assert from 'node:assert/strict'
import { test } from 'node:test'
import { handle, order, paidCard, pending, setUp, unknown } from '../../../test/fakes/paystack/rig.ts'
import { byTransfer } from '../../../test/fakes/rig.ts'
import { providerHttp } from '../../outbound/provider-http.ts'
import { paystack } from './adapter.ts'

test('paystack: a rejected transfer names a transaction alone, by which its order is found', async (t) => {
  const { connection, customer, takeNotices, find, ledger } = await setUp(t)
  const { reference, amount } = order()
  await connection.start(byTransfer(order()))
  for (const wrong of [amount.amount - 1, amount.amount + 1]) await customer.transfer?.(reference, wrong)
  const notices = takeNotices()
  assert.equal(notices.length, 2)
  for (const { headers, body } of notices) {
    const transactionId = String(find(reference).id)
    assert.deepEqual(connection.readNotice({ headers, body, receivedAt: new Date() }), {
      kind: 'notice',
      reference: null,
      says: 'failed',
      receipts: [],
      transactionId,
    })
    assert.deepEqual(await connection.findReference?.(transactionId), { kind: 'found', reference })
  }
  assert.deepEqual(await connection.check(handle('virtual-bank-account')), pending)
  await customer.transfer?.(reference, amount.amount)
  assert.equal((await connection.check(handle('virtual-bank-account'))).kind, 'paid')
  assert.deepEqual(ledger().taken, [{ reference, id: String(find(reference).id), amount }])
})

test('paystack: a transaction of another mode, or another one, has no reference for us', async (t) => {
  const { connection, alter, upstream, transactionId } = await paidCard(t)
  alter({ domain: 'live', id: transactionId })
  assert.deepEqual(await connection.findReference?.(transactionId), unknown('it answered in another mode'))
  alter({ id: 17 })
  assert.deepEqual(await connection.findReference?.(transactionId), unknown('it answered about another transaction'))
  upstream.garble = () => ({ status: 401, text: '{"status":false,"message":"Invalid key"}' })
  assert.equal((await connection.findReference?.(transactionId))?.kind, 'unknown')
})

test('paystack: a signature as their document makes it', () => {
  const account = { mode: 'sandbox', baseURL: 'http://localhost', http: providerHttp() } as const
  const settings = { secretKey: 'sk_test_key', publicKey: 'pk_test_key' }
  const connection = paystack.connect({ ...account, settings })
  const body = Buffer.from('{"event":"gift.sent","data":{}}')
  const read = (signature: string) =>
    connection.readNotice({ headers: { 'x-paystack-signature': signature }, body, receivedAt: new Date() }).kind
  // By `openssl dgst -sha512 -hmac sk_test_key`.
  const right =
    '660393288ca425f113d379ecd1dedaebcbcfa1a950aba01807c4e9d50c4d5eaf849439cfbcd6034dfc4c5cf3bee93f942a5237b0c6f1f3a564848ce56224211e'
  assert.equal(read(right), 'notice')
  for (const wrong of [right.toUpperCase(), ` ${right}`, `${right},${right}`, `sha512=${right}`, '0'.repeat(128)]) {
    assert.equal(read(wrong), 'forged', wrong)
  }
})

test('paystack: notices of another mode are set aside, and news that we do not know is something else', async (t) => {
  const { connection, notices, wanted, disputeAtProvider } = await paidCard(t)
  await connection.refund(wanted)
  const { reference } = order()
  const read = (body: string) => connection.readNotice(notices.sign(Buffer.from(body), new Date()))
  await disputeAtProvider?.(reference, { amount: 500_000, reason: 'fraud' })
  for (const kind of ['paid', 'refund', 'dispute'] as const) {
    const body = notices.bodyOf(kind, reference)?.toString() ?? ''
    assert.equal(read(body).kind, 'notice', kind)
    assert.equal(read(body.replaceAll('"domain":"test"', '"domain":"live"')).kind, 'unreadable', kind)
  }
  const other = { kind: 'notice', says: 'other', receipts: [] }
  assert.deepEqual(read('{"event":"gift.sent","data":{}}'), { ...other, reference: null })
  const paid = notices.bodyOf('paid', reference)?.toString() ?? ''
  const odd = read(paid.replaceAll('"status":"reversal-pending"', '"status":"failed"'))
  assert.ok(odd.kind === 'notice' && odd.says === 'pending' && odd.receipts.length === 0)
  assert.equal(read('{"event":"bank.transfer.rejected","data":{"bank_transfer":{}}}').kind, 'unreadable')
})

// As Paystack publishes them (doc-code-snippets, `refunds/events.js` and `webhooks/events.js`), shortened. The first
// has no id, as there.
const REFUND = {
  ...{ status: 'processed', transaction_reference: 'T2154954_412829_3be32076_6lcg3', refund_reference: '132013318360' },
  ...{ amount: '5000', currency: 'NGN', processor: 'mpgs_zen', integration: 412_829, domain: 'test' },
}
const DISPUTE = {
  ...{ id: 358_950, refund_amount: 5_800, currency: 'NGN', status: 'awaiting-merchant-feedback', resolution: null },
  transaction: { id: 896_467_688, domain: 'test', status: 'success', reference: 'v3mjfgbnc19v97x', amount: 5_800 },
  ...{ domain: 'test', transaction_reference: null, category: 'chargeback', dueAt: '2020-11-25T18:00:00.000Z' },
}
const REFUNDED = { kind: 'notice', reference: REFUND.transaction_reference, says: 'refund', receipts: [] }
const DISPUTED = { kind: 'notice', reference: DISPUTE.transaction.reference, says: 'dispute', receipts: [] }

const RETURN_NOTICES: [string, string, object, object][] = [
  ['a refund that begins', 'refund.pending', { ...REFUND, status: 'pending', refund_reference: null }, REFUNDED],
  ['a refund at the bank', 'refund.processing', { ...REFUND, status: 'processing' }, REFUNDED],
  ['a refund that is done', 'refund.processed', REFUND, REFUNDED],
  ['a refund with its id and note', 'refund.processed', { ...REFUND, id: 7, merchant_note: 'Refund x' }, REFUNDED],
  ['a refund that failed', 'refund.failed', { ...REFUND, status: 'failed', amount: 20_000 }, REFUNDED],
  ['a refund without money', 'refund.needs-attention', { ...REFUND, amount: null, currency: null }, REFUNDED],
  ['a new dispute', 'charge.dispute.create', DISPUTE, DISPUTED],
  ['a dispute without an amount', 'charge.dispute.create', { ...DISPUTE, refund_amount: null }, DISPUTED],
  ['a dispute that waits', 'charge.dispute.remind', DISPUTE, DISPUTED],
  ['a lost dispute', 'charge.dispute.resolve', { ...DISPUTE, resolution: 'auto-accepted' }, DISPUTED],
  ['a won dispute', 'charge.dispute.resolve', { ...DISPUTE, resolution: 'declined' }, DISPUTED],
]
for (const [what, event, data, reading] of RETURN_NOTICES) {
  test(`paystack: a notice about ${what} is a reason to list refunds and disputes`, async (t) => {
    const { connection, notices } = await setUp(t)
    const body = Buffer.from(JSON.stringify({ event, data }))
    assert.deepEqual(connection.readNotice(notices.sign(body, new Date())), reading)
  })
}

test('paystack: a refund in the dashboard sends a notice, and a lost dispute sends three', async (t) => {
  const { connection, takeNotices, refundAtProvider, disputeAtProvider, closeDispute } = await paidCard(t)
  const says = () =>
    takeNotices().map(({ headers, body }) => {
      const reading = connection.readNotice({ headers, body, receivedAt: new Date() })
      return reading.kind === 'notice' && reading.reference === order().reference && reading.says
    })
  assert.deepEqual(says(), ['paid'])
  await refundAtProvider(order().reference, 1_000)
  assert.deepEqual(says(), ['refund'])
  const id = (await disputeAtProvider?.(order().reference, { amount: 2_000, reason: 'fraud' })) ?? assert.fail()
  await closeDispute?.(id, 'lost')
  assert.deepEqual(says(), ['dispute', 'dispute', 'refund'])
})

test('paystack: an incomplete charge.success names an order to check', async (t) => {
  const { connection, notices } = await setUp(t)
  const read = (data: unknown, event = 'charge.success') =>
    connection.readNotice(notices.sign(Buffer.from(JSON.stringify({ event, data })), new Date()))
  const named = { kind: 'notice', reference: 'pay-7f3c', says: 'other', receipts: [] }
  assert.deepEqual(read({ reference: 'pay-7f3c' }), named)
  assert.deepEqual(read({ reference: 'pay-7f3c', domain: 'test', id: 1, status: 'success', amount: null }), named)
  assert.equal(read({ reference: 'pay-7f3c', domain: 'live' }).kind, 'unreadable')
  assert.equal(read({ id: 1, status: 'success', amount: 100 }).kind, 'unreadable', 'of no order')
})

test('paystack: a notice whose data is a list is about something else, and not unreadable', async (t) => {
  const { connection, notices } = await setUp(t)
  // Their sample of `subscription.expiring_cards`.
  const card = { expiry_date: '12/2021', description: 'visa ending with 4081', brand: 'visa', subscription: { id: 94 } }
  const body = Buffer.from(JSON.stringify({ event: 'subscription.expiring_cards', data: [card] }))
  const other = { kind: 'notice', reference: null, says: 'other', receipts: [] }
  assert.deepEqual(connection.readNotice(notices.sign(body, new Date())), other)
})

test('paystack: a payout names no order, so that it is ignored', async (t) => {
  const { notices, connection } = await setUp(t)
  const data = {
    ...{ amount: 30_000, currency: 'NGN', domain: 'test', id: 37_272_792, reference: '1jhbs3ozmen0k7y5efmw' },
    ...{ transfer_code: 'TRF_wpl1dem4967avzm', status: 'success', created_at: '2026-10-26T12:28:57.000Z' },
  }
  for (const event of ['transfer.success', 'transfer.failed', 'transfer.reversed'])
    assert.deepEqual(
      connection.readNotice(notices.sign(Buffer.from(JSON.stringify({ event, data })), new Date())),
      { kind: 'notice', reference: null, says: 'other', receipts: [] },
      event,
    )
})
