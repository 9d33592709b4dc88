import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idOf } from '../kernel/ids.ts'
import { ClaimRounds, merchantKey } from './claim-rounds.ts'

const merchant = (number: number) => `00000000-0000-7000-8000-00000000000${number}`
const key = (number: number) => merchantKey(number, merchant(number))
const START = merchantKey(0, '00000000-0000-0000-0000-000000000000')

function claimed(...destinations: [merchant: number, destination: string][]) {
  const deliveries = destinations.map(([number, destination]) => ({
    place: number,
    merchantId: idOf('merchant', merchant(number)),
    destination,
  }))
  return { deliveries, idle: [] }
}

test('a full claim continues after its last merchant, starts over, and ends when a whole round found nothing', () => {
  const rounds = new ClaimRounds({ maxDestinations: 3, perMerchant: 2 })
  assert.equal(rounds.advance(claimed([1, 'a'], [1, 'b'], [2, 'c'])), true)
  assert.equal(rounds.after, key(2))
  assert.deepEqual([...rounds.past], [[key(1), 'b']], 'a merchant with more goes on after its last destination')
  assert.equal(rounds.advance(claimed([3, 'd'])), true)
  assert.equal(rounds.after, START)
  assert.deepEqual([...rounds.past], [[key(1), 'b']])
  assert.equal(rounds.advance(claimed()), true, 'the merchant with more may have others before that destination')
  assert.deepEqual([...rounds.past], [])
  assert.equal(rounds.advance(claimed()), false)
})

test('after a failed claim the next one is smaller, and grows again after successes', () => {
  const rounds = new ClaimRounds({ maxDestinations: 32, perMerchant: 16 })
  const sizes = () => [rounds.maxDestinations, rounds.perMerchant]
  rounds.shrink()
  assert.deepEqual(sizes(), [8, 8])
  for (let count = 0; count < 5; count++) rounds.shrink()
  assert.deepEqual(sizes(), [1, 1])
  for (const size of [2, 4, 8, 16, 32, 32]) {
    rounds.advance(claimed())
    assert.equal(rounds.maxDestinations, size)
  }
})
