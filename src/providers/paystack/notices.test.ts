import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerHttp } from '../provider-http.ts'
import { paystack } from './adapter.ts'
import { handle, order, pending, rigOver, unknown } from './fake-rig.ts'

const { setUp, paidCard } = rigOver(() => providerHttp({ deadlineMs: 500 }))

test('paystack: a rejected transfer names a transaction alone, by which its order is found', async (t) => {
  const { connection, customer, takeNotices, find, ledger } = await setUp(t)
  const { reference, amount } = order()
  await connection.openAccount(order())
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
  const { connection, notices, wanted } = await paidCard(t)
  await connection.refund(wanted)
  const { reference } = order()
  const read = (body: string) => connection.readNotice(notices.sign(Buffer.from(body), new Date()))
  for (const kind of ['paid', 'refunded', 'charged_back'] as const) {
    const body = notices.bodyOf(kind, reference)?.toString() ?? ''
    assert.equal(read(body).kind, 'notice', kind)
    assert.equal(read(body.replaceAll('"domain":"test"', '"domain":"live"')).kind, 'unreadable', kind)
  }
  const other = { kind: 'notice', says: 'other', receipts: [] }
  assert.deepEqual(read('{"event":"gift.sent","data":{}}'), { ...other, reference: null })
  const dispute = notices.bodyOf('charged_back', reference)?.toString() ?? ''
  for (const kept of [
    dispute.replace('.resolve', '.create'),
    dispute.replace('.resolve', '.remind'),
    dispute.replace('merchant-accepted', 'declined'),
  ]) {
    assert.deepEqual(read(kept), { ...other, reference }, 'the money is still there')
  }
  const paid = notices.bodyOf('paid', reference)?.toString() ?? ''
  const odd = read(paid.replaceAll('"status":"reversal-pending"', '"status":"failed"'))
  assert.ok(odd.kind === 'notice' && odd.says === 'pending' && odd.receipts.length === 0)
  assert.equal(read('{"event":"bank.transfer.rejected","data":{"bank_transfer":{}}}').kind, 'unreadable')
})

test('paystack: a refund is told without an id, so it is not counted by its notice', async (t) => {
  const { connection, notices, wanted, takeNotices } = await paidCard(t)
  await connection.refund(wanted)
  const { reference } = order()
  const body = notices.bodyOf('refunded', reference)?.toString() ?? ''
  const read = (text: string) => connection.readNotice(notices.sign(Buffer.from(text), new Date()))
  assert.deepEqual(read(body), { kind: 'notice', reference, says: 'refunded', receipts: [] })
  const named = read(body.replace('"status"', '"id":778899,"status"'))
  assert.ok(named.kind === 'notice')
  assert.deepEqual(named.refund, { refundId: '778899', reference: null, amount: wanted.amount })
  for (const event of ['refund.pending', 'refund.processing', 'refund.failed', 'refund.needs-attention']) {
    const early = read(body.replace('refund.processed', event))
    assert.ok(early.kind === 'notice' && early.says === 'other' && early.reference === reference, event)
  }
  assert.equal(takeNotices().length, 3, 'the charge, the refund begun, the refund done')
})
