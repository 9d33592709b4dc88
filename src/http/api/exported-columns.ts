import type { PaymentState } from '../../payments/state/payment-state.ts'
import type { RefundOfPayment } from '../../payments/store/refunds.ts'
import type { Transfer } from '../../payments/store/transfers.ts'
import type { ListedDelivery } from '../../webhooks/delivery-list-store.ts'
import type { Cell } from './csv.ts'

type Columns<Row> = Record<string, (row: Row) => Cell>

const payments: Columns<PaymentState> = {
  id: ({ payment }) => payment.id,
  reference: ({ payment }) => payment.reference,
  status: ({ payment }) => payment.status,
  late: ({ payment }) => payment.late,
  needsReview: ({ attempts }) => attempts.some(({ needsReview }) => needsReview !== null),
  amount: ({ payment }) => payment.amount,
  amountPaid: ({ payment }) => payment.amountPaid,
  amountRefunded: ({ payment }) => payment.amountRefunded,
  fee: ({ attempts }) => attempts.find(({ status }) => status === 'successful')?.fee ?? null,
  currency: ({ payment }) => payment.currency,
  country: ({ payment }) => payment.country,
  email: ({ payment }) => payment.user.email,
  name: ({ payment }) => payment.user.name,
  phoneNumber: ({ payment }) => payment.user.phoneNumber,
  userId: ({ payment }) => payment.user.id,
  attempts: ({ attempts }) => attempts.length,
  lastStatus: ({ attempts }) => attempts.at(-1)?.status ?? null,
  lastProvider: ({ attempts }) => attempts.at(-1)?.provider ?? null,
  lastChannel: ({ attempts }) => attempts.at(-1)?.channel ?? null,
  lastFailure: ({ attempts }) => attempts.at(-1)?.failure?.code ?? null,
  metadata: ({ payment }) => JSON.stringify(payment.metadata),
  createdAt: ({ payment }) => payment.createdAt,
  expiresAt: ({ payment }) => payment.expiresAt,
  completedAt: ({ payment }) => payment.completedAt,
}

const refunds: Columns<RefundOfPayment> = {
  id: ({ id }) => id,
  payment: ({ paymentId }) => paymentId,
  paymentReference: ({ paymentReference }) => paymentReference,
  status: ({ status }) => status,
  kind: ({ kind }) => kind,
  amount: ({ amount }) => amount,
  currency: ({ currency }) => currency,
  email: ({ email }) => email,
  provider: ({ provider }) => provider,
  reason: ({ reason }) => reason,
  failure: ({ failure }) => failure,
  needsReview: ({ needsReview }) => needsReview,
  createdAt: ({ createdAt }) => createdAt,
  resolvedAt: ({ resolvedAt }) => resolvedAt,
}

const transfers: Columns<Transfer> = {
  id: ({ id }) => id,
  kind: ({ kind }) => kind,
  amount: ({ amount }) => amount,
  currency: ({ currency }) => currency,
  provider: ({ provider }) => provider,
  transactionId: ({ transactionId }) => transactionId,
  payment: ({ paymentId }) => paymentId,
  paymentReference: ({ paymentReference }) => paymentReference,
  paymentStatus: ({ paymentStatus }) => paymentStatus,
  email: ({ email }) => email,
  due: ({ due }) => due,
  received: ({ received }) => received,
  failure: ({ failure }) => failure,
  at: ({ at }) => at,
}

const deliveries: Columns<ListedDelivery> = {
  id: ({ id }) => id,
  event: ({ eventId }) => eventId,
  payment: ({ paymentId }) => paymentId,
  type: ({ type }) => type,
  endpoint: ({ endpointId }) => endpointId,
  // Some merchants put a token into the query of their address.
  url: ({ url }) => url.replace(/[?#].*/s, ''),
  state: ({ state }) => state,
  tries: ({ tries }) => tries,
  lastStatus: ({ lastStatus }) => lastStatus,
  lastError: ({ lastError }) => lastError,
  nextTryAt: ({ nextTryAt }) => nextTryAt,
  createdAt: ({ createdAt }) => createdAt,
}

/** The columns of each exported list, in the order of the file. */
export const EXPORTED = { payments, refunds, transfers, deliveries }
