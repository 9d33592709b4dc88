import assert from 'node:assert/strict'
import type { EventType } from '../events/event.ts'
import type { AttemptId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { type Payment, refuseFinished } from '../payments/payment.ts'
import type { Failure, Outcome, Receipt } from '../providers/provider.ts'
import { type Attempt, MAX_ATTEMPTS } from './attempt.ts'
import { nextCheck, watchAnew } from './watch.ts'

/**
 * A payment with all its attempts, and every decision about them, as functions of what is known. Nothing here asks a database or
 * a provider: whoever does holds the lock, and writes what comes out of these.
 */
export interface Book {
  payment: Payment
  attempts: Attempt[]
}

/** Something that became true. Each raises the payment's sequence by one and is recorded as an event. */
export interface Fact {
  type: EventType
  attemptId: AttemptId | null
  /** What the event says beside the payment and the attempt. */
  more?: Record<string, unknown>
}

export interface Decision {
  book: Book
  facts: Fact[]
  /** Money beyond the payment, to be sent back where the provider can. `transactionIds` is null for all that the attempt has. */
  surplus: { attemptId: AttemptId; amount: number; transactionIds: string[] | null }[]
  /** Whether the fresh receipts in the payment's currency count towards it. */
  counted: boolean
}

/** How an outcome reached us. Only what the customer or the provider set off can make an unused attempt `processing`. */
export type Source = 'start' | 'charge' | 'notice' | 'return' | 'check'

export interface Proposal {
  attemptId: AttemptId
  outcome: Outcome
  /** Receipts of this outcome that were never recorded before. */
  fresh: Receipt[]
  source: Source
  /** What the notice claims that made us ask, if it was one. */
  noticeSays?: 'paid' | 'failed'
  now: Date
}

/** Before a provider is called. The attempt starts as `processing`: if we die before the answer, that is what it is. */
export function begin(book: Book, attempt: Attempt): Decision {
  const { reference, expiresAt } = book.payment
  refuseFinished(book.payment)
  if (expiresAt <= attempt.createdAt) {
    // Nobody has noted its end yet; but a link that is made now would be dead from its first moment.
    throw new Problem('payment_expired', `Payment ${reference} expired at ${expiresAt.toISOString()}.`)
  }
  refuseUnderWay(book)
  if (book.attempts.length >= MAX_ATTEMPTS) {
    throw new Problem('too_many_attempts', `This payment has had ${MAX_ATTEMPTS} tries. Make a new one.`)
  }
  assert.equal(attempt.status, 'processing')
  assert.equal(attempt.number, book.attempts.length + 1)
  const begun = { ...attempt, watch: { ...attempt.watch, nextCheckAt: dateOf(nextCheck(attempt, attempt.createdAt)) } }
  const attempts = [...book.attempts, begun]
  return decided({ ...book, attempts }, [{ type: 'attempt.started', attemptId: attempt.id }])
}

/** Merchant or customer gives the payment up. Not while money may be on its way. */
export function cancel(book: Book, now: Date): Decision {
  refuseFinished(book.payment)
  refuseUnderWay(book)
  return end(book, 'cancelled', now)
}

/** Its time is over. What is still on its way makes it successful later, and `late`. */
export function expire(book: Book, now: Date): Decision {
  refuseFinished(book.payment)
  return end(book, 'expired', now)
}

function end(book: Book, status: 'cancelled' | 'expired', now: Date): Decision {
  const { attempts, facts } = abandonOthers(book.attempts, undefined, now)
  const payment: Payment = { ...book.payment, status, completedAt: now }
  return decided({ payment, attempts }, [...facts, { type: `payment.${status}`, attemptId: null }])
}

function refuseUnderWay({ attempts }: Book): void {
  const underWay = attempts.find(({ status }) => status === 'processing')
  if (!underWay) return
  throw new Problem(
    'attempt_in_progress',
    `Attempt ${underWay.reference} is being processed, and its outcome is not known yet. Wait for it: paying again now could charge the customer twice.`,
    { extra: { attempt: underWay.reference }, retryAfterSeconds: 10 },
  )
}

/** The provider has it, and this is what the customer needs. Whatever a notice has told us meanwhile stands. */
export function issue(book: Book, attemptId: AttemptId, issued: Issued, now: Date): Decision {
  const before = book.attempts.find(({ id }) => id === attemptId)
  assert(before, `attempt ${attemptId} is not of this payment`)
  const status = before.status === 'processing' && !before.saidPaid ? waitingIn(book) : before.status
  const after: Attempt = {
    ...before,
    ...issued,
    status,
    resolvedAt: status === 'abandoned' ? now : before.resolvedAt,
    watch: watchAnew(now),
  }
  return decided(replace(book, watched(after, before, now)), changeOf(before, after))
}

export type Issued = Pick<Attempt, 'instructions' | 'instructionsExpireAt' | 'providerReference'>

/** It is the customer's turn again, unless the payment ended meanwhile. */
function waitingIn({ payment }: Book): 'pending' | 'abandoned' {
  return payment.status === 'pending' ? 'pending' : 'abandoned'
}

/**
 * A notice that says "failed" while the provider's own answer says "paid": one of them is old. Nothing is decided on that; the next
 * answer alone will be.
 */
export function disagree(noticeSays: Proposal['noticeSays'], outcome: Outcome): boolean {
  return noticeSays === 'failed' && outcome.kind === 'paid'
}

const FOREIGN = 'amount_mismatch: money came in another currency.'

/** One proposal, one decision. Money comes first: whatever else is said, what arrived is counted once and never dropped. */
export function settle(book: Book, proposal: Proposal): Decision {
  const before = book.attempts.find(({ id }) => id === proposal.attemptId)
  assert(before, `attempt ${proposal.attemptId} is not of this payment`)
  const ours = proposal.fresh.filter(({ amount }) => amount.currency === before.currency)
  const arrived = ours.reduce((sum, { amount }) => sum + amount.amount, 0)
  const attempt: Attempt = {
    ...before,
    amountReceived: before.amountReceived + arrived,
    watch: { ...before.watch, checks: before.watch.checks + (proposal.source === 'check' ? 1 : 0) },
  }

  const isForeign = ours.length < proposal.fresh.length
  if (book.payment.status === 'successful') {
    const noted = isForeign ? { ...attempt, needsReview: FOREIGN } : attempt
    return arrived > 0
      ? takeSurplus(book, before, noted, ours, proposal.now)
      : concludeLoser(book, before, noted, proposal)
  }
  if (isForeign) return mismatch(book, before, attempt, FOREIGN, proposal.now)
  if (isEnough(attempt, proposal.outcome)) return succeed(book, attempt, proposal.now)
  if (attempt.channel === 'card' && arrived > 0) {
    return mismatch(
      book,
      before,
      attempt,
      `amount_mismatch: ${attempt.amountReceived} was charged in place of ${attempt.amountCharged}.`,
      proposal.now,
    )
  }
  if (arrived > 0) return underpaid(book, before, attempt, proposal.now)
  return concludeUnpaid(book, before, attempt, proposal)
}

/** A card is paid when the provider says so; an account when what arrived adds up, whatever the provider calls that. */
function isEnough(attempt: Attempt, outcome: Outcome): boolean {
  const said = attempt.channel === 'card' ? outcome.kind === 'paid' : attempt.amountReceived > 0
  return said && attempt.amountReceived >= attempt.amountCharged
}

function succeed(book: Book, paid: Attempt, now: Date): Decision {
  const attempt: Attempt = {
    ...paid,
    status: 'successful',
    failure: null,
    saidPaid: false,
    needsReview: null,
    resolvedAt: now,
  }
  const payment: Payment = {
    ...book.payment,
    status: 'successful',
    late: book.payment.status !== 'pending',
    amountPaid: attempt.amountReceived,
    completedAt: now,
  }
  const others = abandonOthers(book.attempts, attempt.id, now)
  const excess = attempt.amountReceived - attempt.amountCharged
  // Parts that came through another attempt are not needed any more; they must not be forgotten either.
  const stranded = others.attempts.filter((other) => other.id !== attempt.id && other.amountReceived > 0)
  const facts: Fact[] = [
    { type: 'attempt.successful', attemptId: attempt.id },
    { type: 'payment.successful', attemptId: attempt.id },
    ...(excess > 0
      ? [
          {
            type: 'payment.overpaid' as const,
            attemptId: attempt.id,
            more: { excess: { amount: excess, currency: attempt.currency } },
          },
        ]
      : []),
    ...others.facts,
    ...stranded.map((other) => surplusFact(other, other.amountReceived)),
  ]
  const attempts = others.attempts.map((other) => (other.id === attempt.id ? watched(attempt, paid, now) : other))
  const surplus = stranded.map(({ id, amountReceived }) => ({
    attemptId: id,
    amount: amountReceived,
    transactionIds: null,
  }))
  return { ...decided({ payment, attempts }, facts), counted: true, surplus }
}

/** The payment is paid already: kept on its attempt, announced, sent back; never counted. */
function takeSurplus(book: Book, before: Attempt, attempt: Attempt, fresh: Receipt[], now: Date): Decision {
  const amount = attempt.amountReceived - before.amountReceived
  // A card is charged once, so whatever it took is all that will come; an account number may yet get the rest.
  const isWhole = attempt.channel === 'card' || attempt.amountReceived >= attempt.amountCharged
  const isSecondSuccess = before.status !== 'successful' && isWhole
  const after: Attempt =
    isSecondSuccess && before.status !== 'surplus' ? { ...attempt, status: 'surplus', resolvedAt: now } : attempt
  const facts: Fact[] = [
    ...(after.status !== before.status ? [{ type: 'attempt.surplus' as const, attemptId: after.id }] : []),
    surplusFact(after, amount),
  ]
  return {
    ...decided(replace(book, watched(after, before, now)), facts),
    surplus: [{ attemptId: after.id, amount, transactionIds: fresh.map(({ transactionId }) => transactionId) }],
  }
}

function surplusFact(attempt: Attempt, amount: number): Fact {
  return { type: 'payment.surplus', attemptId: attempt.id, more: { surplus: { amount, currency: attempt.currency } } }
}

/** Not what was asked for, and not something to settle by ourselves. The money stays on record; a person decides. */
function mismatch(book: Book, before: Attempt, attempt: Attempt, why: string, now: Date): Decision {
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
  const payment = {
    ...book.payment,
    amountPaid: book.payment.amountPaid + attempt.amountReceived - before.amountReceived,
  }
  const facts: Fact[] = [
    ...(before.failure?.code === 'amount_mismatch' ? [] : [{ type: 'attempt.failed' as const, attemptId: after.id }]),
    { type: 'attempt.needs_review', attemptId: after.id },
  ]
  return { ...decided(replace({ ...book, payment }, watched(after, before, now)), facts), counted: true }
}

/** Less than asked for: shown as missing, and waited for. */
function underpaid(book: Book, before: Attempt, attempt: Attempt, now: Date): Decision {
  const payment = {
    ...book.payment,
    amountPaid: book.payment.amountPaid + attempt.amountReceived - before.amountReceived,
  }
  const missing = attempt.amountCharged - attempt.amountReceived
  const status = attempt.status === 'processing' ? waitingIn(book) : attempt.status
  const resolvedAt = status === 'abandoned' ? (attempt.resolvedAt ?? now) : attempt.resolvedAt
  const after: Attempt = { ...attempt, status, resolvedAt, saidPaid: false, watch: watchAnew(now) }
  const facts: Fact[] = [
    ...changeOf(before, after),
    {
      type: 'payment.underpaid',
      attemptId: after.id,
      more: { missing: { amount: missing, currency: attempt.currency } },
    },
  ]
  return { ...decided(replace({ ...book, payment }, watched(after, before, now)), facts), counted: true }
}

/** No money now, and the payment is not paid: what becomes of the attempt? */
function concludeUnpaid(book: Book, before: Attempt, attempt: Attempt, proposal: Proposal): Decision {
  const { outcome, now } = proposal
  const saidPaid = attempt.saidPaid || proposal.noticeSays === 'paid'
  const known = { ...attempt, saidPaid }
  const after = conclude(book, known, outcome, proposal)
  const facts = changeOf(before, after)
  const next = watched(after, before, now)
  if (next.needsReview && !before.needsReview) facts.push({ type: 'attempt.needs_review', attemptId: after.id })
  return decided(replace(book, next), facts)
}

/** The payment was paid another way. This attempt may still end; it changes nothing else. */
function concludeLoser(book: Book, before: Attempt, attempt: Attempt, proposal: Proposal): Decision {
  if (before.status === 'successful' || before.status === 'surplus') {
    const facts: Fact[] =
      attempt.needsReview && !before.needsReview ? [{ type: 'attempt.needs_review', attemptId: attempt.id }] : []
    return decided(replace(book, watched(attempt, before, proposal.now)), facts)
  }
  return concludeUnpaid(book, before, attempt, proposal)
}

function conclude(book: Book, attempt: Attempt, outcome: Outcome, { source, noticeSays, now }: Proposal): Attempt {
  const { status, watch } = attempt
  const isOpen = status === 'pending' || status === 'processing'
  // Its money is on record and a person decides about it. A late word of the provider adds nothing, and must not open it again.
  if (attempt.failure?.code === 'amount_mismatch') return attempt
  if (noticeSays === 'paid') return doubt(attempt, now)
  const seen = { ...attempt, watch: { ...watch, missingInARow: 0 } }
  switch (outcome.kind) {
    case 'paid': // without a receipt that says so: they contradict themselves
    case 'unknown':
      // A customer who has not begun is not made to wait because the provider did not answer a question of ours.
      return status === 'pending' && source !== 'check' ? doubt(attempt, now) : attempt
    case 'processing':
      return status === 'processing' ? seen : doubt(seen, now)
    case 'pending': {
      if (status !== 'processing' || attempt.saidPaid) return seen
      const waiting = waitingIn(book)
      return { ...seen, status: waiting, resolvedAt: waiting === 'abandoned' ? now : null, watch: watchAnew(now) }
    }
    case 'missing':
      return conclude404(attempt, now)
    case 'declined': {
      if (attempt.saidPaid) return isOpen ? { ...seen, status: 'processing' } : seen
      const isNewTry = status === 'failed' && outcome.tryId !== null && outcome.tryId !== attempt.failedTryId
      if (!isOpen && !isNewTry) return seen
      return { ...seen, status: 'failed', failure: outcome.failure, failedTryId: outcome.tryId, resolvedAt: now }
    }
  }
}

/** Money may be moving: no other try, no verdict, and a close look from now on. One that was given up stays given up, and is watched. */
function doubt(attempt: Attempt, now: Date): Attempt {
  const watch = watchAnew(now)
  if (attempt.status === 'processing') return attempt
  if (attempt.status !== 'pending' && attempt.status !== 'failed') return { ...attempt, watch }
  return { ...attempt, status: 'processing', failure: null, resolvedAt: null, watch }
}

const MAY_NOT_BE_VISIBLE_YET_MS = 10 * 60_000

/** "No such order" proves nothing at first, and little once. A link that nobody used is unknown to some providers for good. */
function conclude404(attempt: Attempt, now: Date): Attempt {
  const age = now.getTime() - attempt.createdAt.getTime()
  const missingInARow = age < MAY_NOT_BE_VISIBLE_YET_MS ? 0 : attempt.watch.missingInARow + 1
  const seen = { ...attempt, watch: { ...attempt.watch, missingInARow } }
  if (attempt.status !== 'processing' || attempt.saidPaid || missingInARow < 2) return seen
  const failure: Failure = {
    code: 'provider_unavailable',
    message: 'The payment could not be started. Nothing was charged.',
    providerCode: null,
  }
  return { ...seen, status: 'failed', failure, failedTryId: null, resolvedAt: now }
}

function changeOf(before: Attempt, after: Attempt): Fact[] {
  if (after.status === before.status && after.failedTryId === before.failedTryId) return []
  return [{ type: `attempt.${after.status}`, attemptId: after.id } as Fact]
}

/** With the time of its next check; when there is none left and the outcome is still unknown, a person has to look. */
function watched(attempt: Attempt, before: Attempt, now: Date): Attempt {
  const since = attempt.status === before.status ? attempt.watch.since : now
  const fresh = { ...attempt, watch: { ...attempt.watch, since } }
  const next = nextCheck(fresh, now)
  const needsReview =
    next === 'exhausted' && !attempt.needsReview
      ? 'outcome_unknown: the provider never gave a clear answer.'
      : attempt.needsReview
  return { ...fresh, needsReview, watch: { ...fresh.watch, nextCheckAt: dateOf(next) } }
}

function dateOf(next: Date | 'exhausted' | null): Date | null {
  return next instanceof Date ? next : null
}

function abandonOthers(
  attempts: Attempt[],
  kept: AttemptId | undefined,
  now: Date,
): { attempts: Attempt[]; facts: Fact[] } {
  const facts: Fact[] = []
  const after = attempts.map((attempt) => {
    // One that is being processed stays so: its outcome is unknown, and giving it a name would be a guess.
    if (attempt.id === kept || attempt.status !== 'pending') return attempt
    facts.push({ type: 'attempt.abandoned', attemptId: attempt.id })
    return watched({ ...attempt, status: 'abandoned', resolvedAt: now }, attempt, now)
  })
  return { attempts: after, facts }
}

function replace(book: Book, attempt: Attempt): Book {
  return { ...book, attempts: book.attempts.map((other) => (other.id === attempt.id ? attempt : other)) }
}

/** Facts that need no decision: what became of a refund. */
export function factsAbout(book: Book, facts: Fact[]): Decision {
  return decided(book, facts)
}

function decided(book: Book, facts: Fact[]): Decision {
  const payment = { ...book.payment, sequence: book.payment.sequence + facts.length }
  return { book: { ...book, payment }, facts, surplus: [], counted: false }
}
