import type { AttemptStatus } from './attempt.ts'
import { auditMoney } from './audit-money.ts'
import { auditSchedules } from './audit-schedules.ts'
import { COMPARE, compareWith, type Records, SET_BACK } from './audited-records.ts'
import type { Payment } from './payment.ts'

export type { Records } from './audited-records.ts'

/**
 * Compares the stored state of a payment with the state derived from its events, receipts, refunds and disputes.
 * Returns the differences, each with what to do.
 */
export function audit(records: Records, now = new Date()): string[] {
  return [
    ...auditHistory(records),
    ...auditMoney(records),
    ...auditDisputes(records),
    ...auditSchedules(records, latest(now, records)),
  ]
}

/** A simulated clock may be ahead of ours. */
function latest(now: Date, { events }: Records): Date {
  return new Date(Math.max(now.getTime(), ...events.map(({ at }) => at.getTime())))
}

function auditHistory({ state: { payment, attempts }, events }: Records): string[] {
  const found: string[] = []
  const compare = compareWith(found, SET_BACK)
  compare('sequence', payment.sequence, events.length)
  if (events.some(({ sequence }, index) => sequence !== index + 1))
    found.push('the events have a gap in their sequence: restore the missing ones from a backup')
  const strange = events.find(({ merchantId, mode }) => merchantId !== payment.merchantId || mode !== payment.mode)
  if (strange)
    found.push(
      `it is of ${payment.merchantId} ${payment.mode}, its events are of ${strange.merchantId} ${strange.mode}: ${SET_BACK}`,
    )

  const derived = deriveStatus(events)
  compare('status', payment.status, derived.status)
  compare('late', payment.late, derived.late)
  compare('completedAt is set', payment.completedAt !== null, payment.status !== 'pending')
  const successes = events.filter(({ type }) => type === 'payment.successful').length
  if (successes > 1) found.push(`it succeeded ${successes} times: ${COMPARE}`)
  const winners = attempts.filter(({ status }) => status === 'successful').length
  compare('the number of successful attempts', winners, payment.status === 'successful' ? 1 : 0)
  for (const { reference, status, resolvedAt } of attempts) {
    const own = events.filter(({ attemptReference, type }) => attemptReference === reference && STATUS_OF[type])
    compare(`the status of attempt ${reference}`, status, STATUS_OF[own.at(-1)?.type ?? ''])
    if (status !== 'pending' && status !== 'processing' && resolvedAt === null)
      found.push(`attempt ${reference} is ${status} and has no resolved_at: ${SET_BACK}`)
  }
  return found
}

/** A dispute's status must match its events, and exactly one refund must count the money of a lost one. */
function auditDisputes({ state, events, refunds, disputes }: Records): string[] {
  const found: string[] = []
  const compare = compareWith(found, SET_BACK)
  for (const { id, attemptId, status, amount, currency, refundId } of disputes) {
    const told = events.filter(({ dispute }) => dispute?.id === id)
    const last = told.at(-1)?.dispute
    compare(
      `the status of dispute ${id}`,
      status,
      DISPUTE_STATUS_OF[told.findLast(({ type }) => type in DISPUTE_STATUS_OF)?.type ?? ''],
    )
    if (last) compare(`the amount of dispute ${id}`, `${amount} ${currency}`, `${last.amount} ${last.currency}`)
    const counting = refunds.find((refund) => refund.id === refundId && refund.status === 'successful')
    const isReviewed = state.cases.some(({ subject }) => subject.id === attemptId)
    if (status === 'lost' && !counting && !isReviewed)
      found.push(`the money of lost dispute ${id} is counted by no refund: ${COMPARE}`)
    if (status === 'won' && counting?.kind === 'chargeback')
      found.push(`dispute ${id} is won, and still counted as lost: ${COMPARE}`)
    if (refundId !== null && disputes.some((other) => other.id !== id && other.refundId === refundId))
      found.push(`the refund of dispute ${id} counts for another dispute too: ${COMPARE}`)
  }
  const missing = new Set(
    events.flatMap(({ dispute }) => dispute?.id ?? []).filter((id) => !disputes.some((each) => each.id === id)),
  )
  for (const id of missing)
    found.push(`dispute ${id} is in the events and not on record: restore its row from a backup`)
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
