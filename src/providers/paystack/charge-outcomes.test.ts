import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  byPesalink,
  byQr,
  byUssd,
  handle,
  inGhana,
  inKenya,
  order,
  orderBy,
  pending,
  setUp,
} from '../../../test/fakes/paystack/rig.ts'
import type { Channel } from '../../kernel/channel.ts'

const { reference } = order()

const STATES: [string, Channel, object, object][] = [
  ['abandoned', 'mobile-money', { status: 'abandoned' }, pending],
  ['ongoing', 'mobile-money', { status: 'ongoing' }, pending],
  ['pending', 'mobile-money', { status: 'pending' }, pending],
  ['queued', 'ussd', { status: 'queued' }, pending],
  ['processing', 'bank', { status: 'processing' }, pending],
  ['pay_offline', 'qr', { status: 'pay_offline' }, pending],
]
for (const [word, channel, changes, wanted] of STATES) {
  test(`paystack: ${word} by ${channel} waits for the customer, who may approve late`, async (t) => {
    const { connection, alter } = await setUp(t)
    await connection.start(order())
    alter(changes)
    assert.deepEqual(await connection.check(handle(channel)), wanted)
  })
}

const WORDS: [string, string, Channel?][] = [
  ['Insufficient funds', 'insufficient_funds'],
  ['LOW_BALANCE_OR_PAYEE_LIMIT_REACHED', 'insufficient_funds'],
  ['Request expired', 'prompt_expired'],
  ['DS timeout user cannot be reached', 'prompt_expired'],
  ['Customer did not enter PIN in time', 'prompt_expired'],
  ['Wrong PIN', 'incorrect_pin'],
  ['Invalid voucher', 'incorrect_otp'],
  ['Request cancelled by user', 'customer_cancelled'],
  ['APPROVAL_REJECTED', 'customer_cancelled'],
  ['Declined by customer', 'customer_cancelled'],
  ['PAYER_NOT_FOUND', 'subscriber_unknown'],
  ['Number is not registered', 'subscriber_unknown'],
  ['Transaction limit exceeded', 'limit_exceeded'],
  ['System malfunction', 'provider_unavailable'],
  ['Transaction timed out', 'provider_unavailable'],
  ['Request timed out waiting for the customer', 'prompt_expired'],
  ['Transaction not found', 'other'],
  ['Rejected by operator', 'other'],
  ['Declined', 'other'],
  ['Insufficient funds', 'insufficient_funds', 'ussd'],
  ['Incorrect PIN', 'incorrect_pin', 'ussd'],
  ['Transaction cancelled', 'customer_cancelled', 'bank'],
  ['Declined', 'other', 'qr'],
]
test('paystack: the words of networks become our codes, and stay beside them', async (t) => {
  const { connection, alter } = await setUp(t)
  await connection.start(order())
  for (const [gateway_response, code, channel = 'mobile-money'] of WORDS) {
    alter({ status: 'failed', gateway_response })
    const outcome = await connection.check(handle(channel))
    assert.ok(outcome.kind === 'declined')
    const told = /\S{20}/.test(gateway_response) ? 'failed' : gateway_response
    assert.deepEqual([gateway_response, outcome.failure.code], [gateway_response, code])
    assert.equal(outcome.failure.providerCode, told)
  }
})

test('paystack: a failed charge has its reason in `message`, where there is no other', async (t) => {
  const { connection, alter } = await setUp(t)
  await connection.start(order())
  alter({ status: 'failed', gateway_response: null, message: 'Insufficient funds' })
  const outcome = await connection.check(handle('mobile-money'))
  assert.ok(outcome.kind === 'declined' && outcome.failure.code === 'insufficient_funds')
})

test('paystack: notices of every channel are read, and none of them saves a card', async (t) => {
  const { connection, customer, takeNotices } = await setUp(t)
  const orders = [
    ...[inGhana('mtn'), inKenya({ network: 'mpesa-paybill' }), byUssd('058'), byQr(), byPesalink()],
    orderBy('bank', 10_000, 'NGN', {}, 'NG'),
  ].map((each, index) => ({ ...each, reference: `${index}`.padStart(32, 'r') }))
  for (const each of orders) {
    await connection.start(each)
    await customer.approve?.(each.reference)
    const [{ body, headers } = assert.fail('a notice')] = takeNotices()
    const reading = connection.readNotice({ body, headers, receivedAt: new Date() })
    assert.ok(reading.kind === 'notice' && reading.says === 'paid')
    assert.deepEqual([reading.reference, reading.receipts[0]?.amount], [each.reference, each.amount])
    const outcome = await connection.check({ ...handle(each.channel), ...each, providerReference: each.reference })
    assert.ok(outcome.kind === 'paid' && outcome.savedCard === undefined)
  }
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  const page = await connection.lists?.transactions?.(range, null)
  assert.ok(page?.kind === 'page')
  assert.deepEqual(
    page.entries.map((entry) => entry.reference).toSorted(),
    orders.map((each) => each.reference).toSorted(),
    'the lists know all of them',
  )
})

test('paystack: an approval after the time of the prompt is found', async (t) => {
  const { connection, customer } = await setUp(t)
  await connection.start(inGhana('mtn'))
  await customer.expire?.(reference)
  assert.deepEqual(await connection.check(handle('mobile-money')), pending)
  await customer.approve?.(reference)
  assert.equal((await connection.check(handle('mobile-money'))).kind, 'paid')
})
