import type { Queries, Writes } from '../../database/database.ts'
import { actRecorded, splitActor } from '../../events/audit-log-store.ts'
import { type AttemptId, type PaymentId, parseId } from '../../kernel/ids.ts'
import { type Money, money } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { BankAccount } from '../../providers/provider.ts'
import { changePayment, writeDecision } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import {
  capabilitiesOf,
  decideRefund,
  refundedBefore,
  sendRefund,
  withRefunded,
  withReversal,
  writePending,
} from '../refunds/refund-payment.ts'
import { settleLocked } from '../settle/settle-attempt.ts'
import { type Attempt, MAX_ATTEMPTS } from '../state/attempt.ts'
import { withoutCases } from '../state/case.ts'
import { isHeldBy } from '../state/held-money.ts'
import { newAttempt } from '../state/new-attempt.ts'
import {
  lateMoneyOf,
  type OpenMoney,
  openMoneyOf,
  type Review,
  refundsByPeople,
  splitReversal,
} from '../state/open-money.ts'
import { attemptIn, attemptStarted, decide, type PaymentState } from '../state/payment-state.ts'
import { assertAccountFits, assertMayRefund, newRefund, type Refund, refundSubject } from '../state/refund.ts'
import { reversedAmount } from '../state/reversed-money.ts'
import { findAttempt } from '../store/attempts.ts'
import { closeOther, receiptSubject } from '../store/other-cases.ts'
import { findPaymentStateById, findStateByOrder, type LockedPayment } from '../store/payment-states.ts'
import { isOrderOfAnother } from '../store/provider-audit.ts'
import { readRecordedMoney } from '../store/receipts.ts'
import { insertRefund } from '../store/refunds.ts'
import { insertReview, type NewReview, reviewsOf } from '../store/reviews.ts'
import { isHandledUnderOtherKeys, lockUnmatched, type UnmatchedMoney } from '../store/transfers.ts'
import { confirmMoney } from './confirm-money.ts'

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
  { database }: PaymentDeps,
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
 * Matches unmatched money with a payment, if the provider confirms it. The money is settled like any other: it may pay
 * the payment, in full or in part, also when the payment has ended (late). Returns the payment after it.
 */
export async function matchTransfer(
  deps: PaymentDeps,
  by: Handling,
  name: TransferName,
  paymentId: PaymentId,
  expected: number,
): Promise<PaymentState> {
  if (name.kind !== 'receipt') throw new Problem('conflict', 'This money belongs to a payment already.')
  const { id } = name
  const { scope, actor } = by
  // Changes nothing: under the locks, it refuses what cannot be matched before the provider is asked.
  const unmatched = await changePayment(deps, paymentId, {
    read: (tx) => readOpen(tx, scope, id, expected, true),
    decide: (before, open) => assertMatch(by, before, open),
  })
  const { reference: order, idIsProviders } = await confirmMoney(deps, scope, unmatched)
  return changePayment(deps, paymentId, {
    read: async (tx) => {
      const open = await readOpen(tx, scope, id, expected, true)
      const ofOrder = order === null ? undefined : await attemptOfOrder(tx, scope, open.unmatched, order, paymentId)
      const { provider, keysVersion, receipt } = open.unmatched
      return { open, ofOrder, recorded: await readRecordedMoney(tx, { ...scope, provider, keysVersion }, [receipt]) }
    },
    decide: (locked, { open, ofOrder, recorded }, tx) => {
      const { receipt } = assertMatch(by, locked, open)
      const known = ofOrder ?? attemptFor(locked, unmatched)
      const { attempt, before } = known
        ? { attempt: known, before: locked }
        : addAttemptFor(tx, deps, locked, unmatched)
      const outcome = { kind: 'paid' as const, receipts: [{ ...receipt, ...(idIsProviders && { idIsProviders }) }] }
      const { state } = settleLocked({ tx, deps, before, recorded }, attempt, { source: 'match', outcome })
      assertRecorded(attemptIn(before, attempt.id), attemptIn(state, attempt.id), receipt.amount)
      writeReview(tx, deps, by, { kind: 'unmatched', act: 'matched', receiptId: id, paymentId, ...leftOf(unmatched) })
      const subject = `receipt-${id} with ${paymentId}`
      tx.write(actRecorded(scope.place, { actor, act: 'transfer.matched', merchantId: scope.merchantId, subject }))
      return state
    },
  })
}

/** Throws, so that all rolls back, unless settling recorded this money: else no list would have it any more. */
function assertRecorded(before: Attempt, after: Attempt, { amount }: Money): void {
  if (after.amountReceived - before.amountReceived === amount) return
  throw new Problem('conflict', 'This money was not recorded for the payment, so nothing was matched.')
}

/** Unmatched money under its lock. */
interface OpenReceipt {
  unmatched: UnmatchedMoney
  isHandledTwice: boolean
}

/**
 * Throws if the money is not there any more as the member saw it. `isConfirmed`: the provider is asked for the amount.
 */
async function readOpen(
  tx: Queries,
  scope: Scope,
  id: number,
  expected: number,
  isConfirmed: boolean,
): Promise<OpenReceipt> {
  const unmatched = await lockUnmatched(tx, scope, id)
  if (!unmatched) throw new Problem('not_found', UNKNOWN)
  if (unmatched === 'done' || leftOf(unmatched).amount !== expected) throw new Problem('conflict', HANDLED)
  return { unmatched, isHandledTwice: await isHandledUnderOtherKeys(tx, scope, unmatched, isConfirmed) }
}

/** Throws if the money and the payment cannot be matched. */
function assertMatch({ limit }: Handling, { payment }: PaymentState, open: OpenReceipt): UnmatchedMoney {
  const { amount } = open.unmatched.receipt
  // A match decides whose money it is, so the limit of the member applies. Nothing goes back by it, so nothing adds up.
  limit?.(leftOf(open.unmatched))
  if (payment.status === 'successful')
    throw new Problem('conflict', `Payment ${payment.reference} is paid already. Return this money instead.`)
  if (payment.currency !== amount.currency)
    throw new Problem('conflict', `This money is in ${amount.currency}, the payment in ${payment.currency}.`)
  assertNotHandledTwice(open)
  return open.unmatched
}

/**
 * Throws if the same transaction is on record under other keys and was handled there. Rotated keys of one account at
 * the provider are other keys in our records, too.
 */
function assertNotHandledTwice({ isHandledTwice }: OpenReceipt): void {
  if (!isHandledTwice) return
  const why = 'This transaction is on record twice, and the other record is handled.'
  throw new Problem('conflict', `${why} Close this one with a note.`)
}

/**
 * The attempt of this payment that has the order. Throws if the order is of another payment, whose checks count the
 * money.
 */
async function attemptOfOrder(
  tx: Queries,
  scope: Scope,
  { provider, keysVersion }: UnmatchedMoney,
  order: string,
  paymentId: PaymentId,
): Promise<Attempt | undefined> {
  const found = await findStateByOrder(tx, scope, { provider, keysVersion }, order)
  if (!found) {
    if (!(await isOrderOfAnother(tx, { ...scope, provider }, order))) return undefined
    const why = 'The customer paid this to another merchant, who uses the same account of the provider.'
    throw new Problem('conflict', `${why} Close this record with a note.`)
  }
  const { attempt, state } = found
  const why = `The customer paid this for payment ${state.payment.reference}`
  if (attempt.keysVersion !== keysVersion)
    throw new Problem('conflict', `${why}, whose own checks count it. Close this record with a note.`)
  if (attempt.paymentId !== paymentId) throw new Problem('conflict', `${why}. Match it with that one.`)
  return attempt
}

/** An attempt with the same keys: an open account number before others, the newest first. */
function attemptFor({ attempts }: PaymentState, { provider, keysVersion }: UnmatchedMoney): Attempt | undefined {
  const own = attempts.filter((attempt) => attempt.provider === provider && attempt.keysVersion === keysVersion)
  const open = own.filter(({ status }) => status === 'pending' || status === 'processing')
  const transfers = (some: Attempt[]) => some.filter(({ channel }) => channel === 'virtual-bank-account')
  return transfers(open).at(-1) ?? transfers(own).at(-1) ?? open.at(-1) ?? own.at(-1)
}

/** The customer never started to pay with this provider: the order of this money is not on record. */
function addAttemptFor(
  tx: Writes,
  deps: PaymentDeps,
  before: LockedPayment,
  { provider, keysVersion }: UnmatchedMoney,
): { attempt: Attempt; before: LockedPayment } {
  const capabilities = deps.providers.find(provider)?.capabilities
  if (!capabilities) throw new Problem('conflict', `The provider ${provider} is not known any more.`)
  if (before.attempts.length >= MAX_ATTEMPTS)
    throw new Problem('too_many_attempts', `This payment has had ${MAX_ATTEMPTS} attempts, which is the maximum.`)
  const channel = capabilities.offers['virtual-bank-account'] ? 'virtual-bank-account' : 'card'
  const attempt = newAttempt(before, { capabilities, channel, keysVersion, chargedAtOnce: false }, deps.clock.now())
  const attempts = [...before.attempts, attempt]
  const decision = decide({ ...before, attempts }, [attemptStarted(before, attempt)], deps.clock.now())
  writeDecision(tx, deps, before, decision, { cause: 'match' })
  return { attempt, before: { ...before, ...decision.state } }
}

/** Returns money through the provider. `expected`: the amount that the member saw. */
export async function refundTransfer(
  deps: PaymentDeps,
  by: Handling,
  name: TransferName,
  expected: number,
): Promise<Refund> {
  if (name.kind === 'receipt')
    throw new Problem(
      'conflict',
      'The provider can return only money of a known payment. Match it with a payment, or return it by hand.',
    )
  const { refund, lease } = await changePayment(deps, name.paymentId, {
    read: (tx) => reviewsOf(tx, name.paymentId),
    decide: (before, reviews, tx) => {
      const open = openMoneyIn(before, name, reviews, expected)
      const { payment, refunds, receipts } = before
      const { id: paymentId, status, reference, currency, merchantId } = payment
      if (status === 'pending')
        throw new Problem('payment_not_completed', `Payment ${reference} is still open. Cancel it first.`)
      assertMayRefund(refundsByPeople(refunds, reviews))
      const { counted, amount } = splitReversal(before, open, refunds)
      by.limit?.(money(amount + refundedBefore(refunds, reviews), currency))
      assertAccountFits(capabilitiesOf(deps, open.attempt), open.attempt, by.account)
      const held = receipts.filter((each) => each.attemptId === open.attempt.id && (each.counted || !counted))
      const made = writePending({ tx, deps, before }, by, {
        attemptId: open.attempt.id,
        amount,
        counted,
        kind: counted ? 'merchant' : 'surplus',
        reason: by.note,
        transactionIds: held.map(({ transactionId }) => transactionId),
      })
      const refundId = made.refund.id
      writeReview(tx, deps, by, { ...reviewOf(open), act: 'returned', paymentId, amount, currency, refundId })
      const subject = refundSubject(refundId, by.account)
      tx.write(actRecorded(payment.place, { actor: by.actor, act: 'refund.asked_for', merchantId, subject }))
      return made
    },
  })
  return sendRefund(deps, refund, lease)
}

type ClosingAct = 'returned_by_hand' | 'noted'

/** Records that money was returned outside of the provider, or that it stays as it is. The note says why. */
export async function closeTransfer(
  deps: PaymentDeps,
  by: Handling & { note: string },
  name: TransferName,
  act: ClosingAct,
  expected: number,
): Promise<void> {
  const { place, merchantId } = by.scope
  const recordClosing = (tx: Writes, subject: string) =>
    tx.write(actRecorded(place, { actor: by.actor, act: `transfer.${act}`, merchantId, subject }))
  if (name.kind !== 'receipt') {
    return changePayment(deps, name.paymentId, {
      read: (tx) => reviewsOf(tx, name.paymentId),
      decide: (before, reviews, tx) => {
        const open = openMoneyIn(before, name, reviews, expected)
        closeOpenMoney({ tx, deps, before }, by, act, open, reviews)
        recordClosing(tx, name.kind === 'attempt' ? name.id : name.paymentId)
      },
    })
  }
  const { id: receiptId } = name
  await deps.database.transaction(async (tx) => {
    const open = await readOpen(tx, by.scope, receiptId, expected, false)
    if (act === 'returned_by_hand') {
      by.limit?.(leftOf(open.unmatched))
      assertNotHandledTwice(open)
    }
    writeReview(tx, deps, by, { kind: 'unmatched', act, receiptId, paymentId: null, ...leftOf(open.unmatched) })
    recordClosing(tx, `receipt-${receiptId}`)
    const about = { subject: receiptSubject(receiptId), reason: 'unmatched_money' as const }
    await closeOther(tx, by.scope, about, { by: by.actor, note: by.note, now: deps.clock.now() })
  })
}

interface Closing {
  tx: Writes
  deps: PaymentDeps
  before: LockedPayment
}

function closeOpenMoney(closing: Closing, by: Handling, act: ClosingAct, open: OpenMoney, reviews: Review[]): void {
  const { tx, deps, before } = closing
  const { id: paymentId, currency } = before.payment
  if (act === 'returned_by_hand') {
    by.limit?.(money(open.amount + refundedBefore(before.refunds, reviews), currency))
    recordByHand(closing, by, open)
    return
  }
  // The note on a late payment is about the payment: it says nothing about what its attempt holds.
  const review = { ...reviewOf(open), ...(open.kind === 'late' && { attemptId: null }) }
  writeReview(tx, deps, by, { ...review, act, paymentId, amount: open.amount, currency })
  if (open.kind === 'late') return
  const noted = { by: by.actor, note: by.note, now: deps.clock.now() }
  const cases = withoutCases(before.cases, (each) => isHeldBy(each, open.attempt), noted)
  writeDecision(tx, deps, before, decide({ ...before, cases }, [], noted.now), { cause: 'note' })
}

/**
 * Money that a person returned is a refund like one that was made at the provider: it neither pays the payment nor is
 * refunded again. If the person did it in the provider's dashboard, reconciliation assigns the listed refund to this
 * row.
 */
function recordByHand({ tx, deps, before }: Closing, by: Handling, open: OpenMoney): void {
  const { id: paymentId, currency } = before.payment
  const attemptId = open.attempt.id
  const first = splitReversal(before, open, before.refunds)
  const rest = { counted: true, amount: open.amount - first.amount }
  let state = before
  for (const { amount, counted } of rest.amount > 0 ? [first, rest] : [first]) {
    const wanted = { attemptId, amount, counted, kind: 'provider', reason: by.note, isDone: true } as const
    const refund = newRefund(state.payment, { ...wanted, transactionIds: [] }, deps.clock.now())
    insertRefund(tx, state.payment, refund)
    const refunds = [...state.refunds, refund]
    const returned = withRefunded(withReversal(state, attemptId, amount), refund)
    const decision = decideRefund(returned, refunds, refund, refund.createdAt)
    writeDecision(tx, deps, state, decision, { cause: 'returned by hand', refunds })
    const review = { ...reviewOf(open), act: 'returned_by_hand' as const, refundId: refund.id }
    writeReview(tx, deps, by, { ...review, paymentId, amount, currency })
    state = { ...state, ...decision.state, refunds }
  }
}

/** The payment's lock makes one of two people first; the other one finds nothing open any more. */
function openMoneyIn(
  before: LockedPayment,
  name: Exclude<TransferName, { kind: 'receipt' }>,
  reviews: Review[],
  expected: number,
): OpenMoney {
  const attempt = name.kind === 'attempt' ? before.attempts.find(({ id }) => id === name.id) : undefined
  if (name.kind === 'attempt' && !attempt) throw new Problem('not_found', UNKNOWN)
  const open = attempt ? openMoneyOf(before, attempt, reviews) : lateMoneyOf(before, reviews, before.refunds)
  if (!open || open.amount !== expected) throw new Problem('conflict', HANDLED)
  return open
}

export function reviewOf({ kind, attempt }: OpenMoney): Pick<NewReview, 'kind' | 'attemptId' | 'received'> {
  return { kind, attemptId: attempt.id, received: attempt.amountReceived }
}

/** Without what the provider had given back before we first saw it. */
function leftOf({ receipt }: UnmatchedMoney): Money {
  const { amount, currency } = receipt.amount
  return money(amount - reversedAmount(receipt), currency)
}

type Written = Omit<NewReview, 'scope' | 'actor' | 'note' | 'at' | 'attemptId' | 'received' | 'refundId'> &
  Partial<Pick<NewReview, 'attemptId' | 'received' | 'refundId'>>

export function writeReview(tx: Writes, { clock }: PaymentDeps, by: Handling, review: Written): void {
  const { actor } = splitActor(by.actor)
  insertReview(tx, {
    ...{ attemptId: null, received: null, refundId: null },
    ...review,
    ...{ scope: by.scope, note: by.note, actor, at: clock.now() },
  })
}
