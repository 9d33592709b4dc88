import type * as Contract from '../../src/http/dashboard/transfers-contract.ts'

/** Answers about money that does not add up, from the schemas that the server checks them with. */
export type Transfer = Contract.Transfer
export type Review = Contract.Review
export type TransferResult = Contract.TransferResult

export interface Dispute {
  id: string
  payment: string
  amount: number
  currency: string
  status: 'open' | 'won' | 'lost'
  reason: string | null
  respondBy: string | null
  openedAt: string
  resolvedAt: string | null
}
