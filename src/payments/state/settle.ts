import type { EventType } from '../../events/event.ts'
import { formatMoney, money } from '../../kernel/money.ts'
import { failureOf } from '../../providers/failure.ts'
import type { Outcome, Receipt } from '../../providers/provider.ts'
import { type Attempt, comesInParts, isOpen, payableAgain } from './attempt.ts'
import { attemptAfter } from './attempt-after.ts'
import { raise, reasonOf, settleCases } from './case.ts'
import { isLostStart, isOverdue, LOST_START, restartSchedule, UNANSWERED, withNextCheck } from './check-schedule.ts'
import {
  AFTER_LOSS,
  areIdsProviders,
  isAnsweredBySuccess,
  isDenial,
  reviewReasonOf,
  SURPLUS_WITHOUT_IDS,
} from './new-receipt.ts'
import type { OutcomeReport } from './outcome-report.ts'
import type { Payment } from './payment.ts'
import {
  abandonPending,
  attemptIn,
  type Change,
  type Decision,
  decide,
  type PaymentState,
  replaceAttempt,
  statusChange,
  waitingStatus,
} from './payment-state.ts'
import {
  beyondDue,
  countableAmount,
  earlyReversals,
  hasLostMoney,
  heldAmount,
  isReversed,
  reversedAmount,
  type Totals,
  totalsOf,
  withFee,
  withMoney,
} from './reversed-money.ts'

/** A notice that says "failed" while the provider's answer is "paid": one of them is stale, so neither is applied. */
export function contradictsNotice(noticeSays: OutcomeReport['noticeSays'], outcome: Outcome): boolean {
  return noticeSays === 'failed' && outcome.kind === 'paid'
}

/**
 * Applies a provider's outcome to an attempt. Receipts come first: new money is counted once, independent of the
 * outcome.
 */
export function settle(state: PaymentState, report: OutcomeReport): Decision {
  const before = attemptIn(state, report.attemptId)
  const receipts = report.newReceipts.filter(({ amount }) => amount.currency === before.currency)
  const isPaid = state.payment.status === 'successful'
  const totals = totalsOf(receipts)
  const attempt = withSignal(withFee(withMoney(before, totals, isPaid), receipts), report)
  const known = { ...attempt, idsAreProviders: areIdsProviders(before, receipts) }
  const raised = withReviewOfMoney(state, known, report)
  const decision = isPaid
    ? settleAfterSuccess(raised, before, known, receipts, report)
    : settleBeforeSuccess(raised, before, known, totals, report)
  return {
    ...decision,
    state: withRequestedCheck(decision.state, before, report),
    earlyReversals: earlyReversals(receipts, decision.counted),
  }
}

/** A check that was asked for while the provider was answering stays due: this answer may be from before its reason. */
function withRequestedCheck(state: PaymentState, { id, checks }: Attempt, report: OutcomeReport): PaymentState {
  const { source, askedAt, now } = report
  const wanted = checks.nextAt
  if (!askedAt || !wanted || wanted <= askedAt || (source !== 'check' && wanted > now)) return state
  const attempt = attemptIn(state, id)
  const { nextAt } = attempt.checks
  if (nextAt && nextAt <= wanted) return state
  return replaceAttempt(state, { ...attempt, checks: { ...attempt.checks, nextAt: wanted } })
}

/** What a person must know about the new money, or about an answer that contradicts what is on record. */
function withReviewOfMoney(
  state: PaymentState,
  attempt: Attempt,
  { newReceipts, contradiction, isAgreed, now }: OutcomeReport,
): PaymentState {
  const agreed = isAgreed ? settleCases(state, attempt.id, now, isDenial) : state
  // What a person closed is another fact when the provider has agreed since.
  const { answeredAt } = attemptIn(state, attempt.id)
  const isNew = state.cases.some(
    ({ subject, reason, closedAt }) =>
      subject.id === attempt.id && contradiction?.startsWith(reason) && closedAt && answeredAt && closedAt < answeredAt,
  )
  const raised = contradiction ? raise(agreed, attempt, contradiction, { now, isNew }) : agreed
  const why = reviewReasonOf(newReceipts, attempt)
  return why === null ? raised : raise(raised, attempt, why, { now, isNew: true })
}

const PROVES_ORDER_EXISTS: ReadonlySet<Outcome['kind']> = new Set(['paid', 'pending', 'processing', 'declined'])

/** Clear answers. `processing` is none: the provider has not decided. A refused key is none either. */
function isAnswer({ source, outcome }: OutcomeReport): boolean {
  if (source === 'match' || source === 'start') return false
  if (outcome.kind === 'declined') return !outcome.keysRefused
  return outcome.kind !== 'unknown' && outcome.kind !== 'processing'
}

/** Updates what any signal proves: the time of the last activity, and that the provider knows the order. */
function withSignal(attempt: Attempt, report: OutcomeReport): Attempt {
  const { source, outcome, noticeSays, now } = report
  const { checks } = attempt
  const isActivity = source === 'return' || source === 'notice'
  return {
    ...attempt,
    knownToProvider: attempt.knownToProvider || PROVES_ORDER_EXISTS.has(outcome.kind) || noticeSays !== undefined,
    // Matched money can be of another order: then this link was not paid, and the provider still takes a payment by it.
    instructions: source === 'match' ? payableAgain(attempt.instructions) : attempt.instructions,
    answeredAt: isAnswer(report) ? now : attempt.answeredAt,
    checks: {
      ...checks,
      count: checks.count + (source === 'check' ? 1 : 0),
      lastActivityAt: isActivity ? now : checks.lastActivityAt,
    },
  }
}

function settleAfterSuccess(
  state: PaymentState,
  before: Attempt,
  attempt: Attempt,
  receipts: Receipt[],
  report: OutcomeReport,
): Decision {
  const { received, returned } = totalsOf(receipts)
  if (received > returned) return recordSurplus(state, before, attempt, { ...report, newReceipts: receipts })
  if (received > 0) return failAsReversed(state, before, attempt, report.now)
  if (before.status === 'successful' || before.status === 'surplus') {
    return decide(withAttempt(state, before, attempt, report.now), [], report.now)
  }
  return applyOutcome(state, before, attempt, report)
}

function settleBeforeSuccess(
  state: PaymentState,
  before: Attempt,
  attempt: Attempt,
  { received, returned }: Totals,
  report: OutcomeReport,
): Decision {
  const { outcome, contradiction, now } = report
  // An answer that denies recorded money does not pay with it. The money counts, and the next answer may pay.
  const isDenied = contradiction !== undefined && reasonOf(contradiction) === 'contradiction'
  if (!isDenied && isPaidInFull(attempt, outcome)) return succeed(state, before, attempt, now)
  if (report.newReceipts.some((each) => each.amount.currency !== attempt.currency))
    return failAsMismatch(state, before, attempt, now)
  if (returned > 0 && heldAmount(attempt) === 0) return failAsReversed(state, before, attempt, now)
  const named = (amount: number) => formatMoney(money(amount, attempt.currency))
  const partlyReversed =
    returned > 0
      ? `reversed: ${named(returned)} was given back at the provider; ${named(heldAmount(attempt))} is left.`
      : null
  if (!comesInParts(attempt) && received > 0 && !isDenied) {
    const wrongAmount = `amount_mismatch: ${named(attempt.amountReceived)} was charged in place of ${named(attempt.amountCharged)}.`
    const raised = raise(state, attempt, partlyReversed ?? wrongAmount, { now, isNew: true })
    return failAsMismatch(raised, before, attempt, now)
  }
  if (received > 0) {
    const raised = partlyReversed ? raise(state, attempt, partlyReversed, { now, isNew: true }) : state
    return recordUnderpayment(raised, before, attempt, now)
  }
  return applyOutcome(state, before, attempt, report)
}

/** The payment's totals after this attempt has changed. */
function withTotalsOf(payment: Payment, before: Attempt, after: Attempt): Payment {
  return {
    ...payment,
    amountPaid: payment.amountPaid + countableAmount(after) - countableAmount(before),
    amountRefunded: payment.amountRefunded + after.amountRefunded - before.amountRefunded,
  }
}

/**
 * Money in one piece is whole when the provider says so; money in parts when the amounts add up, independent of the
 * status that the provider gives.
 */
function isPaidInFull(attempt: Attempt, outcome: Outcome): boolean {
  const hasMoney = comesInParts(attempt) ? attempt.amountReceived > 0 : outcome.kind === 'paid'
  return hasMoney && heldAmount(attempt) >= attempt.amountCharged
}

function succeed(state: PaymentState, before: Attempt, paid: Attempt, now: Date): Decision {
  const attempt: Attempt = {
    ...paid,
    status: 'successful',
    failure: null,
    noticeSaidPaid: false,
    resolvedAt: now,
  }
  const payment: Payment = {
    ...state.payment,
    status: 'successful',
    late: state.payment.status !== 'pending',
    amountPaid: countableAmount(attempt),
    amountRefunded: attempt.amountRefunded,
    completedAt: now,
  }
  const others = abandonPending(state.attempts, attempt.id, now)
  // Partial payments through other attempts are surplus now and are refunded, unless a person must look at them first.
  const withPartialMoney = others.attempts.filter((other) => other.id !== attempt.id && other.amountReceived > 0)
  const surplus = withPartialMoney.filter((other) => heldAmount(other) > 0)
  const kept = surplus.filter((other) => !(other.idsAreProviders && attempt.idsAreProviders))
  const excess = heldAmount(attempt) - attempt.amountCharged
  const changes: Change[] = [
    { type: 'attempt.successful', attemptId: attempt.id },
    { type: 'payment.successful', attemptId: attempt.id },
    ...(excess > 0 ? [moneyChange('payment.overpaid', attempt, 'excess', excess)] : []),
    ...others.changes,
    ...surplus.map((other) => moneyChange('payment.surplus', other, 'surplus', heldAmount(other))),
  ]
  const attempts = others.attempts.map((other) => {
    if (other.id === attempt.id) return withNextCheck(attempt, before, now)
    if (!withPartialMoney.includes(other)) return other
    return { ...other, ...(!kept.includes(other) && { amountReturned: other.amountReceived }), amountRefunded: 0 }
  })
  const answered = settleCases({ ...state, payment, attempts }, attempt.id, now, isAnsweredBySuccess)
  const raised = kept.reduce((all, other) => raise(all, other, SURPLUS_WITHOUT_IDS, { now, isNew: true }), answered)
  return {
    ...decide(raised, changes, now),
    counted: true,
    surplus: surplus
      .filter((other) => !kept.includes(other))
      .map((other) => ({ attemptId: other.id, amount: heldAmount(other), receipt: null })),
    uncounted: withPartialMoney.map(({ id }) => id),
  }
}

function moneyChange(type: EventType, { id, currency }: Attempt, name: string, amount: number): Change {
  return { type, attemptId: id, data: { [name]: { amount, currency } } }
}

/** The attempt with its next check. A person must look at an outcome that is unknown for too long. */
function withAttempt(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): PaymentState {
  const after = withNextCheck(attempt, before, now)
  const next = replaceAttempt(state, after)
  if (isOverdue(after, now)) return raise(next, after, UNANSWERED, { now })
  const isAnswered = (summary: string) =>
    summary === UNANSWERED || (summary === LOST_START && after.status !== 'processing')
  return settleCases(next, after.id, now, ({ summary }) => isAnswered(summary))
}

/**
 * The payment is successful already: the money is recorded on its attempt, announced and refunded, and never counted. A
 * person must look at money that may be on record already under another id, or that may make up for money that is gone.
 */
function recordSurplus(
  state: PaymentState,
  before: Attempt,
  attempt: Attempt,
  { newReceipts: receipts, refunds = [], now }: OutcomeReport,
): Decision {
  // The provider has reversed a part of it already; only the rest is refunded.
  const amount = heldAmount(attempt) - heldAmount(before)
  // Money in one piece is final; an account number may still receive the rest.
  const isWhole = !comesInParts(attempt) || countableAmount(attempt) >= attempt.amountCharged
  const isSecondSuccess = before.status !== 'successful' && isWhole
  const status = isSecondSuccess ? 'surplus' : attempt.status
  const paying = state.attempts.filter((each) => each.status === 'successful')
  const hasLost = paying.some((each) => hasLostMoney(each, refunds))
  // Both the money that paid the payment and this one must have ids of the provider.
  const isRefunded = [attempt, ...paying].every((each) => each.idsAreProviders) && !hasLost
  const after: Attempt = {
    ...attempt,
    status,
    resolvedAt: status === before.status ? attempt.resolvedAt : now,
    noticeSaidPaid: false,
    amountReturned: attempt.amountReturned + (isRefunded ? amount : 0),
  }
  const changes: Change[] = [
    ...(after.status !== before.status ? [{ type: 'attempt.surplus' as const, attemptId: after.id }] : []),
    moneyChange('payment.surplus', after, 'surplus', amount),
  ]
  // What is not beyond the charge is no surplus: it makes up for what is gone.
  const why = hasLost
    ? `${beyondDue({ payment: state.payment, refunds }, after) > 0 ? 'surplus' : 'review'}: ${AFTER_LOSS}`
    : SURPLUS_WITHOUT_IDS
  const raised = isRefunded ? state : raise(state, after, why, { now, amount, isNew: true })
  return {
    ...decide(withAttempt(raised, before, after, now), changes, now),
    surplus: receipts
      .filter((receipt) => isRefunded && !isReversed(receipt))
      .map((receipt) => ({
        attemptId: after.id,
        amount: receipt.amount.amount - reversedAmount(receipt),
        receipt: receipt.transactionId,
      })),
  }
}

/** All of the new money was reversed before we first saw it. An open attempt fails; an ended one keeps its status. */
function failAsReversed(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): Decision {
  const failure = failureOf('reversed', null)
  const after: Attempt = isOpen(before)
    ? { ...attempt, status: 'failed', failure, resolvedAt: now, noticeSaidPaid: false }
    : attempt
  return decide(withAttempt(state, before, after, now), statusChange(before, after), now)
}

/** The amount or currency is wrong. The money stays on record, and a person decides. */
function failAsMismatch(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): Decision {
  const failure = failureOf('amount_mismatch', null)
  const after: Attempt = { ...attempt, status: 'failed', failure, resolvedAt: now }
  const payment = withTotalsOf(state.payment, before, attempt)
  const changes: Change[] =
    before.failure?.code === 'amount_mismatch' ? [] : [{ type: 'attempt.failed', attemptId: after.id }]
  return { ...decide(withAttempt({ ...state, payment }, before, after, now), changes, now), counted: true }
}

/** Less than the charged amount arrived, or its answer is in doubt. The attempt waits for the rest, or the next answer. */
function recordUnderpayment(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): Decision {
  const payment = withTotalsOf(state.payment, before, attempt)
  const missing = attempt.amountCharged - heldAmount(attempt)
  const status = attempt.status === 'processing' ? waitingStatus(state) : attempt.status
  const resolvedAt = status === 'abandoned' ? (attempt.resolvedAt ?? now) : attempt.resolvedAt
  const after: Attempt = { ...attempt, status, resolvedAt, noticeSaidPaid: false, checks: restartSchedule(now) }
  const changes: Change[] = [
    ...statusChange(before, after),
    ...(missing > 0 && heldAmount(after) > heldAmount(before)
      ? [moneyChange('payment.underpaid', after, 'missing', missing)]
      : []),
  ]
  return { ...decide(withAttempt({ ...state, payment }, before, after, now), changes, now), counted: true }
}

/** An outcome without new money: only the attempt's status can change. */
function applyOutcome(state: PaymentState, before: Attempt, attempt: Attempt, report: OutcomeReport): Decision {
  const { outcome, noticeSays, now } = report
  const isOnRecord = isPaidOnRecord(attempt, outcome)
  const noticeSaidPaid = !isOnRecord && (attempt.noticeSaidPaid || noticeSays === 'paid')
  const known = { ...attempt, noticeSaidPaid }
  const after = isOnRecord
    ? attemptAfter(state, known, { kind: 'pending', receipts: [] }, { ...report, noticeSays: undefined })
    : attemptAfter(state, known, outcome, report)
  const next = withAttempt(state, before, after, now)
  const raised = isLostStart(after, outcome, now) ? raise(next, after, LOST_START, { now }) : next
  return decide(raised, statusChange(before, after), now)
}

/** The provider's "paid" refers to money that is on record and was partly reversed. This is no contradiction. */
function isPaidOnRecord({ amountReturned }: Attempt, outcome: Outcome): boolean {
  return outcome.kind === 'paid' && outcome.receipts.length > 0 && amountReturned > 0
}
