import type { Transaction } from '../database/database.ts'
import { recordAct, splitActor } from '../events/audit-log-store.ts'
import { type AttemptId, newId, type PaymentId, parseId } from '../kernel/ids.ts'
import { type Money, money } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import type { Scope } from '../kernel/scope.ts'
import type { BankAccount } from '../providers/provider.ts'
import { confirmMoney } from './confirm-money.ts'
import type { PaymentDependencies } from './dependencies.ts'
import {
  capabilitiesOf,
  insertPending,
  returnedBefore,
  sendRefund,
  withRefunded,
  withReturned,
} from './refund-payment.ts'
import { settleIn } from './settle-attempt.ts'
import { type Attempt, MAX_ATTEMPTS } from './state/attempt.ts'
import { newAttempt } from './state/new-attempt.ts'
import { lateMoneyOf, type OpenMoney, openMoneyOf, planReturn, type Review } from './state/open-money.ts'
import { decide, type PaymentState } from './state/payment-state.ts'
import { assertAccountFits, assertMayRefund, type Refund, refundView } from './state/refund.ts'
import { returnedOf } from './state/returned-money.ts'
import { findAttempt } from './store/attempts.ts'
import { findPaymentStateById, findStateByOrder, lockPaymentState } from './store/payment-states.ts'
import { isOrderOfAnother } from './store/provider-audit.ts'
import { allTransactionsOf, transactionsOf } from './store/receipts.ts'
import { insertRefund, leaseRefund, refundsOf } from './store/refunds.ts'
import { insertReview, type NewReview, reviewsOf } from './store/reviews.ts'
import { isHandledUnderOtherKeys, lockUnmatched, type UnmatchedMoney } from './store/transfers.ts'
import { writeDecision } from './write-decision.ts'

/** What a line of the list of transfers stands for. */
export type TransferName =
  | { kind: 'receipt'; id: number }
  | { kind: 'attempt'; id: AttemptId; paymentId: PaymentId }
  | { kind: 'payment'; paymentId: PaymentId }

/** Who does it, and why. */
export interface Handling {
  scope: Scope
  actor: string
  note: string | null
  /** Throws when this is more than the member may return of one payment, all together. Runs under the lock. */
  limit?: (total: Money) => void
  /** The customer's bank account, for a return through a provider that needs it. */
  account?: BankAccount | undefined
}

const HANDLED = 'Another member has handled this money, or it has changed. Read the list again.'
const UNKNOWN = 'You have no such transfer in this mode.'

/** Finds what the id of a line means. Throws if it is not this merchant's. */
export async function findTransfer(
  { database }: PaymentDependencies,
  { merchantId, mode }: Scope,
  name: string,
): Promise<TransferName> {
  const [, receipt] = /^receipt-([1-9]\d{0,14})$/.exec(name) ?? []
  if (receipt) return { kind: 'receipt', id: Number(receipt) } // checked under its lock
  const attemptId = parseId('attempt', name)
  const attempt = attemptId && (await findAttempt(database, attemptId))
  if (attempt?.merchantId === merchantId && attempt.mode === mode)
    return { kind: 'attempt', id: attempt.id, paymentId: attempt.paymentId }
  const paymentId = parseId('payment', name)
  const payment = paymentId && (await findPaymentStateById(database, paymentId))?.payment
  if (payment?.merchantId === merchantId && payment.mode === mode) return { kind: 'payment', paymentId: payment.id }
  throw new Problem('not_found', UNKNOWN)
}

/**
 * Matches unmatched money with a payment, if the provider confirms it. The money is settled like any other: it may pay the payment, in full
 * or in part, also when the payment has ended (late). Returns the payment after it.
 */
export async function matchTransfer(
  deps: PaymentDependencies,
  { scope, actor, note, limit }: Handling,
  name: TransferName,
  paymentId: PaymentId,
  expected: number,
): Promise<PaymentState> {
  if (name.kind !== 'receipt') throw new Problem('conflict', 'This money belongs to a payment already.')
  const { id } = name
  const lock = (tx: Transaction) => lockForMatch(tx, { scope, limit }, id, paymentId, expected)
  const confirmed = await confirmMoney(deps, scope, (await deps.database.transaction(lock)).unmatched)
  const { reference: order, idIsProviders } = confirmed
  return deps.database.transaction(async (tx) => {
    const { before, unmatched } = await lock(tx)
    const { receipt } = unmatched
    const attempt =
      (order === null ? undefined : await attemptOfOrder(tx, scope, unmatched, order, paymentId)) ??
      attemptFor(before, unmatched) ??
      (await addAttemptFor(tx, deps, before, unmatched))
    const outcome = { kind: 'paid' as const, receipts: [{ ...receipt, ...(idIsProviders && { idIsProviders }) }] }
    const { state } = await settleIn(tx, deps, attempt, { source: 'match', outcome })
    await write(
      tx,
      deps,
      { scope, actor, note },
      { kind: 'unmatched', act: 'matched', receiptId: id, paymentId, ...of(unmatched) },
    )
    await recordAct(tx, {
      actor,
      act: 'transfer.matched',
      merchantId: scope.merchantId,
      subject: `receipt-${id} with ${paymentId}`,
    })
    return state
  })
}

/** Throws if the money and the payment cannot be matched. */
async function lockForMatch(
  tx: Transaction,
  { scope, limit }: Pick<Handling, 'scope' | 'limit'>,
  id: number,
  paymentId: PaymentId,
  expected: number,
): Promise<{ before: PaymentState; unmatched: UnmatchedMoney }> {
  // The payment is locked first, as by everything that changes it.
  const before = await lockPaymentState(tx, paymentId)
  const unmatched = await lockOpen(tx, scope, id, expected)
  const { amount } = unmatched.receipt
  limit?.(amount)
  const { payment } = before
  if (payment.status === 'successful')
    throw new Problem('conflict', `Payment ${payment.reference} is paid already. Return this money instead.`)
  if (payment.currency !== amount.currency)
    throw new Problem('conflict', `This money is in ${amount.currency}, the payment in ${payment.currency}.`)
  await assertNotHandledTwice(tx, scope, unmatched, true)
  return { before, unmatched }
}

/**
 * Throws if the same transaction is on record under other keys and was handled there. Other keys are another account in our records, also
 * if they are rotated keys of one account at the provider. `isConfirmed`: the provider is asked for the amount.
 */
async function assertNotHandledTwice(
  tx: Transaction,
  scope: Scope,
  unmatched: UnmatchedMoney,
  isConfirmed: boolean,
): Promise<void> {
  if (!(await isHandledUnderOtherKeys(tx, scope, unmatched, isConfirmed))) return
  const why = 'This transaction is on record twice, and the other record is handled.'
  throw new Problem('conflict', `${why} Close this one with a note.`)
}

/** The attempt of this payment that has the order. Throws if the order is of another payment, whose checks count the money. */
async function attemptOfOrder(
  tx: Transaction,
  scope: Scope,
  { provider, account }: UnmatchedMoney,
  order: string,
  paymentId: PaymentId,
): Promise<Attempt | undefined> {
  const found = await findStateByOrder(tx, scope, { provider, account }, order)
  if (!found) {
    if (!(await isOrderOfAnother(tx, { ...scope, provider }, order))) return undefined
    const why = 'The customer paid this to another merchant, who uses the same account of the provider.'
    throw new Problem('conflict', `${why} Close this record with a note.`)
  }
  const { attempt, state } = found
  const why = `The customer paid this for payment ${state.payment.reference}`
  if (attempt.account !== account)
    throw new Problem('conflict', `${why}, whose own checks count it. Close this record with a note.`)
  if (attempt.paymentId !== paymentId) throw new Problem('conflict', `${why}. Match it with that one.`)
  return attempt
}

/** An attempt with the same provider account: an open account number before others, the newest first. */
function attemptFor({ attempts }: PaymentState, { provider, account }: UnmatchedMoney): Attempt | undefined {
  const own = attempts.filter((attempt) => attempt.provider === provider && attempt.account === account)
  const open = own.filter(({ status }) => status === 'pending' || status === 'processing')
  const transfers = (some: Attempt[]) => some.filter(({ channel }) => channel === 'virtual-bank-account')
  return transfers(open).at(-1) ?? transfers(own).at(-1) ?? open.at(-1) ?? own.at(-1)
}

/** The customer never started to pay with this provider: the order of this money is not on record. */
async function addAttemptFor(
  tx: Transaction,
  deps: PaymentDependencies,
  before: PaymentState,
  { provider, account }: UnmatchedMoney,
): Promise<Attempt> {
  const capabilities = deps.providers.find(provider)?.capabilities
  if (!capabilities) throw new Problem('conflict', `The provider ${provider} is not known any more.`)
  if (before.attempts.length >= MAX_ATTEMPTS)
    throw new Problem('too_many_attempts', `This payment has had ${MAX_ATTEMPTS} attempts, which is the maximum.`)
  const channel = capabilities.channels.includes('virtual-bank-account') ? 'virtual-bank-account' : 'card'
  const attempt = newAttempt(before, { capabilities, channel, account, chargedAtOnce: false }, deps.clock.now())
  const attempts = [...before.attempts, attempt]
  const decision = decide({ ...before, attempts }, [{ type: 'attempt.started', attemptId: attempt.id }])
  await writeDecision(tx, deps, before, decision, { cause: 'match' })
  return attempt
}

/** Returns money through the provider. `expected`: the amount that the member saw. */
export async function returnTransfer(
  deps: PaymentDependencies,
  by: Handling,
  name: TransferName,
  expected: number,
): Promise<Refund> {
  if (name.kind === 'receipt')
    throw new Problem(
      'conflict',
      'The provider can return only money of a known payment. Match it with a payment, or return it by hand.',
    )
  const { refund, lease } = await deps.database.transaction(async (tx) => {
    const { state, refunds, reviews, open } = await lockOpenMoney(tx, name, expected)
    const { id: paymentId, status, reference, currency, merchantId } = state.payment
    if (status === 'pending')
      throw new Problem('payment_not_completed', `Payment ${reference} is still open. Cancel it first.`)
    assertMayRefund(refunds)
    const { counted, amount } = planReturn(state, open, refunds)
    by.limit?.(money(amount + returnedBefore(refunds, reviews), currency))
    assertAccountFits(capabilitiesOf(deps, open.attempt), open.attempt, by.account)
    const made = await insertPending(tx, deps, state, open.attempt, {
      amount,
      counted,
      kind: counted ? 'merchant' : 'surplus',
      reason: by.note,
      account: by.account,
      transactionIds: counted
        ? await transactionsOf(tx, open.attempt.id)
        : await allTransactionsOf(tx, open.attempt.id),
    })
    if (!made) throw new Error('inserting a refund with a new id failed')
    await write(tx, deps, by, { ...reviewOf(open), act: 'returned', paymentId, amount, currency, refundId: made.id })
    await recordAct(tx, { actor: by.actor, act: 'refund.asked_for', merchantId, subject: made.id })
    return { refund: made, lease: await leaseRefund(tx, made.id) }
  })
  return lease ? sendRefund(deps, refund, lease) : refund
}

/** Records that money was returned outside of the provider, or that it stays as it is. The note says why. */
export async function closeTransfer(
  deps: PaymentDependencies,
  by: Handling & { note: string },
  name: TransferName,
  act: 'returned_by_hand' | 'noted',
  expected: number,
): Promise<void> {
  await deps.database.transaction(async (tx) => {
    if (name.kind === 'receipt') {
      const unmatched = await lockOpen(tx, by.scope, name.id, expected)
      if (act === 'returned_by_hand') {
        by.limit?.(unmatched.receipt.amount)
        await assertNotHandledTwice(tx, by.scope, unmatched, false)
      }
      await write(tx, deps, by, { kind: 'unmatched', act, receiptId: name.id, paymentId: null, ...of(unmatched) })
    } else {
      const { state, refunds, reviews, open } = await lockOpenMoney(tx, name, expected)
      if (act === 'returned_by_hand') {
        by.limit?.(money(open.amount + returnedBefore(refunds, reviews), state.payment.currency))
        await recordByHand(tx, deps, by, state, open, refunds)
      } else {
        const { id: paymentId, currency } = state.payment
        // The note on a late payment is about the payment: it says nothing about what its attempt holds.
        const review = { ...reviewOf(open), ...(open.kind === 'late' && { attemptId: null }) }
        await write(tx, deps, by, { ...review, act, paymentId, amount: open.amount, currency })
      }
    }
    const subject = name.kind === 'receipt' ? `receipt-${name.id}` : name.kind === 'attempt' ? name.id : name.paymentId
    await recordAct(tx, { actor: by.actor, act: `transfer.${act}`, merchantId: by.scope.merchantId, subject })
  })
}

/**
 * Money that a person returned is a refund like one that was made at the provider: it neither pays the payment nor is refunded again. If
 * the person did it in the provider's dashboard, reconciliation assigns the listed refund to this row.
 */
async function recordByHand(
  tx: Transaction,
  deps: PaymentDependencies,
  by: Handling,
  before: PaymentState,
  open: OpenMoney,
  refunds: Refund[],
): Promise<void> {
  const { id: paymentId, place, currency } = before.payment
  const attemptId = open.attempt.id
  const first = planReturn(before, open, refunds)
  const rest = { counted: true, amount: open.amount - first.amount }
  let state = before
  for (const { amount, counted } of rest.amount > 0 ? [first, rest] : [first]) {
    const refund = await insertRefund(tx, {
      ...{ id: newId('refund', deps.clock.now(), place), state, attemptId, amount, counted },
      ...{ kind: 'provider', reason: by.note, transactionIds: [], isDone: true },
    })
    if (!refund) throw new Error('inserting a refund with a new id failed')
    const after = withRefunded(withReturned(state, attemptId, amount), refund)
    const decision = decide(after, [{ type: 'refund.successful', attemptId, data: { refund: refundView(refund) } }])
    await writeDecision(tx, deps, state, decision, { cause: 'returned by hand' })
    const review = { ...reviewOf(open), act: 'returned_by_hand' as const, refundId: refund.id }
    await write(tx, deps, by, { ...review, paymentId, amount, currency })
    state = decision.state
  }
}

async function lockOpen(tx: Transaction, scope: Scope, id: number, expected: number): Promise<UnmatchedMoney> {
  const unmatched = await lockUnmatched(tx, scope, id)
  if (!unmatched) throw new Problem('not_found', UNKNOWN)
  if (unmatched === 'done' || leftOf(unmatched) !== expected) throw new Problem('conflict', HANDLED)
  return unmatched
}

/** The payment's lock makes one of two people first; the other one finds nothing open any more. */
async function lockOpenMoney(
  tx: Transaction,
  name: Exclude<TransferName, { kind: 'receipt' }>,
  expected: number,
): Promise<{ state: PaymentState; refunds: Refund[]; reviews: Review[]; open: OpenMoney }> {
  const state = await lockPaymentState(tx, name.paymentId)
  const [reviews, refunds] = [await reviewsOf(tx, name.paymentId), await refundsOf(tx, name.paymentId)]
  const attempt = name.kind === 'attempt' ? state.attempts.find(({ id }) => id === name.id) : undefined
  const open = attempt ? openMoneyOf(state, attempt, reviews) : lateMoneyOf(state, reviews, refunds)
  if (!open || open.amount !== expected) throw new Problem('conflict', HANDLED)
  return { state, refunds, reviews, open }
}

function reviewOf({ kind, attempt }: OpenMoney): Pick<NewReview, 'kind' | 'attemptId' | 'received'> {
  return { kind, attemptId: attempt.id, received: attempt.amountReceived }
}

function of(unmatched: UnmatchedMoney): Pick<NewReview, 'amount' | 'currency'> {
  return { amount: leftOf(unmatched), currency: unmatched.receipt.amount.currency }
}

/** Without what the provider had given back before we first saw it. */
function leftOf({ receipt }: UnmatchedMoney): number {
  return receipt.amount.amount - returnedOf(receipt)
}

type Written = Omit<NewReview, 'scope' | 'actor' | 'note' | 'at' | 'attemptId' | 'received' | 'refundId'> &
  Partial<Pick<NewReview, 'attemptId' | 'received' | 'refundId'>>

export function write(tx: Transaction, { clock }: PaymentDependencies, by: Handling, review: Written): Promise<void> {
  const { actor } = splitActor(by.actor)
  return insertReview(tx, {
    ...{ attemptId: null, received: null, refundId: null },
    ...review,
    ...{ scope: by.scope, note: by.note, actor, at: clock.now() },
  })
}
