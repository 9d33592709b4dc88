import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch } from './batch.ts'

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const tooMany = () => new Error('too many')
const failsAll = (error: unknown) => error instanceof Error && error.message === 'database away'

test('calls that arrive during a write are written together by the next one', async () => {
  const sizes: number[] = []
  const first = gate()
  const write = batch<number, number>({
    name: 'test',
    maxItems: 100,
    maxWaiting: 100,
    tooMany,
    failsAll,
    async write(items) {
      sizes.push(items.length)
      if (sizes.length === 1) await first.opened
      return items.map((item) => item * 10)
    },
  })
  const alone = write(1)
  await new Promise(setImmediate)
  const others = Promise.all([2, 3, 4].map(write))
  first.open()
  assert.equal(await alone, 10)
  assert.deepEqual(await others, [20, 30, 40])
  assert.deepEqual(sizes, [1, 3])
})

test('a single call is written in the same turn of the event loop, without a timer', async () => {
  const write = batch<string, string>({
    name: 'test',
    maxItems: 10,
    maxWaiting: 10,
    tooMany,
    failsAll,
    write: async (items) => items,
  })
  let turns = 0
  const counting = setInterval(() => turns++, 0)
  await write('x')
  clearInterval(counting)
  assert.ok(turns <= 1)
})

test('a write that fails fails for all of its callers, and the next one works', async () => {
  let writes = 0
  const write = batch<string, string>({
    name: 'test',
    maxItems: 10,
    maxWaiting: 10,
    tooMany,
    failsAll,
    async write(items) {
      if (++writes === 1) throw new Error('disk on fire')
      return items
    },
  })
  const results = await Promise.allSettled([write('a'), write('b')])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await write('c'), 'c')
})

test('an error as result fails only that caller', async () => {
  const write = batch<string, string>({
    name: 'test',
    maxItems: 10,
    maxWaiting: 10,
    tooMany,
    failsAll,
    write: async (items) => items.map((item) => (item === 'bad' ? new Error('bad row') : item)),
  })
  const results = await Promise.allSettled(['a', 'bad', 'c'].map(write))
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
})

test('no batch exceeds the maximum, and every item is written', async () => {
  const sizes: number[] = []
  const write = batch<number, number>({
    name: 'test',
    maxItems: 7,
    maxWaiting: 100,
    tooMany,
    failsAll,
    async write(items) {
      sizes.push(items.length)
      return items
    },
  })
  const asked = Array.from({ length: 50 }, (_, index) => index)
  assert.deepEqual(await Promise.all(asked.map(write)), asked)
  assert.ok(Math.max(...sizes) <= 7)
})

test('E1: a call beyond the queue limit is refused at once (backpressure)', async () => {
  const never = gate()
  const write = batch<number, number>({
    name: 'test',
    maxItems: 1,
    maxWaiting: 2,
    tooMany,
    failsAll,
    async write(items) {
      await never.opened
      return items
    },
  })
  const first = write(1)
  await new Promise(setImmediate)
  const waiting = [write(2), write(3)]
  await assert.rejects(write(4), /too many/)
  never.open()
  assert.deepEqual(await Promise.all([first, ...waiting]), [1, 2, 3])
})

test('when the database is unavailable, waiting calls fail at once', async () => {
  let writes = 0
  const write = batch<number, number>({
    name: 'test',
    maxItems: 1,
    maxWaiting: 100,
    tooMany,
    failsAll,
    async write() {
      writes++
      throw new Error('database away')
    },
  })
  const results = await Promise.allSettled([1, 2, 3, 4].map(write))
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(writes, 1)
})
