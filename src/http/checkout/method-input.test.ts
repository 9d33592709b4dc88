import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MethodValues, readMethodForm } from './method-input.ts'
import type { Method } from './screen.ts'

const EMPTY: MethodValues = { phoneNumber: '', network: '', bank: '', code: '' }
const GHANA: Method = { channel: 'mobile-money', amountCharged: 1_000, networks: ['mtn', 'telecel', 'at'] }
const IVORY_COAST: Method = {
  ...{ channel: 'mobile-money', amountCharged: 1_000, networks: ['orange', 'wave'], codeBeforehand: ['orange'] },
}
const USSD: Method = {
  ...{ channel: 'ussd', amountCharged: 1_000 },
  banks: [
    { code: '058', name: 'Guaranty Trust Bank' },
    { code: '057', name: 'Zenith Bank' },
  ],
}

const read = (method: Method, values: Partial<MethodValues>, country = 'GH', guess = '') =>
  readMethodForm(method, { ...EMPTY, ...values }, country, guess)
const whyOf = (...args: Parameters<typeof read>) => read(...args).mistakes.map(({ field, why }) => `${field}: ${why}`)

test('a number of the country as people type it, and its network, are what the provider needs', () => {
  const phoneNumber = '+233551234987'
  for (const typed of ['055 123 4987', '551234987', '+233 55 123 4987', '00233551234987'])
    assert.deepEqual(read(GHANA, { phoneNumber: typed, network: 'at' }).input, { network: 'at', phoneNumber })
})

test('the network is guessed where none was chosen, and not asked for where there is one', () => {
  assert.equal(read(GHANA, { phoneNumber: '0201234987' }).input.network, 'telecel')
  assert.deepEqual(whyOf(GHANA, { phoneNumber: '0281234987' }), ['network: network'])
  const one = { ...GHANA, networks: ['mtn'] as const }
  assert.equal(read(one, { phoneNumber: '0201234987' }).input.network, 'mtn')
})

test('a number that is missing, wrong, or of another country is a mistake of its field', () => {
  assert.deepEqual(whyOf(GHANA, {}), ['phoneNumber: missing'])
  for (const phoneNumber of ['055 123', 'mine', '+2348031234567'])
    assert.deepEqual(whyOf(GHANA, { phoneNumber }), ['phoneNumber: phone number'], phoneNumber)
  assert.deepEqual(whyOf(GHANA, { phoneNumber: '0551234987', network: 'wave' }), [], 'a network that is not offered')
})

test('a guess that no longer fits the number is asked about once', () => {
  const typed = { phoneNumber: '0201234987', network: 'mtn' }
  assert.deepEqual(read(GHANA, typed, 'GH', 'mtn').mistakes, [
    { field: 'network', why: 'looks like', network: 'telecel' },
  ])
  assert.equal(read(GHANA, typed, 'GH', 'telecel').input.network, 'mtn', 'people keep their number')
})

test('a number to pay to needs no phone number', () => {
  const kenya: Method = { ...GHANA, networks: ['mpesa', 'mpesa-paybill'] }
  assert.deepEqual(read(kenya, { network: 'mpesa-paybill', phoneNumber: 'x' }, 'KE').input, {
    network: 'mpesa-paybill',
  })
})

test('a code made beforehand is wanted of the networks that want one', () => {
  const phoneNumber = '07 12 34 56 78'
  assert.deepEqual(whyOf(IVORY_COAST, { phoneNumber, network: 'orange' }, 'CI'), ['code: missing'])
  assert.deepEqual(whyOf(IVORY_COAST, { phoneNumber, network: 'wave' }, 'CI'), [])
  const { input } = read(IVORY_COAST, { phoneNumber, network: 'orange', code: '3670' }, 'CI')
  assert.equal(input.preAuthorisationCode, '3670')
})

test('a bank is one of the list', () => {
  assert.deepEqual(read(USSD, { bank: '057' }).input, { bank: '057' })
  assert.deepEqual(whyOf(USSD, { bank: '999' }), ['bank: bank'])
  assert.deepEqual(read({ ...USSD, banks: [{ code: '1', name: 'One' }] }, {}).input, { bank: '1' })
  assert.deepEqual(read({ channel: 'qr', amountCharged: 1 }, {}), { input: {}, mistakes: [] })
})

test('a network that was closed since the form was shown is not taken, and no other in its place', () => {
  const two = { ...GHANA, networks: ['mtn', 'airtel'], codeBeforehand: [], closed: ['airtel'] } as const
  const values = { phoneNumber: '0733456700', network: 'airtel', bank: '', code: '' }
  // One number looks like it, the other does not.
  for (const phoneNumber of ['0733456700', '0783456700']) {
    const { input, mistakes } = readMethodForm(two, { ...values, phoneNumber }, 'RW', '')
    assert.deepEqual([input, mistakes], [{}, [{ field: 'network', why: 'network' }]])
  }
  const only = { ...two, networks: ['airtel'] } as const
  assert.equal(readMethodForm(only, { ...values, network: '' }, 'RW', '').mistakes.length, 1)
})
