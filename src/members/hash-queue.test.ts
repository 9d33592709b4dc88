import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '../kernel/problem.ts'
import { type HashClient, HashQueue, PLACES } from './hash-queue.ts'

/** A queue whose jobs end when the test says so. */
function heldQueue() {
  const queue = new HashQueue()
  const started: string[] = []
  let end = () => {}
  const add = ({ known, name }: HashClient): Promise<string> =>
    queue.run({ known, name }, async () => {
      started.push(name)
      await new Promise<void>((resolve) => {
        end = resolve
      })
      return name
    })
  const endOne = async () => {
    end()
    await new Promise(setImmediate)
  }
  return { add, started, endOne }
}

const stranger = (number: number) => ({ known: false, name: `network ${number}` })
const codeOf = (refused: Promise<unknown>) =>
  refused.then(
    () => 'none',
    (problem: Problem) => `${problem.code} ${problem.retryAfterSeconds}`,
  )

test('guesses from many networks fill the places of strangers, and a known browser is next', async () => {
  const { add, started, endOne } = heldQueue()
  const guesses = Array.from({ length: PLACES.strangers.all }, (_, number) => add(stranger(number)))
  assert.equal(await codeOf(add(stranger(1_000))), 'unavailable 2')
  const member = add({ known: true, name: 'ada@example.com' })
  await endOne()
  assert.deepEqual(started, ['network 0', 'ada@example.com'])
  await endOne()
  assert.equal(await member, 'ada@example.com')
  for (const _ of guesses) await endOne()
  await Promise.all(guesses)
  const next = add(stranger(1_000))
  await endOne()
  assert.equal(await next, 'network 1000', 'all places are free again')
})

test('one name has few places, and the names take turns', async () => {
  const { add, started, endOne } = heldQueue()
  const network = Array.from({ length: PLACES.strangers.each }, () => add(stranger(0)))
  assert.equal(await codeOf(add(stranger(0))), 'rate_limited 2')
  const account = [1, 2].map(() => add({ known: true, name: 'ada@example.com' }))
  assert.equal(await codeOf(add({ known: true, name: 'ada@example.com' })), 'rate_limited 2')
  const others = [add(stranger(1)), add({ known: true, name: 'grace@example.com' })]
  for (let job = 0; job < 9; job++) await endOne()
  assert.deepEqual(started, [
    ...['network 0', 'ada@example.com', 'network 0', 'grace@example.com', 'network 1', 'ada@example.com'],
    ...['network 0', 'network 0', 'network 0'],
  ])
  await Promise.all([...network, ...account, ...others])
})

test('a job that fails gives its place back', async () => {
  const queue = new HashQueue()
  const fail = () => queue.run(stranger(0), () => Promise.reject(new Error('broken')))
  for (let job = 0; job < PLACES.strangers.all + 1; job++) await assert.rejects(fail(), /broken/)
  assert.equal(await queue.run(stranger(0), async () => 'done'), 'done')
})
