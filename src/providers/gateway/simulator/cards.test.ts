import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureMessage } from '../../failure.ts'
import { cardOf, outcomeOf, parseCardNumber, TEST_CARDS } from './cards.ts'

const expiry = { month: 12, year: 2030 }
const charge = (number: string, code?: string) =>
  outcomeOf(cardOf(parseCardNumber(number) as string, expiry).behaviour, code)

test('each test card has its own result', () => {
  assert.deepEqual(charge('4084 0840 8408 4081'), { kind: 'paid' })
  assert.deepEqual(charge('4000 0000 0000 9995'), { kind: 'failed', code: 'insufficient_funds' })
  assert.deepEqual(charge('4000 0000 0000 0002'), { kind: 'failed', code: 'card_declined' })
  assert.deepEqual(charge('4000 0000 0000 0069'), { kind: 'failed', code: 'card_expired' })
  assert.deepEqual(charge('4000 0000 0000 0119'), { kind: 'silent' })
})

test('the Verve card asks for a code, and only the right one pays', () => {
  assert.deepEqual(charge('5060 6666 6666 6666 666'), { kind: 'code_required' })
  assert.deepEqual(charge('5060 6666 6666 6666 666', '123456'), { kind: 'paid' })
  assert.deepEqual(charge('5060 6666 6666 6666 666', '123 456'), { kind: 'paid' })
  for (const wrong of ['', '000000', '1234567']) {
    assert.deepEqual(charge('5060 6666 6666 6666 666', wrong), { kind: 'failed', code: 'incorrect_otp' })
  }
})

test('an unknown test card is not supported', () => {
  assert.deepEqual(charge('4111 1111 1111 1111'), { kind: 'failed', code: 'card_not_supported' })
})

test('a number may be written with spaces or dashes, and is nothing else', () => {
  assert.equal(parseCardNumber(' 4084-0840 84084081'), '4084084084084081')
  for (const wrong of ['', '4084', '4084 0840 8408 408x', '1'.repeat(20)])
    assert.equal(parseCardNumber(wrong), undefined)
})

test('a slip of the finger is noticed: each test card with one digit changed, or two neighbours swapped, is no number', () => {
  for (const { number } of TEST_CARDS) {
    const digits = parseCardNumber(number) as string
    assert.ok(digits, number)
    for (let i = 0; i < digits.length; i++) {
      const [digit, next] = [digits[i], digits[i + 1]]
      const other = String((Number(digit) + 1 + (i % 9)) % 10)
      assert.equal(parseCardNumber(digits.slice(0, i) + other + digits.slice(i + 1)), undefined)
      // The one thing that the check digit cannot see is 09 for 90.
      if (next === undefined || digit === next || [digit, next].sort().join('') === '09') continue
      assert.equal(parseCardNumber(digits.slice(0, i) + next + digit + digits.slice(i + 2)), undefined)
    }
  }
})

test('what is kept of a card is enough to charge it again, and its number is not in it', () => {
  for (const { number } of TEST_CARDS) {
    const digits = parseCardNumber(number) as string
    const kept = cardOf(digits, expiry)
    assert.equal(kept.last4, digits.slice(-4))
    assert.ok(!JSON.stringify(kept).includes(digits.slice(0, -4)))
  }
})

test('every failure has words for the customer', () => {
  assert.equal(failureMessage('insufficient_funds'), 'There is not enough money on this card or account.')
  assert.ok(failureMessage('other').length > 0)
})
