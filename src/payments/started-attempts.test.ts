import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetStarted, keepStarted, type StartedAttempt, takeStarted } from './started-attempts.ts'
import type { Notice } from './state/notice.ts'

const OWNER = { merchantId: 'mer_1', mode: 'sandbox', provider: 'gateway', account: 1 }

function started(orderReference: string, metadata: Record<string, string> = {}): StartedAttempt {
  const attempt = { ...OWNER, orderReference, instructions: { kind: 'link' } }
  return { attempt, state: { payment: { metadata }, attempts: [attempt] } } as unknown as StartedAttempt
}

const noticeOf = (changes: Partial<typeof OWNER> = {}) => ({ ...OWNER, ...changes }) as unknown as Notice

test('a started attempt is given once, to a notice of the same merchant, mode, provider and account', () => {
  const kept = started('order-1')
  keepStarted(kept)
  const others = [{ merchantId: 'mer_2' }, { mode: 'live' }, { provider: 'paystack' }, { account: 2 }]
  for (const other of others) assert.equal(takeStarted(noticeOf(other), 'order-1'), undefined)
  assert.equal(takeStarted(noticeOf(), 'order-1')?.attempt, kept.attempt)
  assert.equal(takeStarted(noticeOf(), 'order-1'), undefined)
  keepStarted(kept)
  forgetStarted([kept.attempt])
  assert.equal(takeStarted(noticeOf(), 'order-1'), undefined)
})

test('a payment with much metadata is not kept, so that 10 000 payments need a bounded part of the heap', () => {
  const metadata = Object.fromEntries(Array.from({ length: 50 }, (_, key) => [`key-${key}`, 'x'.repeat(500)]))
  keepStarted(started('order-large', metadata))
  assert.equal(takeStarted(noticeOf(), 'order-large'), undefined)
})
