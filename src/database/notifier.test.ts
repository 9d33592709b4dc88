import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { notifier } from './notifier.ts'

test('this process learns of a notification at once; equal ones are sent once, together with others', async () => {
  const sent: [string[], string[]][] = []
  const { notify, onNotify, stop } = notifier(async (...group) => void sent.push(group))
  const heard: string[] = []
  onNotify((channel, payload) => heard.push(`${channel} ${payload}`))
  notify('payments', '1')
  notify('payments', '1')
  notify('deliveries')
  assert.deepEqual(heard, ['payments 1', 'payments 1', 'deliveries '])
  assert.deepEqual(sent, [])
  await stop()
  assert.deepEqual(sent, [
    [
      ['payments', 'deliveries'],
      ['1', ''],
    ],
  ])
})

test('the first notification is sent at once, and those of the next 40 ms together', async () => {
  const sent: { atMs: number; payloads: string[] }[] = []
  let heard = Promise.withResolvers<void>()
  const { notify, stop } = notifier(async (_, payloads) => {
    sent.push({ atMs: performance.now(), payloads })
    heard.resolve()
  })
  const startedAtMs = performance.now()
  notify('payments', '1')
  await heard.promise
  heard = Promise.withResolvers()
  notify('payments', '2')
  notify('payments', '3')
  await heard.promise
  assert.deepEqual(
    sent.map(({ payloads }) => payloads),
    [['1'], ['2', '3']],
  )
  assert.ok((sent[1]?.atMs ?? 0) - startedAtMs >= 39, 'not before 40 ms')
  await stop()
})

test('a notification that cannot be sent is dropped: listeners poll', async () => {
  const { notify, stop } = notifier(() => Promise.reject(new Error('no connection')))
  notify('payments', '1')
  await stop()
})

test('while a statement is under way, notifications wait for its end; stop sends the rest at once', async () => {
  const statements: { payloads: string[]; end: () => void }[] = []
  let begun = Promise.withResolvers<void>()
  const { notify, stop } = notifier((_, payloads) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    statements.push({ payloads, end: resolve })
    begun.resolve()
    return promise
  })
  const payloads = () => statements.map((statement) => statement.payloads)
  notify('payments', '1')
  await begun.promise
  notify('payments', '2')
  await sleep(100)
  assert.deepEqual(payloads(), [['1']])
  begun = Promise.withResolvers()
  statements[0]?.end()
  await begun.promise
  assert.deepEqual(payloads(), [['1'], ['2']])
  notify('payments', '3')
  const stopped = stop()
  assert.deepEqual(payloads(), [['1'], ['2'], ['3']])
  for (const { end } of statements) end()
  await stopped
})
