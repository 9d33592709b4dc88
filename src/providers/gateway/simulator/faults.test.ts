import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { amountTaken, callFault, chanceOf, draw, NO_FAULTS, noticeDelaysMs } from './faults.ts'

const many = <Result>(make: () => Result) => Array.from({ length: 2_000 }, make)
const share = <Item>(items: Item[], is: (item: Item) => boolean) => items.filter(is).length / items.length
const isAbout = (actual: number, expected: number) => assert.ok(Math.abs(actual - expected) < 0.05, `${actual}`)

test('a draw follows from seed, kind and counter, and lies from 0 up to 1', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.string(), fc.nat(), (seed, kind, counter) => {
      const drawn = draw(seed, kind, counter)
      return drawn === draw(seed, kind, counter) && drawn >= 0 && drawn < 1
    }),
  )
})

test('the same seed plays the same game again, another seed another one', () => {
  const play = (seed: number) => {
    const chance = chanceOf({ ...NO_FAULTS, seed, timeout: 0.3, serverError: 0.3 })
    return Array.from({ length: 50 }, () => callFault(chance))
  }
  assert.deepEqual(play(7), play(7))
  assert.notDeepEqual(play(7), play(8))
})

test('without faults nothing ever happens', () => {
  const chance = chanceOf(NO_FAULTS)
  assert.deepEqual([callFault(chance), noticeDelaysMs(chance), amountTaken(chance, 500)], [undefined, [0], 500])
})

test('timeouts come as often as asked, half of them before the work and half after it', () => {
  const chance = chanceOf({ ...NO_FAULTS, seed: 1, timeout: 0.4 })
  const calls = many(() => callFault(chance))
  isAbout(
    share(calls, (fault) => fault?.kind === 'timeout'),
    0.4,
  )
  isAbout(
    share(calls, (fault) => fault?.when === 'before'),
    0.2,
  )
})

test('errors are 500 and 503, before the work and after it', () => {
  const chance = chanceOf({ ...NO_FAULTS, seed: 1, serverError: 1 })
  const calls = many(() => callFault(chance))
  for (const status of [500, 503]) {
    for (const when of ['before', 'after']) {
      isAbout(
        share(calls, (fault) => fault?.kind === 'error' && fault.status === status && fault.when === when),
        0.25,
      )
    }
  }
})

test('notices are lost, doubled, held back a little or a lot', () => {
  const delays = (faults: object) => {
    const chance = chanceOf({ ...NO_FAULTS, seed: 1, ...faults })
    return many(() => noticeDelaysMs(chance))
  }
  assert.ok(delays({ lost: 1 }).every((copies) => copies.length === 0))
  assert.ok(delays({ doubled: 1 }).every((copies) => copies.length === 2))
  assert.ok(delays({ reordered: 1 }).every(([ms = 0]) => ms >= 200 && ms <= 3_000))
  assert.ok(delays({ late: 1 }).every(([ms = 0]) => ms >= 5_000 && ms <= 20_000))
  isAbout(
    share(delays({ lost: 0.5 }), (copies) => copies.length === 0),
    0.5,
  )
})

test('a wrong amount is 1 to 50 % less or more, never the right one, and never nothing', () => {
  const chance = chanceOf({ ...NO_FAULTS, seed: 1, wrongAmount: 1 })
  const taken = many(() => amountTaken(chance, 10_000))
  assert.ok(taken.every((amount) => Math.abs(amount - 10_000) >= 100 && Math.abs(amount - 10_000) <= 5_000))
  isAbout(
    share(taken, (amount) => amount < 10_000),
    0.5,
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e15 }), (asked) => {
      const amount = amountTaken(chance, asked)
      return Number.isSafeInteger(amount) && amount >= 1 && amount !== asked
    }),
  )
})
