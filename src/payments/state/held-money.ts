import { formatMoney } from '../../kernel/money.ts'
import type { Attempt } from './attempt.ts'
import { BOOKS, type Case, type CaseReason, HELD, isOpenCase, raise, settleCases } from './case.ts'
import type { PaymentState } from './payment-state.ts'
import { beyondDue } from './reversed-money.ts'

/** A case for the money that each attempt of an ended payment holds and that was not due, until it is returned. */
export function withHeldMoney(state: PaymentState, now: Date): PaymentState {
  if (state.payment.status === 'pending') return state
  return state.attempts.reduce((all, attempt) => withHeldBy(all, attempt, now), state)
}

/** Whether the case is about money that the attempt holds. */
export function isHeldBy({ subject, reason }: Case, { id }: Attempt): boolean {
  return subject.id === id && (reason === 'surplus' || reason === 'underpaid')
}

function withHeldBy(state: PaymentState, attempt: Attempt, now: Date): PaymentState {
  const amount = beyondDue(state, attempt)
  const reason: CaseReason = state.payment.status === 'successful' ? 'surplus' : 'underpaid'
  const isOwn = (each: Case) => isHeldBy(each, attempt)
  const settled = settleCases(state, attempt.id, now, (open) => isOwn(open) && (amount === 0 || open.reason !== reason))
  if (amount === 0) return settled
  const known = settled.cases.filter((each) => isOwn(each) && each.reason === reason && each.closedBy !== BOOKS)
  const open = known.find(isOpenCase)
  // What a person closed with a note stays as it is, until the amount changes.
  if (open ? open.amount === amount || !open.summary.startsWith(HELD) : known.some((each) => each.amount === amount))
    return settled
  const why = `${HELD}${whatIsHeld(state, attempt, amount)}`
  return raise(settled, attempt, why, { now, amount, reason, isNew: true, replaces: true })
}

function whatIsHeld({ payment }: PaymentState, { status, amountCharged, currency }: Attempt, amount: number): string {
  const held = formatMoney({ amount, currency })
  if (status === 'successful') return `${held} more came in than was due.`
  if (payment.status === 'successful') return `${held} came in, and the payment was paid by another attempt.`
  return `${held} of ${formatMoney({ amount: amountCharged, currency })} came in, and the payment is ${payment.status}.`
}
