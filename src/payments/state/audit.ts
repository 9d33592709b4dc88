import type { EventType } from '../../events/event.ts'
import type { AttemptStatus } from './attempt.ts'
import type { Payment } from './payment.ts'
import type { PaymentState } from './payment-state.ts'

/** All records of a payment, from which the audit derives its state again. */
export interface Records {
  state: PaymentState
  events: { type: EventType; sequence: number; attemptReference: string | null; dispute?: string | null }[]
  receipts: { attemptId: string; amount: number; currency: string; counted: boolean }[]
  refunds: { id: string; attemptId: string; counted: boolean; kind: string; status: string; amount: number }[]
  disputes: { id: string; attemptId: string; status: string; refundId: string | null }[]
}

/** Compares the stored state with the state derived from events, receipts and refunds. Returns the differences. */
export function audit(records: Records): string[] {
  const { state, events, receipts, refunds } = records
  const { payment, attempts } = state
  const found: string[] = []
  const compare = (what: string, is: unknown, derived: unknown) => {
    if (is !== derived) found.push(`${what} is ${String(is)}, its records say ${String(derived)}`)
  }

  compare('sequence', payment.sequence, events.length)
  if (events.some(({ sequence }, index) => sequence !== index + 1))
    found.push('the events have a gap in their sequence')

  const derived = deriveStatus(events)
  compare('status', payment.status, derived.status)
  compare('late', payment.late, derived.late)
  compare('completedAt is set', payment.completedAt !== null, payment.status !== 'pending')
  const successes = events.filter(({ type }) => type === 'payment.successful').length
  if (successes > 1) found.push(`it succeeded ${successes} times`)
  const winners = attempts.filter(({ status }) => status === 'successful').length
  compare('the number of successful attempts', winners, payment.status === 'successful' ? 1 : 0)

  for (const attempt of attempts) {
    const own = events.filter(({ attemptReference, type }) => attemptReference === attempt.reference && STATUS_OF[type])
    compare(`the status of attempt ${attempt.reference}`, attempt.status, STATUS_OF[own.at(-1)?.type ?? ''])
    const arrived = sum(
      receipts.filter((receipt) => receipt.attemptId === attempt.id && receipt.currency === attempt.currency),
    )
    compare(`amountReceived of attempt ${attempt.reference}`, attempt.amountReceived, arrived)
    const back = refunds.filter(({ attemptId, status }) => attemptId === attempt.id && status !== 'failed')
    compare(`amountReturned of attempt ${attempt.reference}`, attempt.amountReturned, sum(back))
    const gone = back.filter(({ counted, status }) => counted && status === 'successful')
    compare(`amountRefunded of attempt ${attempt.reference}`, attempt.amountRefunded, sum(gone))
  }
  compare('amountPaid', payment.amountPaid, sum(receipts.filter(({ counted }) => counted)))
  const back = refunds.filter(({ counted, status }) => counted && status === 'successful')
  compare('amountRefunded', payment.amountRefunded, sum(back))
  return [...found, ...auditDisputes(records)]
}

/** A dispute's status must match its events, and exactly one refund must count the money of a lost one. */
function auditDisputes({ state, events, refunds, disputes }: Records): string[] {
  const found: string[] = []
  for (const { id, attemptId, status, refundId } of disputes) {
    const told = events.filter(({ type, dispute }) => dispute === id && type in DISPUTE_STATUS_OF).at(-1)
    const derived = DISPUTE_STATUS_OF[told?.type ?? '']
    if (status !== derived) found.push(`the status of dispute ${id} is ${status}, its records say ${derived}`)
    const counting = refunds.find((refund) => refund.id === refundId && refund.status === 'successful')
    const isReviewed = state.attempts.some(
      (attempt) => attempt.id === attemptId && (attempt.needsReview ?? attempt.reviewed) !== null,
    )
    if (status === 'lost' && !counting && !isReviewed)
      found.push(`the money of lost dispute ${id} is counted by no refund`)
    if (status === 'won' && counting?.kind === 'chargeback')
      found.push(`dispute ${id} is won, and still counted as lost`)
    if (refundId !== null && disputes.some((other) => other.id !== id && other.refundId === refundId))
      found.push(`the refund of dispute ${id} counts for another dispute too`)
  }
  return found
}

const DISPUTE_STATUS_OF: Record<string, string> = {
  'dispute.opened': 'open',
  'dispute.won': 'won',
  'dispute.lost': 'lost',
}

const STATUS_OF: Record<string, AttemptStatus> = {
  'attempt.started': 'processing',
  'attempt.pending': 'pending',
  'attempt.processing': 'processing',
  'attempt.successful': 'successful',
  'attempt.failed': 'failed',
  'attempt.abandoned': 'abandoned',
  'attempt.surplus': 'surplus',
}

function deriveStatus(events: Records['events']): Pick<Payment, 'status' | 'late'> {
  let derived: Pick<Payment, 'status' | 'late'> = { status: 'pending', late: false }
  for (const { type } of events) {
    if (type === 'payment.cancelled') derived = { ...derived, status: 'cancelled' }
    if (type === 'payment.expired') derived = { ...derived, status: 'expired' }
    if (type === 'payment.successful') derived = { status: 'successful', late: derived.status !== 'pending' }
  }
  return derived
}

function sum(rows: { amount: number }[]): number {
  return rows.reduce((total, { amount }) => total + amount, 0)
}
