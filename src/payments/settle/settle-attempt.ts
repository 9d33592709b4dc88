import type { Writes } from '../../database/database.ts'
import { newId } from '../../kernel/ids.ts'
import { formatMoney } from '../../kernel/money.ts'
import type { Outcome, Receipt, SavedCard } from '../../providers/provider.ts'
import { askProvider } from '../call-provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import { type PaymentDeps, withReserved } from '../deps.ts'
import { orderHandle } from '../order-handle.ts'
import { type Attempt, comesInParts, isUnasked } from '../state/attempt.ts'
import { contradictionOf, newReceiptsOf, type RecordedMoney, splitSurplus } from '../state/new-receipt.ts'
import { factsOfReading, type Notice } from '../state/notice.ts'
import type { OutcomeReport } from '../state/outcome-report.ts'
import { attemptIn, type Decision, type PaymentState } from '../state/payment-state.ts'
import { isErased } from '../state/personal-data.ts'
import { newRefund, type Refund } from '../state/refund.ts'
import { isReversed } from '../state/reversed-money.ts'
import { contradictsNotice, settle } from '../state/settle.ts'
import { type CallRecord, callRecorded } from '../store/attempts.ts'
import { bodyOfErasedDropped, noticeEnded } from '../store/notices.ts'
import { closeMatched } from '../store/other-cases.ts'
import { findPaymentStateById, type LockedPayment } from '../store/payment-states.ts'
import { nameReceipt, readRecordedMoney, writeReceipt } from '../store/receipts.ts'
import { insertRefund } from '../store/refunds.ts'
import { upsertCard } from '../store/saved-cards.ts'

/** An outcome and how it reached us. */
export type Signal = Pick<OutcomeReport, 'outcome' | 'source' | 'noticeSays' | 'whenAsked'> & {
  /** The receipts in the notice that caused it. */
  noticeReceipts?: Receipt[]
  /** The notice that caused it. It is processed when the outcome is applied, and the money that it names is on record. */
  notice?: Pick<Notice, 'id' | 'receivedAt' | 'reading'>
  /** The provider call that it is the answer to. */
  call?: CallRecord
}

/**
 * Every outcome is applied here: answers to a start, notices, the customer who returns, scheduled checks. The lock of
 * the payment orders signals that arrive at the same time: the second one is decided on what the first one has written.
 */
export async function settleAttempt(unreserved: PaymentDeps, attempt: Attempt, signal: Signal): Promise<PaymentState> {
  const deps = withReserved(unreserved)
  const decision = await changePayment(deps, attempt.paymentId, {
    read: (tx) => readRecordedMoney(tx, attempt, receiptsOf(signal)),
    decide: (before, recorded, tx) => settleLocked({ tx, deps, before, recorded }, attempt, signal),
  })
  return decision.state
}

/** The receipts that a decision about the signal looks up. */
export function receiptsOf({ outcome, noticeReceipts = [] }: Pick<Signal, 'outcome' | 'noticeReceipts'>): Receipt[] {
  return [...('receipts' in outcome ? outcome.receipts : []), ...noticeReceipts]
}

/** A payment under its lock, with what is on record of the signal's receipts. */
export interface Settling {
  tx: Writes
  deps: PaymentDeps
  before: LockedPayment
  recorded: RecordedMoney
}

/** Decides and writes under the lock of the payment. */
export function settleLocked(settling: Settling, attempt: Attempt, signal: Signal): Decision {
  const { tx, deps, before, recorded } = settling
  const plausible = plausibleOutcome(signal)
  const receipts = 'receipts' in plausible ? plausible.receipts : []
  const current = attemptIn(before, attempt.id)
  const onRecord = receiptsIn(before, attempt)
  const contradiction = signal.source === 'match' ? undefined : contradictionOf(onRecord, plausible)
  const found = newReceiptsOf(attempt, receipts, recorded)
  // Money under a new id of the provider is new. Under an id that an adapter made up it may be what is on record.
  const isNew = ({ idIsProviders }: Receipt) => !contradiction || (current.idsAreProviders && idIsProviders)
  const newReceipts = found.filter(isNew)
  const outcome: Outcome =
    contradiction && newReceipts.length === 0 ? { kind: 'unknown', because: contradiction } : plausible
  const { noticeReceipts = [], noticeSays, ...rest } = signal
  const now = deps.clock.now()
  const unrecorded = newReceiptsOf(attempt, noticeReceipts, recorded).filter(
    ({ transactionId }) =>
      !newReceipts.some((each) => each.transactionId === transactionId) &&
      !receipts.some(({ receiptNumber }) => receiptNumber === transactionId),
  )
  const isUnconfirmed = namesMoney(signal, unrecorded)
  const isOverdue = isUnconfirmed && isOld(signal.notice, now)
  // A notice may call a part of the money "paid". When all its receipts are on record, it says nothing new.
  const isNewStatement = noticeSays !== 'paid' || noticeReceipts.length === 0 || unrecorded.length > 0
  const said = noticeSays && isNewStatement ? { noticeSays } : {}
  // An answer from before the last change says nothing about it.
  const isStale = signal.whenAsked !== undefined && !isSameStatus(statusOf(current), signal.whenAsked)
  const why = isOverdue ? unconfirmed(unrecorded) : isStale ? undefined : contradiction
  const isAgreed = !contradiction && !isStale && receipts.length > 0 && onRecord.some(({ isMatched }) => !isMatched)
  const askedAt = signal.call && new Date(signal.call.at.getTime() - signal.call.tookMs)
  const report = { ...rest, ...said, askedAt, outcome, attemptId: attempt.id, contradiction: why, isAgreed, now }
  const canBePaid = before.payment.status !== 'successful' && (comesInParts(attempt) || outcome.kind === 'paid')
  const [needed, surplus] = canBePaid ? splitSurplus(current, newReceipts) : [newReceipts, []]
  const cause = causeOf(signal)
  const first = applyReport(settling, { ...report, newReceipts: needed }, cause)
  const second =
    surplus.length > 0
      ? applyReport({ ...settling, before: first.after }, { ...report, newReceipts: surplus }, cause)
      : first
  const changes = second === first ? first.decision.changes : [...first.decision.changes, ...second.decision.changes]
  const decision = { ...second.decision, changes }
  for (const { transactionId, receiptNumber } of receipts)
    if (receiptNumber && onRecord.some((each) => each.transactionId === transactionId && each.receiptNumber === null))
      nameReceipt(tx, attempt, transactionId, receiptNumber)
  saveCard(settling, attempt, outcome, newReceipts)
  writeSignal(tx, current, signal, { decision, isEnd: !isUnconfirmed || isOverdue })
  tx.afterCommit(() => logForOperator(deps, attempt, decision))
  return decision
}

const receiptsIn = ({ receipts }: LockedPayment, { id }: Attempt) =>
  receipts.filter(({ attemptId }) => attemptId === id)

/** Decides about one report, and writes what it changes. */
function applyReport(
  { tx, deps, before, recorded }: Settling,
  report: OutcomeReport,
  cause: string,
): { decision: Decision; after: LockedPayment } {
  const decision = settle(before, { ...report, refunds: before.refunds })
  const attempt = attemptIn(before, report.attemptId)
  const returned = refundsOfEarlyReversals(decision, attempt, report.now)
  const refunds = [...before.refunds, ...returned]
  writeDecision(tx, deps, before, decision, { cause, refunds, receipts: report.newReceipts })
  for (const receipt of report.newReceipts) {
    writeReceipt(tx, attempt, receipt, decision.counted)
    const open = recorded.receipts.find(({ id }) => id === receipt.unmatchedId)?.openCase
    if (open) closeMatched(tx, open, attempt.paymentId, report.now)
  }
  for (const refund of returned) insertRefund(tx, attempt, refund)
  return { decision, after: { ...before, ...decision.state, refunds } }
}

function saveCard({ tx, deps, before }: Settling, attempt: Attempt, outcome: Outcome, newReceipts: Receipt[]): void {
  const card = cardToSave(deps, attempt, outcome, newReceipts)
  if (!card || isErased(before.payment.user)) return
  const { provider, keysVersion, place } = attempt
  const id = newId('card', deps.clock.now(), place)
  upsertCard(tx, deps.secrets, { id, scope: attempt, provider, keysVersion, customer: before.payment.user, card })
}

/** The provider call that led to the decision, and the notice, which is processed with it. */
function writeSignal(
  tx: Writes,
  before: Attempt,
  { call, notice }: Signal,
  { decision: { state }, isEnd }: { decision: Decision; isEnd: boolean },
): void {
  if (call) tx.write(callRecorded(call))
  if (notice === undefined || !isEnd) return
  const after = attemptIn(state, before.id)
  const key = { place: before.place, id: notice.id }
  tx.write(noticeEnded(key, { attemptId: before.id, ...noticeResult(before, after) }))
  if (isErased(state.payment.user)) tx.write(bodyOfErasedDropped(key, before.id))
}

const NOTICE_KEPT_MS = 7 * 86_400_000

const isOld = (notice: Signal['notice'], now: Date) =>
  notice !== undefined && now.getTime() - notice.receivedAt.getTime() >= NOTICE_KEPT_MS

/**
 * A signed notice that names money waits until the money is on record, and is processed again: when the provider did
 * not answer, or its answer does not have the money yet. `unrecorded`: money that it names and that is not on record.
 */
function namesMoney({ noticeSays, noticeReceipts = [], outcome }: Signal, unrecorded: Receipt[]): boolean {
  if (noticeSays === 'failed') return false
  return noticeReceipts.length > 0 ? unrecorded.length > 0 : noticeSays === 'paid' && outcome.kind === 'unknown'
}

function unconfirmed(unrecorded: Receipt[]): string {
  const amounts = unrecorded.map(({ amount }) => formatMoney(amount)).join(', ') || 'a payment'
  return `unanswered: a signed notice named ${amounts}, and the provider has not confirmed it for seven days. Compare with its dashboard.`
}

/** Only with new money: a repeated check must not restore a card that was deleted since. */
function cardToSave(
  deps: PaymentDeps,
  attempt: Attempt,
  outcome: Outcome,
  newReceipts: Receipt[],
): SavedCard | undefined {
  if (outcome.kind !== 'paid' || !outcome.savedCard || !maySaveCard(deps, attempt)) return undefined
  return newReceipts.some((each) => !isReversed(each)) ? outcome.savedCard : undefined
}

export function maySaveCard({ providers }: PaymentDeps, { saveCard, provider }: Attempt): boolean {
  return saveCard || (providers.find(provider)?.capabilities.pageAsksToSave ?? false)
}

/** A notice that changed the attempt is done. */
export function noticeResult(before: Attempt, after: Attempt): { state: 'done' | 'ignored'; note: string | null } {
  const changed = after.status !== before.status || after.amountReceived !== before.amountReceived
  return changed
    ? { state: 'done', note: null }
    : { state: 'ignored', note: `changed nothing: the attempt is ${after.status}` }
}

/**
 * Money that the provider reversed before we first saw it is a successful refund of kind `provider` without
 * `providerRefundId`. Reconciliation assigns the listed refund to this row instead of counting it again.
 */
function refundsOfEarlyReversals({ state, earlyReversals }: Decision, { id: attemptId }: Attempt, now: Date): Refund[] {
  const reason = 'Given back at the provider before it was seen here.'
  return earlyReversals.map(({ transactionId, amount, counted }) => {
    const wanted = { attemptId, amount, counted, kind: 'provider', isDone: true, reason } as const
    return newRefund(state.payment, { ...wanted, transactionIds: [transactionId] }, now)
  })
}

/** A total above this is a defect of the provider or the adapter. */
const MAX_PLAUSIBLE_AMOUNT = 10 ** 15

function plausibleOutcome({ noticeSays, outcome }: Signal): Outcome {
  if (contradictsNotice(noticeSays, outcome))
    return { kind: 'unknown', because: 'the notice says failed, the provider says paid' }
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const total = receipts.reduce((sum, { amount }) => sum + amount.amount, 0)
  return total > MAX_PLAUSIBLE_AMOUNT ? { kind: 'unknown', because: 'the amounts are implausible' } : outcome
}

function causeOf({ source, noticeSays, outcome }: Signal): string {
  return `${source}${noticeSays ? ` (${noticeSays})` : ''}: ${outcome.kind}`
}

type Why = Pick<Signal, 'source' | 'noticeSays' | 'noticeReceipts' | 'notice'>

/** Asks the provider for the outcome and applies it. */
export async function checkAttempt(deps: PaymentDeps, attempt: Attempt, why: Why): Promise<PaymentState> {
  return (await askOrder(deps, attempt, why)).state
}

/** The same, with the outcome. Null: the provider was never asked for this order, so there is nothing to ask about. */
export async function askOrder(
  deps: PaymentDeps,
  attempt: Attempt,
  why: Why,
): Promise<{ state: PaymentState; outcome: Outcome | null }> {
  // A signed notice about such an attempt proves that its provider was called: before the database was restored.
  if (isUnasked(attempt) && why.source !== 'notice') return { state: await readState(deps, attempt), outcome: null }
  const order = await orderHandle(deps, attempt, why.notice && factsOfReading(why.notice.reading))
  const { answer: outcome, record: call } = await askProvider(deps, attempt, 'check', (client) => client.check(order))
  const state = await settleAttempt(deps, attempt, { ...why, outcome, call, whenAsked: statusOf(attempt) })
  return { state, outcome }
}

const isSameStatus = (one: Required<Signal>['whenAsked'], other: Required<Signal>['whenAsked']) =>
  one.status === other.status && one.since.getTime() === other.since.getTime()

/** To detect a change in the meantime. */
export function statusOf({ status, checks: { since } }: Attempt): Required<Signal>['whenAsked'] {
  return { status, since }
}

async function readState({ database }: PaymentDeps, attempt: Attempt): Promise<PaymentState> {
  const state = await findPaymentStateById(database, attempt.paymentId)
  if (!state) throw new Error(`payment ${attempt.paymentId} is gone`)
  return state
}

function logForOperator({ log }: PaymentDeps, attempt: Attempt, { changes }: Decision): void {
  const { id: attemptId, paymentId, provider } = attempt
  for (const { type } of changes) {
    if (type === 'attempt.needs_review') log.error({ paymentId, attemptId, provider }, 'attempt needs review')
    else if (type === 'payment.surplus') log.warn({ paymentId, attemptId, provider }, 'surplus money received')
  }
}
