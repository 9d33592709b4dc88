import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Currency } from '../../kernel/money.ts'
import { certainPairs, numbered, readStatement, type StatementColumns } from './bank-statement.ts'

const NGN = 'NGN' as Currency
const COLUMNS: StatementColumns = { date: 'Value Date', amount: 'Credit', dateOrder: 'day-month' }

function read(text: string, changes: Partial<StatementColumns> = {}) {
  const found = readStatement(text, { ...COLUMNS, ...changes }, NGN)
  return found.kind === 'read'
    ? found.credits.map(({ day, amount, line }) => `${line} ${day} ${amount}`)
    : found.mistakes
}

test('a statement is read as banks write it: a heading, quotes, debits and a sum at the end', () => {
  const text = [
    '\uFEFFZENITH BANK,,',
    'Account: 0123456789,,',
    '',
    'Trans Date,Value Date,Narration,Debit,"Credit"',
    '01/05/2026,02/05/2026,"PAYSTACK, ""settlement""\r\nfor May",,"1,234,567.89"',
    '03/05/2026,03/05/2026,Rent,50000.00,',
    '04/05/2026,04/05/2026,Monnify,0.00,₦985.00',
    ',,Total,50000.00,"1,235,552.89"',
  ].join('\r\n')
  assert.deepEqual(read(text), ['5 2026-05-02 123456789', '8 2026-05-04 98500'])
})

test('semicolons and commas as decimals are read, too', () => {
  assert.deepEqual(read('Value Date;Credit\n31.12.2026;1.234.567,89\n30.12.26;12,5\n29.12.2026;-4,00\n'), [
    '2 2026-12-31 123456789',
    '3 2026-12-30 1250',
  ])
})

for (const [text, order, day] of [
  ['2026-05-04 10:11:12', 'day-month', '2026-05-04'],
  ['04/05/2026', 'day-month', '2026-05-04'],
  ['05/04/2026', 'month-day', '2026-05-04'],
  ['4-May-26', 'day-month', '2026-05-04'],
  ['04 MAY 2026', 'day-month', '2026-05-04'],
  ['May 4, 2026', 'day-month', '2026-05-04'],
] as const) {
  test(`${text} is ${day}`, () => {
    assert.deepEqual(read(`Value Date\tCredit\n${text}\t1.00`, { dateOrder: order }), [`2 ${day} 100`])
  })
}

test('a mistake names its line, and columns that are not there name those that are', () => {
  assert.deepEqual(read('Value Date,Credit\n31/02/2026,5.00\n01/02/2026,1.250\n02/02/2026,abc'), [
    'Line 2: "31/02/2026" in the column "Value Date" is no day.',
    'Line 3: "1.250" in the column "Credit" is no amount of NGN.',
    'Line 4: "abc" in the column "Credit" is no amount of NGN.',
  ])
  assert.deepEqual(read('Date,Amount\n01/02/2026,5.00'), [
    'The file has no line with the columns "Value Date" and "Credit". It has: "Date", "Amount".',
  ])
})

test('equal credits of a day are two, however often they are uploaded', () => {
  const credit = { day: '2026-05-04', amount: 100, line: 2 }
  assert.deepEqual(
    numbered([credit, { ...credit, line: 3 }, { ...credit, amount: 200 }]).map(({ number }) => number),
    [1, 2, 1],
  )
})

test('what fits twice is not matched', () => {
  const pairs = [
    { settlement: 'a', credit: 1 },
    { settlement: 'b', credit: 2 },
    { settlement: 'b', credit: 3 },
    { settlement: 'c', credit: 4 },
    { settlement: 'd', credit: 4 },
  ]
  assert.deepEqual(certainPairs(pairs), [{ settlement: 'a', credit: 1 }])
})
