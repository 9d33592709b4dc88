import type { PaymentRow } from '../../src/http/dashboard/rows-contract.ts'

/**
 * Answers about payments. Rows of lists have the types of their schemas. The schemas of the others import half of the
 * server, which this program cannot compile, so they are written again here; test/dashboard-answers.ts checks that the
 * server's answers are of these types.
 */
export type { Delivery, PaymentRow } from '../../src/http/dashboard/rows-contract.ts'

export interface Page<Row> {
  data: Row[]
  nextCursor: string | null
}

export type PaymentStatus = PaymentRow['status']
export type AttemptStatus = NonNullable<PaymentRow['lastStatus']>
export type Channel = NonNullable<PaymentRow['lastChannel']>

export interface Attempt {
  id: string
  reference: string
  number: number
  provider: string
  channel: Channel
  status: AttemptStatus
  amountCharged: number
  fee: number
  feeCharged: number | null
  amountReceived: number
  failure: { code: string; message: string; retryable: boolean; providerCode: string | null } | null
  needsReview: string | null
  providerReference: string
  paidFrom: { phoneNumber: string | null; network: string | null; bank: string | null } | null
  instructions: Record<string, unknown> | null
  createdAt: string
  resolvedAt: string | null
}

export interface Refund {
  id: string
  payment: string
  amount: number
  currency: string
  kind: string
  status: string
  reason: string | null
  failure: string | null
  needsReview: string | null
  createdAt: string
  resolvedAt: string | null
}

/** Whether a refund needs the customer's bank account, and the banks to choose from. */
export interface RefundAccount {
  needed: boolean
  provider: string
  banks: { code: string; name: string }[]
}

export interface RefundRow extends Refund {
  paymentReference: string
  email: string
  provider: string
}

export interface Payment {
  id: string
  reference: string
  status: PaymentStatus
  late: boolean
  amount: number
  currency: string
  country: string
  customerBearsCharge: boolean
  fee: number | null
  feeCharged: number | null
  amountCharged: number | null
  amountPaid: number
  amountRefunded: number
  user: { id: string | null; email: string; phoneNumber: string | null; name: string | null }
  redirectURL: string | null
  webhook: string | null
  metadata: Record<string, string>
  link: string | null
  url: string
  shortURL: string
  attempts: Attempt[]
  refunds: Refund[]
  createdAt: string
  expiresAt: string
  completedAt: string | null
}

export interface TimelineEntry {
  at: string
  kind: string
  what: string
  attempt: string | null
  detail: Record<string, unknown>
}

export interface Checkout {
  id: string
  url: string
  shortURL: string
  reference: string
  amount: number
}

export interface PaymentLink {
  id: string
  url: string
  status: 'active' | 'inactive' | 'expired' | 'used_up'
  title: string
  description: string | null
  amount: number | null
  minAmount: number | null
  maxAmount: number | null
  currency: string
  country: string
  customerBearsCharge: boolean
  collectName: boolean
  collectPhoneNumber: boolean
  customField: string | null
  maxPayments: number | null
  timesPaid: number
  active: boolean
  redirectURL: string | null
  metadata: Record<string, string>
  createdAt: string
  expiresAt: string | null
}

export interface EventWithDeliveries {
  event: Record<string, unknown>
  deliveries: {
    id: string
    tries: {
      number: number
      at: string
      status: number | null
      error: string | null
      tookMs: number
      answer: string
    }[]
  }[]
}

export interface Endpoint {
  id: string
  url: string
  events: string[]
  enabled: boolean
  disabledReason: string | null
  failingSince: string | null
  createdAt: string
}

export interface NewEndpoint extends Endpoint {
  secret: string
}

export interface NewSecret {
  secret: string
  previousValidUntil: string
}

export interface EndpointTest {
  delivered: boolean
  status: number | null
  error: string | null
  tookMs: number
  answer: string
}

export interface ProviderRow {
  provider: string
  title: string
  channels: Channel[]
  countries: string[]
  currencies: string[]
  fees: { channel: Channel; currency: string; text: string }[]
  settings: { name: string; about: string; secret: boolean; optional: boolean; looksLike: string }[]
  noticeURL: string
  noticeSeen: boolean
  healthy: boolean
  lists: { kind: string; comparedAt: string | null; failure: string | null; unsupported: string | null }[]
  integration: {
    provider: string
    enabled: boolean
    settings: Record<string, string>
    secretsSet: string[]
    baseURL: string | null
    channels: Channel[]
    priority: number
    updatedAt: string
  } | null
}

export interface KeysVerdict {
  keys: string
  reason: string | null
}
