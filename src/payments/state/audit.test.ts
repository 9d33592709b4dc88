import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt } from './attempt.ts'
import { audit, type Records } from './audit.ts'

const records = (): Records => ({
  state: {
    payment: {
      sequence: 6,
      status: 'successful',
      late: false,
      completedAt: new Date(),
      amountPaid: 1_000,
      amountRefunded: 400,
    } as Records['state']['payment'],
    attempts: [
      {
        id: 'att_1',
        reference: 'o-1',
        status: 'successful',
        currency: 'NGN',
        amountReceived: 1_000,
        amountReturned: 477,
        amountRefunded: 400,
        needsReview: null,
        reviewed: null,
      } as unknown as Attempt,
    ],
  },
  events: [
    { type: 'attempt.started', sequence: 1, attemptReference: 'o-1' },
    { type: 'attempt.pending', sequence: 2, attemptReference: 'o-1' },
    { type: 'attempt.successful', sequence: 3, attemptReference: 'o-1' },
    { type: 'payment.successful', sequence: 4, attemptReference: 'o-1' },
    { type: 'dispute.opened', sequence: 5, attemptReference: 'o-1', dispute: 'dsp_1' },
    { type: 'dispute.lost', sequence: 6, attemptReference: 'o-1', dispute: 'dsp_1' },
  ],
  receipts: [{ attemptId: 'att_1', amount: 1_000, currency: 'NGN', counted: true }],
  refunds: [
    { id: 'rfd_1', attemptId: 'att_1', kind: 'surplus', counted: false, status: 'successful', amount: 77 },
    { id: 'rfd_2', attemptId: 'att_1', kind: 'chargeback', counted: true, status: 'successful', amount: 400 },
    { id: 'rfd_3', attemptId: 'att_1', kind: 'merchant', counted: true, status: 'failed', amount: 9 },
  ],
  disputes: [{ id: 'dsp_1', attemptId: 'att_1', status: 'lost', refundId: 'rfd_2' }],
})

const setDispute = (r: Records, changes: object) => {
  r.disputes = r.disputes.map((dispute) => ({ ...dispute, ...changes }))
}

test('a state that matches its records has no findings', () => {
  assert.deepEqual(audit(records()), [])
})

test('every manual change is found', () => {
  const changes: [RegExp, (r: Records) => void][] = [
    [/^status is cancelled/, (r) => (r.state.payment.status = 'cancelled')],
    [/^late is true/, (r) => (r.state.payment.late = true)],
    [/^amountPaid is 999/, (r) => (r.state.payment.amountPaid = 999)],
    [/^amountRefunded is 5/, (r) => (r.state.payment.amountRefunded = 5)],
    [/^sequence is 9/, (r) => (r.state.payment.sequence = 9)],
    [/gap/, (r) => ((r.events[3] as { sequence: number }).sequence = 5)],
    [/amountReturned of attempt o-1 is 477, its records say 400/, (r) => r.refunds.shift()],
    [/status of dispute dsp_1 is lost, its records say open/, (r) => r.events.pop()],
    [/lost dispute dsp_1 is counted by no refund/, (r) => setDispute(r, { refundId: null })],
    [/dispute dsp_1 is won, and still counted/, (r) => setDispute(r, { status: 'won' })],
    [/status of attempt o-1 is failed/, (r) => ((r.state.attempts[0] as Attempt).status = 'failed')],
    [/amountReceived of attempt o-1 is 1000, its records say 0/, (r) => (r.receipts = [])],
    [/succeeded 2 times/, (r) => r.events.push({ type: 'payment.successful', sequence: 7, attemptReference: 'o-1' })],
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
