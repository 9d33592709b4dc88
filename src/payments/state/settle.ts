import assert from 'node:assert/strict'
import type { EventType } from '../../events/event.ts'
import type { AttemptId } from '../../kernel/ids.ts'
import type { Failure, Outcome, Receipt } from '../../providers/provider.ts'
import { type Attempt, isUnstarted } from './attempt.ts'
import { restartSchedule, UNSTARTED_UNTIL } from './check-schedule.ts'
import type { Payment } from './payment.ts'
import {
  abandonOthers,
  type Change,
  type Decision,
  decide,
  type PaymentState,
  replace,
  statusChange,
  waitingIn,
  withNextCheck,
} from './payment-state.ts'
import { isReversed, returnedAtFirstSight, returnedOf, type Totals, totalsOf } from './returned-money.ts'

/** How an outcome reached us. Only what the customer or the provider set off can make an unused attempt `processing`. */
export type Source = 'start' | 'notice' | 'return' | 'check'

export interface OutcomeReport {
  attemptId: AttemptId
  outcome: Outcome
  /** Receipts of this outcome that were never recorded before. */
  fresh: Receipt[]
  source: Source
  /** What the notice claims that made us ask, if it was one. */
  noticeClaim?: 'paid' | 'failed' | undefined
  /** How the attempt stood when the provider was asked, if it was. */
  asked?: { status: Attempt['status']; since: Date }
  now: Date
}

/**
 * A notice that says "failed" while the provider's own answer says "paid": one of them is old. Nothing is decided on that; the next
 * answer alone will be.
 */
export function disagree(noticeClaim: OutcomeReport['noticeClaim'], outcome: Outcome): boolean {
  return noticeClaim === 'failed' && outcome.kind === 'paid'
}

const FOREIGN = 'amount_mismatch: money came in another currency.'

/** One proposal, one decision. Money comes first: whatever else is said, what arrived is counted once and never dropped. */
export function settle(state: PaymentState, proposal: OutcomeReport): Decision {
  const before = state.attempts.find(({ id }) => id === proposal.attemptId)
  assert(before, `attempt ${proposal.attemptId} is not of this payment`)
  const ours = proposal.fresh.filter(({ amount }) => amount.currency === before.currency)
  const isPaid = state.payment.status === 'successful'
  const totals = totalsOf(ours)
  const attempt = withSignal(withMoney(before, totals, isPaid), proposal)
  const noted = ours.length < proposal.fresh.length ? { ...attempt, needsReview: FOREIGN } : attempt
  const decision = isPaid
    ? settlePaid(state, before, noted, ours, proposal)
    : settleUnpaid(state, before, noted, totals, proposal)
  return { ...decision, returned: returnedAtFirstSight(ours, decision.counted) }
}

const KNOWS_THE_ORDER: ReadonlySet<Outcome['kind']> = new Set(['paid', 'pending', 'processing', 'declined'])

/** Updates what any signal proves by arriving: when the order was last active, and that the provider knows it. Money is settled elsewhere. */
function withSignal(attempt: Attempt, { source, outcome, noticeClaim, now }: OutcomeReport): Attempt {
  const { checks } = attempt
  const isActivity = source === 'return' || source === 'notice'
  return {
    ...attempt,
    knownToProvider: attempt.knownToProvider || KNOWS_THE_ORDER.has(outcome.kind) || noticeClaim !== undefined,
    checks: {
      ...checks,
      count: checks.count + (source === 'check' ? 1 : 0),
      lastActivityAt: isActivity ? now : checks.lastActivityAt,
    },
  }
}

/** The attempt with the new money, and with what had gone back of it before we saw it. */
function withMoney(attempt: Attempt, { received, returned, reversed }: Totals, isPaid: boolean): Attempt {
  return {
    ...attempt,
    amountReceived: attempt.amountReceived + received,
    amountReturned: attempt.amountReturned + returned,
    amountReversed: attempt.amountReversed + reversed,
    // Money beyond a paid payment never counts, and neither do its refunds.
    amountRefunded: attempt.amountRefunded + (isPaid ? 0 : returned - reversed),
  }
}

function settlePaid(
  state: PaymentState,
  before: Attempt,
  attempt: Attempt,
  ours: Receipt[],
  proposal: OutcomeReport,
): Decision {
  const { received, returned } = totalsOf(ours)
  if (received > returned) return takeSurplus(state, before, attempt, ours, proposal.now)
  return received > 0 ? reversed(state, before, attempt, proposal.now) : concludeLoser(state, before, attempt, proposal)
}

function settleUnpaid(
  state: PaymentState,
  before: Attempt,
  attempt: Attempt,
  { received, returned }: Totals,
  proposal: OutcomeReport,
): Decision {
  const { outcome, now } = proposal
  if (isEnough(attempt, outcome)) return succeed(state, before, attempt, now)
  if (attempt.needsReview === FOREIGN && before.needsReview !== FOREIGN)
    return mismatch(state, before, attempt, FOREIGN, now)
  if (returned > 0 && held(attempt) === 0) return reversed(state, before, attempt, now)
  const partlyReturned =
    returned > 0 ? `reversed: ${returned} was given back at the provider; ${held(attempt)} is left.` : null
  if (attempt.channel === 'card' && received > 0) {
    const wrongAmount = `amount_mismatch: ${attempt.amountReceived} was charged in place of ${attempt.amountCharged}.`
    return mismatch(state, before, attempt, partlyReturned ?? wrongAmount, now)
  }
  if (received > 0) {
    return underpaid(state, before, { ...attempt, needsReview: partlyReturned ?? attempt.needsReview }, now)
  }
  return concludeUnpaid(state, before, attempt, proposal)
}

/** Money that counts towards the payment, as long as no other attempt has paid it. */
function countable({ amountReceived, amountReversed }: Attempt): number {
  return amountReceived - amountReversed
}

/** The payment with what this attempt has brought since. */
function withMoneyOf(payment: Payment, before: Attempt, after: Attempt): Payment {
  return {
    ...payment,
    amountPaid: payment.amountPaid + countable(after) - countable(before),
    amountRefunded: payment.amountRefunded + after.amountRefunded - before.amountRefunded,
  }
}

/** All of the new money had been given back before we saw it. An open attempt has failed; one that has ended keeps its status. */
function reversed(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): Decision {
  const isOpen = before.status === 'pending' || before.status === 'processing'
  const failure: Failure = {
    code: 'reversed',
    message: 'The payment was reversed. The money was given back.',
    providerCode: null,
  }
  const after: Attempt = isOpen
    ? { ...attempt, status: 'failed', failure, resolvedAt: now, noticeSaidPaid: false }
    : attempt
  const changes = [...statusChange(before, after), ...reviewRequested(before, after)]
  return decide(replace(state, withNextCheck(after, before, now)), changes)
}

/** What is still there of what came in. */
function held({ amountReceived, amountReturned }: Attempt): number {
  return amountReceived - amountReturned
}

/** A card is paid when the provider says so; an account when what arrived adds up, whatever the provider calls that. */
function isEnough(attempt: Attempt, outcome: Outcome): boolean {
  const said = attempt.channel === 'card' ? outcome.kind === 'paid' : attempt.amountReceived > 0
  return said && held(attempt) >= attempt.amountCharged
}

function succeed(state: PaymentState, before: Attempt, paid: Attempt, now: Date): Decision {
  const attempt: Attempt = {
    ...paid,
    status: 'successful',
    failure: null,
    noticeSaidPaid: false,
    // What nobody knew is known now. Money in another currency is still for a person to see to.
    needsReview: paid.needsReview === FOREIGN ? FOREIGN : null,
    resolvedAt: now,
  }
  const payment: Payment = {
    ...state.payment,
    status: 'successful',
    late: state.payment.status !== 'pending',
    amountPaid: countable(attempt),
    amountRefunded: attempt.amountRefunded,
    completedAt: now,
  }
  const others = abandonOthers(state.attempts, attempt.id, now)
  // Parts that came through another attempt are not needed any more; they must not be forgotten either.
  const stranded = others.attempts.filter((other) => other.id !== attempt.id && other.amountReceived > 0)
  const surplus = stranded
    .filter((other) => held(other) > 0)
    .map((other) => ({ attemptId: other.id, amount: held(other), receipt: null }))
  const excess = held(attempt) - attempt.amountCharged
  const changes: Change[] = [
    { type: 'attempt.successful', attemptId: attempt.id },
    { type: 'payment.successful', attemptId: attempt.id },
    ...(excess > 0 ? [moneyChange('payment.overpaid', attempt, 'excess', excess)] : []),
    ...reviewRequested(before, attempt),
    ...others.changes,
    ...stranded
      .filter((other) => held(other) > 0)
      .map((other) => moneyChange('payment.surplus', other, 'surplus', held(other))),
  ]
  const attempts = others.attempts.map((other) => {
    if (other.id === attempt.id) return withNextCheck(attempt, before, now)
    return stranded.includes(other) ? { ...other, amountReturned: other.amountReceived, amountRefunded: 0 } : other
  })
  const uncounted = stranded.map(({ id }) => id)
  return { ...decide({ payment, attempts }, changes), counted: true, surplus, uncounted }
}

function moneyChange(type: EventType, { id, currency }: Attempt, what: string, amount: number): Change {
  return { type, attemptId: id, more: { [what]: { amount, currency } } }
}

/** A person has to look, and has not been told yet. */
function reviewRequested(before: Attempt, after: Attempt): Change[] {
  const isNew = after.needsReview !== null && after.needsReview !== before.needsReview
  return isNew ? [{ type: 'attempt.needs_review', attemptId: after.id }] : []
}

/** The payment is paid already: kept on its attempt, announced, sent back; never counted. */
function takeSurplus(state: PaymentState, before: Attempt, attempt: Attempt, fresh: Receipt[], now: Date): Decision {
  // What the provider has given back already is not sent back again.
  const amount = held(attempt) - held(before)
  // A card is charged once, so whatever it took is all that will come; an account number may yet get the rest.
  const isWhole = attempt.channel === 'card' || countable(attempt) >= attempt.amountCharged
  const isSecondSuccess = before.status !== 'successful' && isWhole
  const status = isSecondSuccess ? 'surplus' : attempt.status
  const after: Attempt = {
    ...attempt,
    status,
    resolvedAt: status === before.status ? attempt.resolvedAt : now,
    noticeSaidPaid: false,
    amountReturned: attempt.amountReturned + amount,
  }
  const changes: Change[] = [
    ...(after.status !== before.status ? [{ type: 'attempt.surplus' as const, attemptId: after.id }] : []),
    moneyChange('payment.surplus', after, 'surplus', amount),
    ...reviewRequested(before, after),
  ]
  return {
    ...decide(replace(state, withNextCheck(after, before, now)), changes),
    surplus: fresh
      .filter((receipt) => !isReversed(receipt))
      .map((receipt) => ({
        attemptId: after.id,
        amount: receipt.amount.amount - returnedOf(receipt),
        receipt: receipt.transactionId,
      })),
  }
}

/** Not what was asked for, and not something to settle by ourselves. The money stays on record; a person decides. */
function mismatch(state: PaymentState, before: Attempt, attempt: Attempt, why: string, now: Date): Decision {
  const failure: Failure = {
    code: 'amount_mismatch',
    message: 'The amount that was paid is not the amount that was asked for. The shop has been told.',
    providerCode: null,
  }
  const after: Attempt = {
    ...attempt,
    status: 'failed',
    failure,
    needsReview: why,
    resolvedAt: now,
  }
  const payment = withMoneyOf(state.payment, before, attempt)
  const changes: Change[] = [
    ...(before.failure?.code === 'amount_mismatch' ? [] : [{ type: 'attempt.failed' as const, attemptId: after.id }]),
    ...reviewRequested(before, after),
  ]
  return { ...decide(replace({ ...state, payment }, withNextCheck(after, before, now)), changes), counted: true }
}

/** Less than asked for: shown as missing, and waited for. */
function underpaid(state: PaymentState, before: Attempt, attempt: Attempt, now: Date): Decision {
  const payment = withMoneyOf(state.payment, before, attempt)
  const missing = attempt.amountCharged - held(attempt)
  const status = attempt.status === 'processing' ? waitingIn(state) : attempt.status
  const resolvedAt = status === 'abandoned' ? (attempt.resolvedAt ?? now) : attempt.resolvedAt
  const after: Attempt = { ...attempt, status, resolvedAt, noticeSaidPaid: false, checks: restartSchedule(now) }
  const changes: Change[] = [
    ...statusChange(before, after),
    ...(held(after) > held(before) ? [moneyChange('payment.underpaid', after, 'missing', missing)] : []),
    ...reviewRequested(before, after),
  ]
  return { ...decide(replace({ ...state, payment }, withNextCheck(after, before, now)), changes), counted: true }
}

/** No money now, and the payment is not paid: what becomes of the attempt? */
function concludeUnpaid(state: PaymentState, before: Attempt, attempt: Attempt, proposal: OutcomeReport): Decision {
  const { outcome, noticeClaim, now } = proposal
  const isOnRecord = isPaidOnRecord(attempt, outcome)
  const noticeSaidPaid = !isOnRecord && (attempt.noticeSaidPaid || noticeClaim === 'paid')
  const known = { ...attempt, noticeSaidPaid }
  const after = isOnRecord
    ? conclude(state, known, { kind: 'pending', receipts: [] }, { ...proposal, noticeClaim: undefined })
    : conclude(state, known, outcome, proposal)
  const next = withNextCheck(after, before, now)
  return decide(replace(state, next), [...statusChange(before, after), ...reviewRequested(before, next)])
}

/** The provider counts as paid what is on record here, with what has gone back of it: no contradiction, and not enough is held. */
function isPaidOnRecord({ amountReturned }: Attempt, outcome: Outcome): boolean {
  return outcome.kind === 'paid' && outcome.receipts.length > 0 && amountReturned > 0
}

/** The payment was paid another way. This attempt may still end; it changes nothing else. */
function concludeLoser(state: PaymentState, before: Attempt, attempt: Attempt, proposal: OutcomeReport): Decision {
  if (before.status === 'successful' || before.status === 'surplus') {
    return decide(replace(state, withNextCheck(attempt, before, proposal.now)), reviewRequested(before, attempt))
  }
  return concludeUnpaid(state, before, attempt, proposal)
}

function conclude(
  state: PaymentState,
  attempt: Attempt,
  outcome: Outcome,
  { source, noticeClaim, asked, now }: OutcomeReport,
): Attempt {
  const { status, checks } = attempt
  const isOpen = status === 'pending' || status === 'processing'
  // It went on while we asked: what was true before that is old news, and the next question is soon.
  if (asked && (asked.status !== status || asked.since.getTime() !== checks.since.getTime())) return attempt
  // Its money is on record and a person decides about it, or has gone back. A late word of the provider adds nothing, and must not open it again.
  if (attempt.failure?.code === 'amount_mismatch' || isReversedAttempt(attempt)) return attempt
  if (noticeClaim === 'paid') return doubt(attempt, now)
  const seen = { ...attempt, checks: { ...checks, missingInARow: 0 } }
  switch (outcome.kind) {
    case 'paid': // without a receipt that says so: they contradict themselves
    case 'unknown':
      // A customer who has not begun is not made to wait because the provider did not answer a question of ours.
      return status === 'pending' && source !== 'check' ? doubt(attempt, now) : attempt
    case 'processing':
      return status === 'processing' ? seen : doubt(seen, now)
    case 'pending': {
      if (status !== 'processing' || attempt.noticeSaidPaid || isBeingCharged(attempt, now)) return seen
      const waiting = waitingIn(state)
      return {
        ...seen,
        status: waiting,
        resolvedAt: waiting === 'abandoned' ? now : null,
        checks: restartSchedule(now),
      }
    }
    case 'missing':
      return concludeMissing(attempt, now)
    case 'declined': {
      if (attempt.noticeSaidPaid) return isOpen ? { ...seen, status: 'processing' } : seen
      const isNewTry = status === 'failed' && outcome.tryId !== null && outcome.tryId !== attempt.failedTryId
      if (!isOpen && !isNewTry) return seen
      return { ...seen, status: 'failed', failure: outcome.failure, failedTryId: outcome.tryId, resolvedAt: now }
    }
  }
}

function isReversedAttempt({ status, failure, amountReversed }: Attempt): boolean {
  return status === 'failed' && failure?.code === 'reversed' && amountReversed > 0
}

const CHARGE_TAKES_AT_MOST_MS = 10 * 60_000

/** The customer was given nothing to do, so "not yet" means that the bank is at it, or that our own call is still out: another try could charge twice. */
function isBeingCharged({ chargedAtOnce, instructions, askedAt }: Attempt, now: Date): boolean {
  return chargedAtOnce && instructions === null && now.getTime() - askedAt.getTime() < CHARGE_TAKES_AT_MOST_MS
}

/** Money may be moving: no other try, no verdict, and a close look from now on. One that was given up stays given up, and is watched. */
function doubt(attempt: Attempt, now: Date): Attempt {
  const checks = restartSchedule(now)
  if (attempt.status === 'processing') return attempt
  if (attempt.status !== 'pending' && attempt.status !== 'failed') return { ...attempt, checks }
  return { ...attempt, status: 'processing', failure: null, resolvedAt: null, checks }
}

const MAY_NOT_BE_VISIBLE_YET_MS = 10 * 60_000

/** "No such order" proves nothing at first, and little once. A link that nobody used is unknown to some providers for good. */
function concludeMissing(attempt: Attempt, now: Date): Attempt {
  const age = now.getTime() - attempt.checks.since.getTime()
  // An order that was never handed out fails sooner: every answer said "missing", there were at least two, and 60 s have passed.
  const isSoon = isUnstarted(attempt)
  const missingInARow = isSoon || age >= MAY_NOT_BE_VISIBLE_YET_MS ? attempt.checks.missingInARow + 1 : 0
  const seen = { ...attempt, checks: { ...attempt.checks, missingInARow } }
  if (attempt.status !== 'processing' || attempt.noticeSaidPaid || missingInARow < 2) return seen
  if (isSoon && age < UNSTARTED_UNTIL) return seen
  const failure: Failure = {
    code: 'provider_unavailable',
    message: 'The payment could not be started. Nothing was charged.',
    providerCode: null,
  }
  return { ...seen, status: 'failed', failure, failedTryId: null, resolvedAt: now }
}
