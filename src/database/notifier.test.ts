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

test('a notification that cannot be sent is dropped: listeners poll', async () => {
  const { notify, stop } = notifier(() => Promise.reject(new Error('no connection')))
  notify('payments', '1')
  await stop()
})
