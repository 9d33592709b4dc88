import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PROVIDERS } from '../providers/registry.ts'
import { parseCountry } from './country.ts'
import {
  type Currency,
  DEFAULT_CURRENCY,
  defaultCountry,
  formatMoney,
  lowestDenomination,
  MAX_AMOUNT,
  money,
  parseAmount,
  parseCurrency,
} from './money.ts'

test('money is made of whole minor units only', () => {
  assert.deepEqual(money(5, 'NGN' as Currency), { amount: 5, currency: 'NGN' })
  for (const amount of [0.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
    assert.throws(() => money(amount, 'NGN' as Currency))
  }
})

test('formatted money has every digit of the amount, for any amount', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_AMOUNT }), (amount) => {
      const digits = formatMoney(money(amount, 'NGN' as Currency)).replaceAll(/[^0-9]/g, '')
      return Number(digits) === amount
    }),
  )
})

test('currencies without a minor unit have no fraction', () => {
  assert.equal(formatMoney(money(1250, 'JPY' as Currency)), '¥1,250')
  assert.equal(formatMoney(money(5, 'USD' as Currency)), '$0.05')
})

test('only ISO 4217 codes are currencies', () => {
  assert.equal(parseCurrency('ngn'), 'NGN')
  for (const text of ['', 'N', 'NAIRA', 'AB1', 'ZZZ', 'ＮＧＮ']) assert.equal(parseCurrency(text), undefined, text)
})

test('the currencies and countries of every provider are in the tables', () => {
  const currencies = new Set(PROVIDERS.flatMap(({ capabilities }) => capabilities.currencies))
  assert.ok(currencies.has(DEFAULT_CURRENCY))
  for (const currency of currencies) {
    assert.equal(parseCurrency(currency), currency)
    assert.doesNotMatch(lowestDenomination(currency), /the lowest denomination of/, currency)
    const country = defaultCountry(currency as Currency) ?? assert.fail(currency)
    const takers = PROVIDERS.filter(({ capabilities }) => capabilities.currencies.includes(currency))
    assert.ok(
      takers.some(({ capabilities }) => capabilities.countries.includes(country)),
      currency,
    )
  }
  for (const { capabilities } of PROVIDERS)
    for (const country of capabilities.countries) assert.equal(parseCountry(country), country)
})

test('countries are known by two letters, three letters or their English name', () => {
  const same: [string, string][] = [
    ['ng', 'NG'],
    ['NGA', 'NG'],
    ['nigeria', 'NG'],
    ['South Africa', 'ZA'],
    ['zaf', 'ZA'],
    ['KENYA', 'KE'],
    ["Côte d'Ivoire", 'CI'],
    ['United States', 'US'],
    ['GB', 'GB'],
  ]
  for (const [text, code] of same) assert.equal(parseCountry(text), code, text)
  for (const text of ['', 'N', 'XX', 'ZZZ', 'Narnia', '__proto__', 'constructor', 'toString', '12'])
    assert.equal(parseCountry(text), undefined, text)
})

test('an amount that a person typed is read in the lowest denomination, or refused', () => {
  const [ngn, xof] = ['NGN' as Currency, 'XOF' as Currency]
  const same: [string, number][] = [
    ['12500', 1_250_000],
    ['12,500.00', 1_250_000],
    ['1,250', 125_000],
    ['12 500,5', 1_250_050],
    ['0.01', 1],
    ['5.', 500],
    ['٢٥٠٫٥', 25_050],
    ['999999999999', 99_999_999_999_900],
  ]
  for (const [text, amount] of same) assert.equal(parseAmount(text, ngn), amount, text)
  for (const text of [
    '',
    '.',
    '-5',
    '1e3',
    '0x10',
    '1.250',
    '1.234.5',
    '12,50,000',
    'NaN',
    '5 NGN',
    '1'.repeat(13),
    '1\u0000',
  ])
    assert.equal(parseAmount(text, ngn), undefined, text)
  assert.equal(parseAmount('2,500', xof), 2_500)
  assert.equal(parseAmount('2500.5', xof), undefined)
})
