import assert from 'node:assert/strict'
import { test } from 'node:test'
import { guessNetwork } from './mobile-networks.ts'
import { beginsWithZero, maskPhoneNumber, parsePhoneNumber, phoneNumberForms } from './phone-number.ts'

const GHANA = { international: '+233551234987', national: '551234987' }

for (const text of [
  '0551234987',
  '551234987',
  '+233551234987',
  '233 55 123 4987',
  '00233551234987',
  '+233 (0)55-1234987',
  '2330551234987',
  '002330551234987',
  '+233\u00a055\u2011123\u20114987\u202c',
  '٠٥٥١٢٣٤٩٨٧',
  '۰۵۵۱۲۳۴۹۸۷',
]) {
  test(`${text} is a number in Ghana`, () => assert.deepEqual(parsePhoneNumber(text, 'GH'), GHANA))
}

test('a zero is part of a number in Côte d’Ivoire', () => {
  const number = { international: '+2250701020304', national: '0701020304' }
  for (const text of ['0701020304', '+2250701020304']) assert.deepEqual(parsePhoneNumber(text, 'CI'), number)
})

test('a number that begins as one of another country is none', () => {
  assert.equal(parsePhoneNumber('0712345678', 'GH'), undefined)
  assert.equal(parsePhoneNumber('254712345678', 'GH'), undefined)
  assert.equal(parsePhoneNumber('0551234987', 'KE'), undefined)
})

test('a number at home that begins with the digits of the prefix is no international one', () => {
  assert.equal(parsePhoneNumber('0233234987', 'GH')?.international, '+233233234987')
  assert.equal(parsePhoneNumber('233234987', 'GH')?.international, '+233233234987')
})

test('numbers begin with a zero at home, except in some countries', () => {
  assert.deepEqual(['GH', 'CI', 'SN', 'CM'].map(beginsWithZero), [true, true, false, false])
})

for (const text of ['', '055123498', '05512349871', '+254551234987', 'a551234987', '+23355123498']) {
  test(`"${text}" is no number in Ghana`, () => assert.equal(parsePhoneNumber(text, 'GH'), undefined))
}

test('a number is shown without its middle', () => assert.equal(maskPhoneNumber('+233551234987'), '+233•••••4987'))

test('the network of a number is guessed from how it begins', () => {
  assert.equal(guessNetwork('GH', '551234987'), 'mtn')
  assert.equal(guessNetwork('KE', '722000000'), 'mpesa')
  assert.equal(guessNetwork('GH', '991234987'), undefined)
})

test('the forms in which a number may stand in a text', () => {
  assert.deepEqual(phoneNumberForms('+233551234987'), [
    '+233551234987',
    '233551234987',
    '0551234987',
    '551234987',
    '+233•••••4987',
  ])
})
