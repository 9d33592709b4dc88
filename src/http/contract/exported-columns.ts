import type { ListedPayment } from '../../payments/store/payment-search.ts'
import type { RefundOfPayment } from '../../payments/store/refunds.ts'
import type { Transfer } from '../../payments/store/transfers.ts'
import type { ListedDelivery } from '../../webhooks/delivery-list-store.ts'
import type { Cell } from './csv.ts'

type Columns<Row> = Record<string, (row: Row) => Cell>

const payments: Columns<ListedPayment> = {
  id: ({ id }) => id,
  reference: ({ reference }) => reference,
  status: ({ status }) => status,
  late: ({ late }) => late,
  needsReview: ({ needsReview }) => needsReview,
  amount: ({ amount }) => amount,
  amountPaid: ({ amountPaid }) => amountPaid,
  amountRefunded: ({ amountRefunded }) => amountRefunded,
  fee: ({ fee }) => fee,
  currency: ({ currency }) => currency,
  country: ({ country }) => country,
  email: ({ email }) => email,
  name: ({ name }) => name,
  phoneNumber: ({ phoneNumber }) => phoneNumber,
  userId: ({ userId }) => userId,
  attempts: ({ attempts }) => attempts,
  lastStatus: ({ lastStatus }) => lastStatus,
  lastProvider: ({ lastProvider }) => lastProvider,
  lastChannel: ({ lastChannel }) => lastChannel,
  lastFailure: ({ lastFailure }) => lastFailure,
  metadata: ({ metadata }) => JSON.stringify(metadata),
  createdAt: ({ createdAt }) => createdAt,
  expiresAt: ({ expiresAt }) => expiresAt,
  completedAt: ({ completedAt }) => completedAt,
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
