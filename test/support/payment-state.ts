import assert from 'node:assert/strict'
import type { Country } from '../../src/kernel/country.ts'
import { newId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { isOpenCase, needsReviewOf } from '../../src/payments/state/case.ts'
import { restartSchedule } from '../../src/payments/state/check-schedule.ts'
import type { OutcomeReport } from '../../src/payments/state/outcome-report.ts'
import type { Payment } from '../../src/payments/state/payment.ts'
import {
  addAttempt,
  type Decision,
  type PaymentState,
  storeInstructions,
} from '../../src/payments/state/payment-state.ts'
import { beyondDue } from '../../src/payments/state/reversed-money.ts'
import { settle } from '../../src/payments/state/settle.ts'
import type { Outcome, Receipt } from '../../src/providers/provider.ts'

// Payment states as plain values, for tests of the state machine without a database.

export const START = new Date('2026-11-15T10:00:00Z')
export const NGN = 'NGN' as Currency
export const PRICE = 1_000
export const after = (seconds: number) => new Date(START.getTime() + seconds * 1_000)

export function newPaymentState(): PaymentState {
  const payment: Payment = {
    id: newId('payment', START, 7),
    place: 7,
    merchantId: newId('merchant', START),
    mode: 'sandbox',
    reference: 'order-1',
    shortCode: 'x',
    link: null,
    status: 'pending',
    late: false,
    amount: PRICE,
    currency: NGN,
    country: 'NG' as Country,
    customerBearsCharge: false,
    amountPaid: 0,
    amountRefunded: 0,
    user: { id: null, email: 'ada@example.com', phoneNumber: null, name: null },
    redirectURL: null,
    webhook: null,
    metadata: {},
    sequence: 0,
    version: 0,
    createdAt: START,
    expiresAt: after(86_400),
    completedAt: null,
  }
  return { payment, attempts: [], cases: [] }
}

export function newAttempt({ payment, attempts }: PaymentState, channel: Attempt['channel'], now: Date): Attempt {
  const id = newId('attempt', now, payment.place)
  return {
    id,
    place: payment.place,
    paymentId: payment.id,
    merchantId: payment.merchantId,
    mode: payment.mode,
    number: attempts.length + 1,
    reference: `order-1-${attempts.length + 1}`,
    provider: 'any',
    keysVersion: 0,
    channel,
    input: null,
    status: 'processing',
    currency: NGN,
    amountCharged: PRICE,
    fee: 0,
    feeCharged: null,
    amountReceived: 0,
    amountReturned: 0,
    amountRefunded: 0,
    amountReversed: 0,
    idsAreProviders: false,
    orderReference: uuidOf(id),
    providerReference: uuidOf(id),
    saveCard: false,
    chargedAtOnce: false,
    byReference: false,
    pageKey: null,
    language: null,
    knownToProvider: false,
    failure: null,
    failedTryId: null,
    instructions: null,
    instructionsExpireAt: null,
    noticeSaidPaid: false,
    createdAt: now,
    askedAt: now,
    resolvedAt: null,
    answeredAt: null,
    checks: restartSchedule(now),
  }
}

/** A state whose last attempt is pending. */
export function waiting(
  channel: Attempt['channel'] = 'card',
  before = newPaymentState(),
): { state: PaymentState; attempt: Attempt } {
  const begun = addAttempt(before, newAttempt(before, channel, START)).state
  const { id } = begun.attempts.at(-1) as Attempt
  const issued = { instructions: null, instructionsExpireAt: after(1_800), providerReference: 'p' }
  const { state } = storeInstructions(begun, id, issued, START)
  return { state, attempt: state.attempts.at(-1) as Attempt }
}

let transactions = 0
export const receipt = (amount: number, currency = NGN): Receipt => ({
  transactionId: `tx${++transactions}`,
  idIsProviders: true,
  amount: money(amount, currency),
  at: START,
})
export const declined = (tryId = 't1'): Outcome => ({
  kind: 'declined',
  failure: { code: 'insufficient_funds', message: 'Not enough money.', providerCode: null },
  tryId,
})
export const paid = (...receipts: Receipt[]): Outcome => ({ kind: 'paid', receipts })
export const pending = (...receipts: Receipt[]): Outcome => ({ kind: 'pending', receipts })
export const UNKNOWN: Outcome = { kind: 'unknown', because: 'silence' }

export function settleWith(
  state: PaymentState,
  attempt: Attempt,
  outcome: Outcome,
  more: Partial<OutcomeReport> = {},
): Decision {
  const newReceipts = 'receipts' in outcome ? outcome.receipts : []
  return settle(state, { attemptId: attempt.id, outcome, newReceipts, source: 'notice', now: after(60), ...more })
}
/** Without the events of cases. */
export const types = ({ changes }: Decision) =>
  changes.map(({ type }) => type).filter((type) => !type.startsWith('case.'))
export const first = ({ state }: Pick<Decision, 'state'>) => state.attempts[0] as Attempt
export const reviewOfFirst = (decision: Pick<Decision, 'state'>) =>
  needsReviewOf(decision.state.cases, first(decision).id)

/** Money that an ended payment holds and that was not due has one open case, on its attempt. */
export function assertHeldMoneyHasCase(state: PaymentState): void {
  const { payment, attempts, cases } = state
  const held = cases.filter((each) => isOpenCase(each) && /^(surplus|underpaid)$/.test(each.reason))
  const ended = payment.status === 'pending' ? [] : attempts
  const expected = ended.filter((attempt) => beyondDue(state, attempt) > 0).map(({ id }) => id)
  assert.deepEqual(held.map(({ subject }) => subject.id).toSorted(), expected.toSorted())
}
