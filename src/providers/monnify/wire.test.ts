import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Currency, MAX_AMOUNT, money } from '../../kernel/money.ts'
import { asWritten, fields, parse } from '../json-parsers.ts'
import {
  jsonWith,
  nairaOf,
  readAccount,
  readNaira,
  readRefund,
  readRefundPage,
  readStart,
  readTime,
  readToken,
  readTransaction,
} from './wire.ts'

const naira = (kobo: number) => money(kobo, 'NGN' as Currency)
const amountIn = (json: string) => readNaira(fields(parse(json, asWritten))?.amount)

test('any amount goes to Monnify and back digit by digit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_AMOUNT }), fc.string(), (kobo, text) => {
      const json = jsonWith('amount', naira(kobo), { text })
      assert.match(json, /^\{"amount":\d+\.\d\d,/)
      assert.equal(amountIn(json), kobo)
      assert.deepEqual(JSON.parse(json).text, text)
      assert.equal(readNaira(nairaOf(naira(kobo))), kobo, 'as a string')
    }),
    { numRuns: 500 },
  )
})

test('an amount is read as JavaScript would write it, too', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_AMOUNT }), (kobo) => {
      assert.equal(amountIn(JSON.stringify({ amount: Number(nairaOf(naira(kobo))) })), kobo)
    }),
  )
})

test('amounts as they are known to come', () => {
  const READ: [string, number][] = [
    ['5000', 500_000],
    ['5000.1', 500_010],
    ['"5000.10"', 500_010],
    ['0.30', 30],
    ['0.07', 7],
    ['"0.00"', 0],
    ['4925.00', 492_500],
    ['5000.0000', 500_000],
    ['1.0E7', 1_000_000_000],
    ['1.234567E7', 1_234_567_000],
    ['9007199254740.99', 900_719_925_474_099],
  ]
  for (const [written, kobo] of READ) assert.equal(amountIn(`{"amount":${written}}`), kobo, written)
})

test('what is no amount of kobo is none', () => {
  const NONE = [
    '5000.001',
    '0.005',
    '-1',
    '-0',
    '1e300',
    '1E-2',
    '99999999999999999',
    '9007199254740993',
    'null',
    'true',
  ]
  NONE.push(
    '""',
    '" 5"',
    '"5,000.00"',
    '"NGN 5"',
    '"5."',
    '".5"',
    '"007"',
    '"+5"',
    '"NaN"',
    '"0x10"',
    '[]',
    '{}',
    '[5]',
    '{"digits":"5"}',
  )
  for (const written of NONE) assert.equal(amountIn(`{"amount":${written}}`), undefined, written)
  assert.throws(() => nairaOf(money(1, 'USD' as Currency)), /monnify takes NGN/)
})

test('times are read in every form that they have, as Nigerian time', () => {
  const READ: [string, string][] = [
    ['25/07/2026 11:20:20 AM', '2026-07-25T10:20:20.000Z'],
    ['30/08/2023 5:13:57 PM', '2023-08-30T16:13:57.000Z'],
    ['01/01/2026 12:30:00 AM', '2025-12-31T23:30:00.000Z'],
    ['01/01/2026 12:30:00 PM', '2026-01-01T11:30:00.000Z'],
    ['2021-11-17 11:28:42.615', '2021-11-17T10:28:42.615Z'],
    ['2026-07-17 03:14:51.0', '2026-07-17T02:14:51.000Z'],
    ['2026-06-27T09:11:14.596774984', '2026-06-27T08:11:14.596Z'],
    ['2026-06-27T09:51:14', '2026-06-27T08:51:14.000Z'],
    ['2026-06-27T09:51:14Z', '2026-06-27T09:51:14.000Z'],
    ['2026-06-27T09:51:14.000+0000', '2026-06-27T09:51:14.000Z'],
  ]
  for (const [written, iso] of READ) assert.equal(readTime(written)?.toISOString(), iso, written)
  const NONE = ['', 'yesterday', '31/02/2026 11:20:20 AM', '25/13/2026 11:20:20 AM', '25/07/2026 13:20:20 PM']
  NONE.push('2026-02-30 11:28:42', '2026-11-17 25:00:00', '2026-11-17 11:28:42+99:99', '25/07/2026', 'x'.repeat(1e6))
  for (const odd of [...NONE, null, undefined, 5, {}]) assert.equal(readTime(odd), null, String(odd).slice(0, 40))
})

test('an object without one of its required fields is not read, and an optional field may be missing', () => {
  const names = { transactionReference: 'MNFY|1', paymentReference: 'r1' }
  const sums = { amountPaid: '50.00', totalPayable: '50.00', currency: 'NGN', paymentMethod: 'CARD' }
  const account = { accountNumber: '0123456789', bankName: 'Wema' }
  const refund = { refundReference: 'f1', transactionReference: 'MNFY|1', refundStatus: 'COMPLETED', refundAmount: '9' }
  const OBJECTS: [(value: unknown) => unknown, required: object, optional: object][] = [
    [readToken, { accessToken: 'a', expiresIn: '3600' }, {}],
    [readStart, names, { apiKey: 'k', checkoutUrl: 'https://pay.example/' }],
    [readAccount, account, { ...names, accountName: 'Ada', amount: '50', totalPayable: '50' }],
    [readTransaction, { ...names, ...sums, paymentStatus: 'PAID' }, { paidOn: null, cardDetails: {}, metaData: {} }],
    [readRefund, refund, { createdOn: '2026-11-20 11:28:42' }],
    [(one) => readRefundPage({ content: [refund, one], totalPages: '1' }), refund, {}],
  ]
  for (const [read, required, optional] of OBJECTS) {
    const whole = { ...required, ...optional, more: 'ignored' }
    assert.ok(read(whole))
    for (const name of Object.keys(optional)) assert.ok(read({ ...whole, [name]: null }), name)
    for (const name of Object.keys(required)) assert.equal(read({ ...whole, [name]: null }), undefined, name)
  }
})
