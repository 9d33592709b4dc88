import type * as Contract from '../../src/http/dashboard/transfers-contract.ts'

/** Answers about money that does not add up, from the schemas that the server checks them with. */
export type Transfer = Contract.Transfer
export type Review = Contract.Review
export type TransferResult = Contract.TransferResult

export interface Case {
  id: string
  reason:
    | 'unmatched_money'
    | 'contradiction'
    | 'missing_at_provider'
    | 'unanswered'
    | 'refund_mismatch'
    | 'refund_failed'
    | 'surplus'
    | 'underpaid'
    | 'settlement_difference'
    | 'review'
  subject: { kind: string; id: string; reference: string | null }
  payment: string | null
  provider: string | null
  amount: number | null
  currency: string | null
  summary: string
  suggestions: string[]
  status: 'open' | 'closed'
  note: string | null
  openedAt: string
  closedAt: string | null
  closedBy: string | null
}

export interface Dispute {
  id: string
  payment: string
  attempt: string
  amount: number
  currency: string
  status: 'open' | 'won' | 'lost'
  reason: string | null
  respondBy: string | null
  openedAt: string
  resolvedAt: string | null
}

export interface CustomerRow {
  email: string
  name: string | null
  lastPayment: string
  lastAt: string
}

export interface Card {
  id: string
  provider: string
  brand: string
  last4: string
  expiryMonth: number
  expiryYear: number
  createdAt: string
}

export interface Customer {
  email: string
  name: string | null
  phoneNumber: string | null
  userIds: string[]
  firstAt: string
  lastAt: string
  isPartial: boolean
  totals: {
    currency: string
    payments: number
    successful: number
    amountPaid: number
    amountRefunded: number
  }[]
  cards: Card[]
}

export interface Erasure {
  payments: number
  isComplete: boolean
}
