/** Answers about settlements. test/dashboard-answers.ts checks that the server's answers are of these types. */

export type LineKind = 'payment' | 'refund' | 'dispute' | 'fee' | 'adjustment'

export interface Settlement {
  id: string
  provider: string
  providerId: string
  status: 'pending' | 'paid' | 'failed'
  because: string | null
  currency: string
  gross: number | null
  fees: number | null
  deductions: number | null
  net: number | null
  expectedOn: string | null
  paidAt: string | null
  madeAt: string
  bankReference: string | null
  lines: { count: number; foreign: number } | null
  bankCredit: { id: string; day: string } | null
  difference: string | null
}

export interface SettlementWithSums extends Settlement {
  sums: { kind: LineKind; count: number; gross: number; fees: number; net: number }[]
}

export interface SettlementLine {
  kind: LineKind
  payment: string | null
  paymentId: string | null
  transactionId: string | null
  orderReference: string | null
  gross: number
  fee: number | null
  net: number | null
}

/** A line that contradicts itself, or our records of the money. */
export interface OddLine {
  key: string
  kind: LineKind
  payment: string | null
  gross: number
  fee: number | null
  net: number | null
  received: number | null
  feeCharged: number | null
  isInAnother: boolean
}

export interface Unsettled {
  payment: string | null
  paymentId: string | null
  provider: string
  transactionId: string
  amount: number
  currency: string
  takenAt: string
  expectedOn: string
  late: boolean
}

export interface UnsettledSum {
  provider: string
  currency: string
  usualDays: number
  payments: number
  amount: number
  late: number
  lateAmount: number
  refunds: number
  refundAmount: number
}

export interface ChargedFees {
  provider: string
  currency: string
  month: string
  payments: number
  gross: number
  fees: number
  feesCharged: number
}

/** A part of a payment's money, and the settlement that it is in. Null: no settlement has it yet. */
export interface PaymentSettlement {
  settlement: string | null
  provider: string
  providerId: string | null
  status: Settlement['status'] | null
  kind: LineKind | null
  currency: string
  gross: number
  fee: number | null
  net: number | null
  paidAt: string | null
  expectedOn: string | null
  bankReference: string | null
  bankDay: string | null
  late: boolean
}

export interface MoneySum {
  currency: string
  gross: number
  fees: number
  calculated: number
  refunds: number
  disputes: number
}

/** The names of the columns of a bank statement. */
export interface BankColumns {
  date: string
  amount: string
  dateOrder: 'day-month' | 'month-day'
}

export interface UploadedStatement {
  credits: number
  skipped: number
  added: number
  matched: number
}

export interface BankCredit {
  id: string
  day: string
  amount: number
  currency: string
  line: number
  settlement: string | null
}
