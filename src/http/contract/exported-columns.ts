import { type Currency, plainAmount } from '../../kernel/money.ts'
import { dayIn } from '../../kernel/time-zone.ts'
import type { SettlementLine } from '../../payments/state/settlement.ts'
import type { ListedPayment } from '../../payments/store/payment-search.ts'
import type { RefundOfPayment } from '../../payments/store/refunds.ts'
import type { ListedSettlement } from '../../payments/store/settlements.ts'
import type { Transfer } from '../../payments/store/transfers.ts'
import type { ListedDelivery } from '../../webhooks/delivery-list-store.ts'
import type { Cell } from './csv.ts'

/** The zone of its local days. */
export interface InZone {
  zone: string
}

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
  feeCharged: ({ feeCharged }) => feeCharged,
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

/** A number for spreadsheets: naira for kobo. */
function decimal(amount: number | null, currency: string): number | null {
  if (amount === null) return null
  return Math.sign(amount) * Number(plainAmount({ amount: Math.abs(amount), currency: currency as Currency }))
}

/** The day in the merchant's zone. */
const localDay = (at: Date | null, zone: string) => at && dayIn(at, zone)

const settlements: Columns<ListedSettlement & InZone> = {
  id: ({ id }) => id,
  provider: ({ provider }) => provider,
  providerId: ({ providerId }) => providerId,
  status: ({ status }) => status,
  currency: ({ currency }) => currency,
  gross: ({ gross }) => gross,
  fees: ({ fees }) => fees,
  deductions: ({ deductions }) => deductions,
  net: ({ net }) => net,
  grossDecimal: ({ gross, currency }) => decimal(gross, currency),
  feesDecimal: ({ fees, currency }) => decimal(fees, currency),
  deductionsDecimal: ({ deductions, currency }) => decimal(deductions, currency),
  netDecimal: ({ net, currency }) => decimal(net, currency),
  expectedOn: ({ expectedOn }) => expectedOn,
  paidOn: ({ paidAt, zone }) => localDay(paidAt, zone),
  paidAt: ({ paidAt }) => paidAt,
  madeAt: ({ madeAt }) => madeAt,
  bankReference: ({ bankReference }) => bankReference,
  bankDay: ({ credit }) => credit?.day ?? null,
  lines: ({ lines, linesState }) => (linesState === 'read' ? lines.count : null),
  foreignLines: ({ lines, linesState }) => (linesState === 'read' ? lines.foreign : null),
  difference: ({ openCase }) => openCase,
}

const settlementLines: Columns<SettlementLine & { of: ListedSettlement & InZone }> = {
  settlement: ({ of }) => of.id,
  provider: ({ of }) => of.provider,
  status: ({ of }) => of.status,
  paidOn: ({ of }) => localDay(of.paidAt, of.zone),
  kind: ({ kind }) => kind,
  payment: ({ paymentId }) => paymentId,
  paymentReference: ({ payment }) => payment,
  transactionId: ({ transactionId }) => transactionId,
  orderReference: ({ orderReference }) => orderReference,
  currency: ({ of }) => of.currency,
  gross: ({ gross }) => gross,
  fee: ({ fee }) => fee,
  net: ({ net }) => net,
  grossDecimal: ({ gross, of }) => decimal(gross, of.currency),
  feeDecimal: ({ fee, of }) => decimal(fee, of.currency),
  netDecimal: ({ net, of }) => decimal(net, of.currency),
}

/** The columns of each exported list, in the order of the file. */
export const EXPORTED = { payments, refunds, transfers, deliveries, settlements, 'settlement-lines': settlementLines }
