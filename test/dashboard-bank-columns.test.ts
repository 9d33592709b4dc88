import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choose, columnsOf, textOf } from '../web/dashboard/screens/settlements/bank-columns.ts'

test('the names of the columns are those of the widest line: a bank may write more above it', () => {
  const above = 'Zenith Bank PLC\r\nAccount:,0123456789\r\n\r\n'
  assert.deepEqual(columnsOf(`${above}Date,"Amount, in NGN",Balance\r\n01/02/2026,"1,000.00",5`), [
    ...['Date', 'Amount, in NGN', 'Balance'],
  ])
  assert.deepEqual(columnsOf('Buchungstag;Betrag "netto";\n01.02.2026;1.000,00;'), ['Buchungstag', 'Betrag "netto"'])
  assert.deepEqual(columnsOf('Day\tThe ""best""\t"""Paid"" in"\n'), ['Day', 'The "best"', '"Paid" in'])
  assert.deepEqual(columnsOf(''), [])
})

test('the column of the last file is chosen, else one whose name says so, else none', () => {
  const names = ['Trans Date', 'Debit', 'Credit', 'Amount']
  assert.equal(choose(names, ' amount', /credit/i), 'Amount')
  assert.equal(choose(names, 'Money In', /lodg/i, /credit/i), 'Credit')
  assert.equal(choose(names, undefined, /day/i), '')
})

test('a file in UTF-8 or UTF-16, with a byte order mark, is read', async () => {
  for (const bytes of [Buffer.from('\uFEFFTag;Wert'), Buffer.from('\uFEFFTag;Wert', 'utf16le')])
    assert.equal(await textOf(new File([bytes], 'bank.csv')), 'Tag;Wert')
})
