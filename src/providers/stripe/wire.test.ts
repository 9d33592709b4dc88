import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readCharge, readDispute, readEvent, readIntent, readList, readRefund, readSession } from './wire.ts'

test('an object without one of its required fields is not read, and an optional field may be missing', () => {
  const created = 1_782_553_874
  const named = { id: 'x_1', currency: 'usd' }
  const sum = { ...named, status: 'succeeded', amount: 500, created }
  const intent = { ...sum, object: 'payment_intent', amount_received: 500, livemode: false }
  const session = { ...named, object: 'checkout.session', status: 'open', payment_status: 'paid', amount_total: 500 }
  const charge = { ...named, status: 'failed', amount_captured: 0, created, amount_refunded: 0, disputed: false }
  const refund = { ...named, object: 'refund', amount: 500, created }
  const [metadata, status, payment_intent] = [{ reference: 'r' }, 'succeeded', 'pi_1']
  const event = { object: 'event', type: 'x', created, data: { object: {} } }
  const listOf = (one: unknown) => ({ object: 'list', data: [one], has_more: false })
  const OBJECTS: [(value: unknown) => unknown, required: object, optional: object][] = [
    [readIntent, intent, { metadata, latest_charge: 'ch_1', last_payment_error: {}, next_action: {} }],
    [(one) => readIntent({ ...intent, latest_charge: one }), { id: 'ch_1', amount_refunded: 0, disputed: false }, {}],
    [readSession, { ...session, livemode: false, expires_at: created }, { client_reference_id: 'r', payment_intent }],
    [readRefund, refund, { status, payment_intent, metadata }],
    [readDispute, { ...sum, object: 'dispute' }, { reason: 'x', evidence_details: {}, balance_transactions: [] }],
    [(one) => readCharge({ object: 'charge', metadata, ...(one as object) }), charge, { payment_intent }],
    [(one) => readList(JSON.stringify(listOf(one)), readRefund), refund, { status }],
    [(one) => readList(JSON.stringify(one), readRefund), listOf({ ...refund, status }), {}],
    [(one) => readEvent(Buffer.from(JSON.stringify(one))), event, { livemode: true }],
  ]
  for (const [read, required, optional] of OBJECTS) {
    const whole = { ...required, ...optional, more: 'ignored' }
    assert.ok(read(whole))
    for (const name of Object.keys(optional)) assert.ok(read({ ...whole, [name]: null }), name)
    for (const name of Object.keys(required)) assert.equal(read({ ...whole, [name]: null }), undefined, name)
  }
})
