import assert from 'node:assert/strict'
import { test } from 'node:test'
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
