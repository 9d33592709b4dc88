import { type Static, Type } from 'typebox'
import { PAYMENT_STATUSES } from '../../payments/state/statuses.ts'
import { BankAccount } from '../contract/bank-account.ts'
import { dataOf, listOf, nullable } from '../contract/schema.ts'

/** Money that does not add up, and what people did with it. */

const oneOf = <Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values] })
const MONEY_KINDS = ['unmatched', 'underpaid', 'overpaid', 'surplus', 'late'] as const
const ACTS = ['matched', 'returned', 'returned_by_hand', 'noted', 'reviewed'] as const
const Moment = Type.String({ description: 'ISO 8601, UTC' })
const Limit = Type.Optional(Type.String({ format: 'page-size' }))
/** Plain text: it is shown to other members. */
const Note = Type.String({ format: 'plain-text', minLength: 1, maxLength: 500 })
const Amount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
export const TransfersQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String({ pattern: `^\\d{1,16}\\.${UUID}\\.${UUID}$` })),
})
const Transfer = Type.Object({
  id: Type.String(),
  kind: oneOf(MONEY_KINDS),
  provider: Type.String(),
  transactionId: nullable(Type.String()),
  payment: nullable(Type.String()),
  paymentReference: nullable(Type.String()),
  paymentStatus: nullable(oneOf(PAYMENT_STATUSES)),
  email: nullable(Type.String()),
  /** Money that a member has to match, return or note. */
  amount: Type.Integer(),
  currency: Type.String(),
  due: nullable(Type.Integer()),
  received: Type.Integer(),
  failure: nullable(Type.String()),
  at: Moment,
})
export type Transfer = Static<typeof Transfer>
export const TransfersAnswer = listOf(Transfer)

export const HandledQuery = Type.Object({
  limit: Limit,
  cursor: Type.Optional(Type.String({ format: 'review-cursor' })),
})
const Review = Type.Object({
  id: Type.String(),
  kind: oneOf([...MONEY_KINDS, 'payment']),
  act: oneOf(ACTS),
  payment: nullable(Type.String()),
  paymentReference: nullable(Type.String()),
  provider: nullable(Type.String()),
  transactionId: nullable(Type.String()),
  amount: Type.Integer(),
  currency: Type.String(),
  note: nullable(Type.String()),
  /** The name of the member; null if the account is gone. */
  by: nullable(Type.String()),
  at: Moment,
  refundStatus: nullable(oneOf(['pending', 'successful', 'failed'])),
  refundFailure: nullable(Type.String()),
})
export type Review = Static<typeof Review>
export const ReviewsAnswer = listOf(Review)

/** `amount`: the one that the member saw. If it has changed since, the request is refused. */
export const MatchTransfer = Type.Object({
  payment: Type.String({ minLength: 1, maxLength: 120 }),
  amount: Amount,
  note: Type.Optional(Note),
})
export type MatchTransfer = Static<typeof MatchTransfer>
export const RefundTransfer = Type.Object({
  amount: Amount,
  byHand: Type.Boolean(),
  note: Note,
  destinationAccountNumber: Type.Optional(BankAccount.destinationAccountNumber),
  destinationAccountBankCode: Type.Optional(BankAccount.destinationAccountBankCode),
})
export type RefundTransfer = Static<typeof RefundTransfer>
export const NoteTransfer = Type.Object({ amount: Amount, note: Note })
export type NoteTransfer = Static<typeof NoteTransfer>
export const ReviewPayment = Type.Object({ note: Note })
export type ReviewPayment = Static<typeof ReviewPayment>

/** `returned`: the provider has it, or is working on it. `failed`: it refused, and the money is on the list again. */
export const TransferResult = dataOf(
  Type.Object({
    state: oneOf(['matched', 'returned', 'returning', 'failed', 'noted']),
    /** After a match: the status of the payment. */
    paymentStatus: nullable(oneOf(PAYMENT_STATUSES)),
    failure: nullable(Type.String()),
  }),
)
export type TransferResult = Static<typeof TransferResult>['data']
