import type { Transaction } from '../database/database.ts'
import { newId } from '../kernel/ids.ts'
import type { Connection, Outcome, Receipt, SavedCard, Unknown } from '../providers/provider.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Attempt, handleOf } from './state/attempt.ts'
import type { Decision, PaymentState } from './state/payment-state.ts'
import { isReversed, withoutKnownReturns } from './state/returned-money.ts'
import { disagree, type OutcomeReport, settle } from './state/settle.ts'
import { findPaymentStateById, lockPaymentState, recordCall } from './store/attempts.ts'
import { findFresh, insertReceipts } from './store/receipts.ts'
import { insertRefund, refundsOf } from './store/refunds.ts'
import { upsertCard } from './store/saved-cards.ts'
import { writeDecision } from './write-decision.ts'

export type Signal = Pick<OutcomeReport, 'outcome' | 'source' | 'noticeClaim' | 'asked'> & {
  /** The money that the notice tells of. */
  tells?: Receipt[]
}

/**
 * The one door through which an outcome becomes a state, whoever brought it: a notice, the customer's return, our own check. Under the
 * payment's lock, with all that follows from it, or not at all.
 */
export function settleAttempt(parts: PaymentDependencies, attempt: Attempt, signal: Signal): Promise<PaymentState> {
  return parts.database.transaction((tx) => settleIn(tx, parts, attempt, signal))
}

export async function settleIn(
  tx: Transaction,
  parts: PaymentDependencies,
  attempt: Attempt,
  signal: Signal,
): Promise<PaymentState> {
  const now = parts.clock.now()
  const outcome = believable(signal)
  const before = await lockPaymentState(tx, attempt.paymentId)
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const fresh = await withoutReturnsOnRecord(tx, attempt, await findFresh(tx, attempt, receipts), receipts)
  const { tells, noticeClaim, ...rest } = signal
  const claim = noticeClaim && (await isNews(tx, attempt, signal, fresh)) ? { noticeClaim } : {}
  const decision = settle(before, { ...rest, ...claim, outcome, attemptId: attempt.id, fresh, now })
  await insertReceipts(tx, attempt, fresh, decision.counted)
  await writeDecision(tx, parts, before, decision, causeOf(signal))
  await writeReturned(tx, parts, attempt, decision)
  // Only with the money, once: a card that was deleted since must not come back because somebody asked again.
  const mayKeep = attempt.saveCard || parts.providers.find(attempt.provider)?.capabilities.pageAsksToSave
  if (outcome.kind === 'paid' && outcome.savedCard && mayKeep && fresh.some((receipt) => !isReversed(receipt)))
    await saveCard(tx, parts, decision.state, attempt, outcome.savedCard)
  announce(
    parts,
    attempt,
    decision.changes.map(({ type }) => type),
  )
  return decision.state
}

async function withoutReturnsOnRecord(
  tx: Transaction,
  attempt: Attempt,
  fresh: Receipt[],
  told: Receipt[],
): Promise<Receipt[]> {
  if (fresh.length === told.length || !fresh.some(({ returnedIsOfOrder }) => returnedIsOfOrder)) return fresh
  // Where an order can have several transactions, adapters do not count lost disputes in `returned`.
  const onRecord = (await refundsOf(tx, attempt.paymentId))
    .filter(({ attemptId, kind, status }) => attemptId === attempt.id && kind !== 'chargeback' && status !== 'failed')
    .reduce((sum, { amount }) => sum + amount, 0)
  return withoutKnownReturns(fresh, told, onRecord)
}

/**
 * What the provider had given back before we saw it, as refunds of kind `provider` that are done. They have no `providerRefundId`, and
 * `transactionIds` names the transaction. Reconciliation gives them the id of the listed refund, instead of counting that one again.
 */
async function writeReturned(tx: Transaction, parts: PaymentDependencies, attempt: Attempt, decision: Decision) {
  for (const { transactionId, amount, counted } of decision.returned) {
    await insertRefund(tx, {
      id: newId('refund', parts.clock.now()),
      state: decision.state,
      attemptId: attempt.id,
      amount,
      kind: 'provider',
      counted,
      reason: 'Given back at the provider before it was seen here.',
      transactionIds: [transactionId],
      isDone: true,
    })
  }
}

/** More money than there is, in one answer: they do not know what they say. */
const ABSURD = 10 ** 15

function believable({ noticeClaim, outcome }: Signal): Outcome {
  if (disagree(noticeClaim, outcome))
    return { kind: 'unknown', because: 'the notice says failed, the provider says paid' }
  const receipts = 'receipts' in outcome ? outcome.receipts : []
  const total = receipts.reduce((sum, { amount }) => sum + amount.amount, 0)
  return total > ABSURD ? { kind: 'unknown', because: 'the amounts cannot be' } : outcome
}

/** A notice may call a part of the money "paid". When all that it tells of is on record, it leaves nothing in doubt. */
async function isNews(tx: Transaction, attempt: Attempt, signal: Signal, fresh: Receipt[]): Promise<boolean> {
  const { noticeClaim, tells = [] } = signal
  if (noticeClaim !== 'paid' || tells.length === 0) return true
  const arriving = new Set(fresh.map(({ transactionId }) => transactionId))
  return (await findFresh(tx, attempt, tells)).some(({ transactionId }) => !arriving.has(transactionId))
}

function causeOf({ source, noticeClaim, outcome }: Signal): string {
  return `${source}${noticeClaim ? ` (${noticeClaim})` : ''}: ${outcome.kind}`
}

/** Asks the provider how it stands, and settles on the answer. */
export async function checkAttempt(
  parts: PaymentDependencies,
  attempt: Attempt,
  why: Pick<Signal, 'source' | 'noticeClaim' | 'tells'>,
): Promise<PaymentState> {
  if (attempt.instructions?.kind === 'confirm') return lookUp(parts, attempt) // the provider has not heard of it
  const outcome = await ask(parts, attempt, 'check', (provider) => provider.check(handleOf(attempt)))
  return settleAttempt(parts, attempt, {
    ...why,
    outcome,
    asked: { status: attempt.status, since: attempt.checks.since },
  })
}

async function lookUp({ database }: PaymentDependencies, { paymentId }: Attempt): Promise<PaymentState> {
  const state = await findPaymentStateById(database, paymentId)
  if (!state) throw new Error(`payment ${paymentId} is gone`)
  return state
}

/** Speaks with the attempt's provider, never inside a transaction, and keeps a record. What the adapter did not foresee is unknown, too. */
export async function ask<Answer extends { kind: string }>(
  parts: PaymentDependencies,
  attempt: Attempt,
  call: string,
  speak: (provider: Connection) => Promise<Answer>,
): Promise<Answer | Unknown> {
  const start = performance.now()
  let answer: Answer | Unknown
  let isConnected = false
  try {
    const { provider, account } = attempt
    const purpose = isStart(call) ? 'start' : 'check'
    const connection = await parts.providers.connect(attempt, provider, { account, purpose })
    isConnected = true
    answer = await speak(connection)
  } catch (err) {
    parts.log.error({ err, attemptId: attempt.id, provider: attempt.provider, call }, 'adapter failed')
    const because = 'the adapter failed; the log has the reason'
    answer = { kind: 'unknown', because, ...(!isConnected && { neverSent: true }) }
  }
  const tookMs = performance.now() - start
  const refusedToBegin = answer.kind === 'declined' && (call === 'start card' || call === 'open account')
  if (isStart(call) || !isRefusedCheck(answer)) {
    parts.providers.note(attempt, attempt.provider, answer.kind === 'unknown' || refusedToBegin ? 'badly' : 'well')
  }
  const detail = 'because' in answer ? String(answer.because) : null
  const { id: attemptId, provider } = attempt
  parts.log.info(
    { paymentId: attempt.paymentId, attemptId, provider, call, outcome: answer.kind, tookMs: Math.round(tookMs) },
    'provider asked',
  )
  await recordCall(parts.database, attemptId, { call, outcome: answer.kind, detail, tookMs }).catch((err) =>
    parts.log.warn({ err, attemptId }, 'a call is missing in the timeline'),
  )
  return answer
}

const START_CALLS: ReadonlySet<string> = new Set(['start card', 'open account', 'charge saved card'])

function isStart(call: string): boolean {
  return START_CALLS.has(call)
}

/** Too many checks (429, or held back by our own circuit breaker) say nothing about how the provider takes new payments. */
function isRefusedCheck(answer: { kind: string } | Unknown): boolean {
  return answer.kind === 'unknown' && 'because' in answer && (answer.errorStatus === 429 || answer.neverSent === true)
}

async function saveCard(
  tx: Transaction,
  parts: PaymentDependencies,
  state: PaymentState,
  attempt: Attempt,
  card: SavedCard,
): Promise<void> {
  await upsertCard(tx, parts.secrets, {
    id: newId('card', parts.clock.now()),
    owner: attempt,
    provider: attempt.provider,
    account: attempt.account,
    customer: state.payment.user,
    card,
  })
}

/** Two things that an operator must hear of: money that does not add up, and an outcome that nobody could tell. */
function announce(
  { log }: PaymentDependencies,
  { id: attemptId, paymentId, provider }: Attempt,
  changes: string[],
): void {
  for (const change of changes) {
    if (change === 'attempt.needs_review') log.error({ paymentId, attemptId, provider }, 'attempt needs review')
    else if (change === 'payment.surplus') log.warn({ paymentId, attemptId, provider }, 'money beyond the payment')
  }
}
