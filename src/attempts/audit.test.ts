import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from './attempt.ts'
import { audit, type Records } from './audit.ts'

const records = (): Records => ({
  book: {
    payment: {
      sequence: 4,
      status: 'successful',
      late: false,
      completedAt: new Date(),
      amountPaid: 1_000,
      amountRefunded: 0,
    } as Records['book']['payment'],
    attempts: [
      {
        id: 'att_1',
        reference: 'o-1',
        status: 'successful',
        currency: 'NGN',
        amountReceived: 1_000,
      } as unknown as Attempt,
    ],
  },
  events: [
    { type: 'attempt.started', sequence: 1, attemptReference: 'o-1' },
    { type: 'attempt.pending', sequence: 2, attemptReference: 'o-1' },
    { type: 'attempt.successful', sequence: 3, attemptReference: 'o-1' },
    { type: 'payment.successful', sequence: 4, attemptReference: 'o-1' },
  ],
  receipts: [{ attemptId: 'att_1', amount: 1_000, currency: 'NGN', counted: true }],
  refunds: [{ counted: false, status: 'successful', amount: 77 }],
})

test('books that agree with their records have no findings', () => {
  assert.deepEqual(audit(records()), [])
})

test('whatever was changed by hand is found', () => {
  const changes: [RegExp, (r: Records) => void][] = [
    [/^status is cancelled/, (r) => (r.book.payment.status = 'cancelled')],
    [/^late is true/, (r) => (r.book.payment.late = true)],
    [/^amountPaid is 999/, (r) => (r.book.payment.amountPaid = 999)],
    [/^amountRefunded is 5/, (r) => (r.book.payment.amountRefunded = 5)],
    [/^sequence is 9/, (r) => (r.book.payment.sequence = 9)],
    [/gap/, (r) => ((r.events[3] as { sequence: number }).sequence = 5)],
    [/status of attempt o-1 is failed/, (r) => ((r.book.attempts[0] as Attempt).status = 'failed')],
    [/amountReceived of attempt o-1 is 1000, its records say 0/, (r) => (r.receipts = [])],
    [/succeeded 2 times/, (r) => r.events.push({ type: 'payment.successful', sequence: 5, attemptReference: 'o-1' })],
  ]
  for (const [finding, change] of changes) {
    const changed = records()
    change(changed)
    assert.ok(
      audit(changed).some((text) => finding.test(text)),
      `${finding} in ${audit(changed).join('; ')}`,
    )
  }
})
