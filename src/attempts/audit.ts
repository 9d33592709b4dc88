import type { EventType } from '../events/event.ts'
import type { Payment } from '../payments/payment.ts'
import type { AttemptStatus } from './attempt.ts'
import type { Book } from './book.ts'

/** Everything on record about a payment, to be derived again from its beginning. */
export interface Records {
  book: Book
  events: { type: EventType; sequence: number; attemptReference: string | null }[]
  receipts: { attemptId: string; amount: number; currency: string; counted: boolean }[]
  refunds: { counted: boolean; status: string; amount: number }[]
}

/** What the books say that their own events, receipts and refunds do not. Empty when all is well. */
export function audit({ book, events, receipts, refunds }: Records): string[] {
  const { payment, attempts } = book
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
  }
  compare('amountPaid', payment.amountPaid, sum(receipts.filter(({ counted }) => counted)))
  const back = refunds.filter(({ counted, status }) => counted && status === 'successful')
  compare('amountRefunded', payment.amountRefunded, sum(back))
  return found
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
