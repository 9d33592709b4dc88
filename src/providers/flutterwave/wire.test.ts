import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { feeOf } from '../../kernel/fee.ts'
import { type Currency, MAX_AMOUNT, money } from '../../kernel/money.ts'
import { capabilities } from './capabilities.ts'
import {
  majorOf,
  minorOf,
  readAccount,
  readChargebacks,
  readEnvelope,
  readLink,
  readRefund,
  readRefunds,
  readTransaction,
} from './wire.ts'

const NGN = 'NGN' as Currency
const JPY = 'JPY' as Currency

/** As it comes out of an answer with this amount in it, digit by digit. */
function readAmount(json: string): number | undefined {
  const rest = '"id":1,"tx_ref":"r","status":"successful","currency":"NGN","created_at":"2026-01-02T03:04:05.000Z"'
  return readTransaction(readEnvelope(`{"status":"success","data":{${rest},"amount":${json}}}`)?.data)?.amount
}

test('every amount comes back as it went, as text and as a number', () => {
  fc.assert(
    fc.property(fc.nat(MAX_AMOUNT), (amount) => {
      const major = majorOf(money(amount, NGN))
      assert.match(major, /^\d+\.\d\d$/)
      assert.equal(minorOf(major, NGN), amount)
      assert.equal(readAmount(`"${major}"`), amount)
      assert.equal(readAmount(major), amount)
      assert.equal(readAmount(String(amount / 100)), amount)
    }),
  )
})

test('amounts are read by their digits: fewer decimals are filled up, more than there are is no amount', () => {
  for (const [json, minor] of [
    ['5000', 500_000],
    ['5000.1', 500_010],
    ['"5000.10"', 500_010],
    ['19.99', 1_999],
    ['0.3', 30],
    ['2462.37', 246_237],
    ['9999999999.99', 999_999_999_999],
    ['0', 0],
  ] as const) {
    assert.equal(readAmount(json), minor, json)
  }
  // 5000.10000000000000001 is 5000.1 to a float.
  const odd = ['5000.001', '5000.10000000000000001', '0.30000000000000004', '-1', '1e3', '"1,500.00"', '" 5"', '"0x10"']
  for (const json of [...odd, '"5."', '".5"', '"Infinity"', 'null', 'true', '[]', '99999999999999999999']) {
    assert.equal(readAmount(json), undefined, json)
  }
})

test('a currency without decimals has none', () => {
  assert.equal(majorOf(money(500, JPY)), '500')
  assert.equal(minorOf('500', JPY), 500)
  assert.equal(minorOf('500.0', JPY), undefined)
})

test('fees are those of their own samples: 1.4 % with VAT on it, a cap, and the stamp duty', () => {
  const fee = capabilities.offers.card?.NGN?.fee ?? assert.fail('naira have a fee')
  assert.equal(feeOf(fee, 250_000), 3_763) // 2500 - 35 - 2.63 = 2462.37
  assert.equal(feeOf(fee, 999_999), 15_050)
  assert.equal(feeOf(fee, 1_000_000), 15_050 + 5_000)
  assert.equal(feeOf(fee, 100_000_000), 215_000 + 5_000)
  for (const channel of ['ussd', 'bank'] as const) assert.equal(capabilities.offers[channel]?.NGN?.fee, fee)
  assert.deepEqual(Object.keys(capabilities.offers['virtual-bank-account'] ?? {}), ['NGN', 'GHS'])
})

test('fees of mobile money are not below those of their samples', () => {
  for (const [currency, charge, fee] of [
    ['GHS', 300_000, 7_500],
    ['KES', 1_000, 29],
    ['UGX', 100_000, 3_000],
    ['XAF', 1_000, 25],
  ] as const) {
    const schedule = capabilities.offers['mobile-money']?.[currency]?.fee ?? assert.fail(`${currency} has a fee`)
    assert.equal(feeOf(schedule, charge), fee, currency)
  }
})

test('the least amount is one whole unit of the currency', () => {
  assert.deepEqual([capabilities.limits.KES?.min, capabilities.limits.XOF?.min], [100, 1])
})

test('an object without one of its required fields is not read, and an optional field may be missing', () => {
  const created_at = '2026-01-02T03:04:05.000Z'
  const transaction = { id: '1', tx_ref: 'r', status: 'successful', currency: 'NGN', amount: '50', created_at }
  const account = { transfer_account: '0123456789', transfer_bank: 'Wema', transfer_amount: '50' }
  const refund = { id: '2', tx_id: '1', status: 'completed', amount_refunded: '9.50' }
  const chargeback = { id: '3', status: 'lost', amount: '9.50', created_at }
  const OBJECTS: [(value: unknown) => unknown, required: object, optional: object][] = [
    [readLink, { link: 'https://pay.example/' }, {}],
    [(one) => readAccount({ authorization: one }, NGN), account, { transfer_reference: 'f', account_expiration: '1' }],
    [readTransaction, transaction, { charged_amount: '51', auth_model: 'PIN', card: {}, meta: {} }],
    [(one) => readRefund(one, NGN), refund, { comment: 'f', comments: 'f', created_at }],
    [(one) => readRefunds([refund, one], '1', NGN), refund, { comment: 'f' }],
    [(one) => readChargebacks([chargeback, one], '1', NGN), chargeback, { transaction_id: '1', due_date: created_at }],
  ]
  for (const [read, required, optional] of OBJECTS) {
    const whole = { ...required, ...optional, more: 'ignored' }
    assert.ok(read(whole))
    for (const name of Object.keys(optional)) assert.ok(read({ ...whole, [name]: null }), name)
    for (const name of Object.keys(required)) assert.equal(read({ ...whole, [name]: null }), undefined, name)
  }
})
