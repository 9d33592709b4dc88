import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialCodesFor } from './dial-codes.ts'
import { type Currency, money } from './money.ts'

const account = { accountNumber: '0690000031' }
const naira = (amount: number) => money(amount, 'NGN' as Currency)

test('a transfer in naira can be dialled at each bank, with the amount and the account number where that bank has them', () => {
  const codes = dialCodesFor(naira(1_250_000), account)
  const codeOf = (bank: string) => codes.find((each) => each.bank === bank)?.code
  assert.equal(codeOf('058'), '*737*2*12500*0690000031#')
  assert.equal(codeOf('033'), '*919*4*0690000031*12500#')
  for (const { code, bankName } of codes) {
    assert.match(code, /^\*\d+(\*\d+)*#$/, bankName)
    assert.deepEqual(code.slice(1, -1).split('*').slice(-2).sort(), ['0690000031', '12500'], bankName)
  }
  assert.equal(new Set(codes.map(({ bank }) => bank)).size, codes.length)
})

test('what cannot be dialled has no codes: kobo, nothing left, another currency, a narration, an odd account number', () => {
  assert.deepEqual(dialCodesFor(naira(1_250_050), account), [])
  assert.deepEqual(dialCodesFor(naira(0), account), [])
  assert.deepEqual(dialCodesFor(money(1_250_000, 'GHS' as Currency), account), [])
  assert.deepEqual(dialCodesFor(naira(1_250_000), { ...account, narration: '1234567' }), [])
  assert.deepEqual(dialCodesFor(naira(1_250_000), { accountNumber: '4084333' }), [])
})
