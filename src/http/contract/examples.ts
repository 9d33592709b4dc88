import { PROVIDERS } from '../../providers/registry.ts'

/**
 * Examples of the OpenAPI document. The schemas take them as `examples`; openapi.ts builds whole messages from them.
 */
const PROVIDER = PROVIDERS.find(({ capabilities }) => !capabilities.sandboxOnly)?.capabilities.name
const CREATED = '2026-11-15T07:16:33.470Z'
const PAID = '2026-11-15T07:16:33.792Z'
const EXPIRES = '2026-11-16T07:16:33.470Z'
const PAYMENT_ID = 'chk_8e1Ch4JaAPXkak4WGcFKWFwV'
const BASE = 'https://pay.example.com'

export const attemptExample = {
  id: 'att_8e1Ch4JaATWABVefpHecuySW',
  reference: 'ORD-20932-yn0s9t3tyb',
  number: 1,
  provider: PROVIDER,
  channel: 'card',
  status: 'successful',
  amountCharged: 1_250_000,
  fee: 28_750,
  feeCharged: 28_750,
  amountReceived: 1_250_000,
  failure: null,
  needsReview: null,
  providerReference: '01a1de109e467f989486b23b1be38897',
  paidFrom: null,
  instructions: {
    link: 'https://provider.example/pay/0peioxfhpn',
    publicKey: 'pk_live_5f2a9c',
    expiresAt: EXPIRES,
  },
  createdAt: CREATED,
  resolvedAt: PAID,
}

export const failedAttemptExample = {
  ...attemptExample,
  status: 'failed',
  amountReceived: 0,
  failure: {
    code: 'insufficient_funds',
    message: 'Insufficient Funds',
    retryable: true,
    providerCode: '51',
  },
}

export const refundExample = {
  id: 'rfd_8e1Ch4JbQdZ7Rk4pS8wXnT2M',
  payment: PAYMENT_ID,
  amount: 250_000,
  currency: 'NGN',
  kind: 'merchant',
  status: 'successful',
  reason: 'one item returned',
  failure: null,
  needsReview: null,
  createdAt: '2026-11-16T09:30:00.000Z',
  resolvedAt: '2026-11-16T09:30:02.114Z',
}

export const disputeExample = {
  id: 'dsp_8e1Ch4JcVn3Tz6yRq5KpLw8B',
  payment: 'ORD-20932',
  attempt: attemptExample.id,
  amount: 1_250_000,
  currency: 'NGN',
  status: 'open',
  reason: 'fraudulent',
  respondBy: '2026-11-30T23:59:59.000Z',
  openedAt: '2026-11-20T10:00:00.000Z',
  resolvedAt: null,
}

export const checkoutExample = {
  id: PAYMENT_ID,
  url: `${BASE}/pay/${PAYMENT_ID}`,
  shortURL: `${BASE}/s/3RxCx8eykHT5jGR`,
  reference: 'ORD-20932',
  amount: 1_250_000,
}

export const paymentExample = {
  id: PAYMENT_ID,
  reference: 'ORD-20932',
  mode: 'live',
  status: 'successful',
  late: false,
  amount: 1_250_000,
  currency: 'NGN',
  country: 'NG',
  customerBearsCharge: false,
  fee: 28_750,
  feeCharged: 28_750,
  amountCharged: 1_250_000,
  amountPaid: 1_250_000,
  amountRefunded: 250_000,
  user: { id: 'customer-1842', email: 'ada@example.com', phoneNumber: '+2348012345678', name: 'Ada' },
  redirectURL: 'https://shop.example/thanks',
  webhook: 'https://shop.example/webhooks',
  metadata: { cart: '17' },
  link: null,
  url: checkoutExample.url,
  shortURL: checkoutExample.shortURL,
  attempts: [attemptExample],
  refunds: [refundExample],
  createdAt: CREATED,
  expiresAt: EXPIRES,
  completedAt: PAID,
}

export const linkExample = {
  id: 'lnk_8e1Ch4JgRt2Ye5rNw9UyKc7S',
  url: `${BASE}/l/3RxCy8ePqWn4ZkT`,
  mode: 'live',
  status: 'active',
  title: 'Cooking class',
  description: 'Saturday, 10:00, at our kitchen in Yaba.',
  amount: 1_250_000,
  minAmount: null,
  maxAmount: null,
  currency: 'NGN',
  country: 'NG',
  customerBearsCharge: false,
  collectName: true,
  collectPhoneNumber: false,
  customField: 'Dish to learn',
  maxPayments: 12,
  timesPaid: 3,
  active: true,
  redirectURL: 'https://shop.example/thanks',
  metadata: { class: 'saturday' },
  createdAt: CREATED,
  expiresAt: EXPIRES,
}

export const initializedExample = {
  provider: PROVIDER,
  channel: 'card',
  reference: attemptExample.reference,
  amount: 1_250_000,
  data: {
    message: `Follow <a href="${attemptExample.instructions.link}">this link</a> to complete your payment of ₦12,500.00.`,
    link: attemptExample.instructions.link,
    reference: attemptExample.providerReference,
    publicKey: attemptExample.instructions.publicKey,
  },
}

export const cardExample = {
  id: 'crd_8e1Ch4JdWm5Xb2nHs9QvGy4K',
  provider: PROVIDER,
  userId: 'customer-1842',
  email: 'ada@example.com',
  brand: 'Visa',
  last4: '4081',
  expiryMonth: 12,
  expiryYear: 2030,
  createdAt: PAID,
}

export const timelineExample = {
  at: CREATED,
  kind: 'change',
  what: 'attempt started',
  attempt: attemptExample.reference,
  detail: { provider: PROVIDER, channel: 'card' },
}

export const settlementExample = {
  id: 'stl_8e1Ch4JhWq3Xn8vLz5RtYb6K',
  mode: 'live',
  provider: PROVIDER,
  providerId: '3090024',
  status: 'paid',
  because: null,
  currency: 'NGN',
  gross: 1_250_000,
  fees: 28_750,
  deductions: 0,
  net: 1_221_250,
  expectedOn: '2026-11-16',
  paidAt: '2026-11-16T08:00:00.000Z',
  madeAt: '2026-11-16T05:00:00.000Z',
  bankReference: null,
  lines: { count: 1, foreign: 0 },
  bankCredit: { id: 'bank-17', day: '2026-11-16' },
  difference: null,
}

export const settlementLineExample = {
  kind: 'payment',
  payment: 'ORD-20932',
  paymentId: PAYMENT_ID,
  transactionId: '4099260516',
  orderReference: attemptExample.providerReference,
  gross: 1_250_000,
  fee: 28_750,
  net: 1_221_250,
}

export const quoteExample = {
  provider: PROVIDER,
  channel: 'card',
  fee: 28_750,
  amountCharged: 1_250_000,
  amountSettled: 1_221_250,
}

export const channelExample = {
  provider: `${PROVIDER}-mobile-money`,
  channel: 'mobile-money',
  title: 'Mobile money',
  country: 'GH',
  currency: 'GHS',
  limits: { min: 100, max: 500_000 },
  fields: ['phoneNumber', 'network'],
  networks: [{ code: 'mtn', name: 'MTN MoMo', phoneNumber: true, preAuthorisationCode: false, available: true }],
  codeHelp: null,
  phonePrefix: '+233',
  banks: [{ code: '044', name: 'Access Bank' }],
  lifetimeSeconds: 180,
}

export const integrationExample = {
  provider: PROVIDER,
  enabled: true,
  settings: { publicKey: 'pk_live_5f2a9c' },
  secretsSet: ['secretKey'],
  baseURL: 'https://api.provider.example',
  channels: ['card', 'virtual-bank-account'],
  countries: ['NG'],
  currencies: ['NGN'],
  priority: 10,
  noticeURL: `${BASE}/notices/${PROVIDER}/live/mer_1Ch3zXq7Vb9tLs4RkWp2Dn`,
  createdAt: CREATED,
  updatedAt: CREATED,
}

export const caseExample = {
  id: 'cas_8e1Ch4M2Qw8ZkTr5VnYs4HdJ',
  mode: 'live',
  reason: 'surplus',
  subject: { kind: 'attempt', id: attemptExample.id, reference: attemptExample.reference },
  payment: paymentExample.reference,
  provider: PROVIDER,
  amount: 1_250_000,
  currency: 'NGN',
  summary: 'NGN 12,500.00 more came in than was due.',
  suggestions: ['refund', 'close'],
  status: 'open',
  note: null,
  openedAt: PAID,
  closedAt: null,
  closedBy: null,
}

export const endpointExample = {
  id: 'whe_1Ch4JeKr8Yc3pLt7SwHz5N',
  url: 'https://shop.example/webhooks',
  events: ['payment.successful', 'refund.successful'],
  enabled: true,
  disabledReason: null,
  failingSince: null,
  createdAt: CREATED,
}

export const eventExample = {
  id: 'evt_8e1Ch4JaBqLsTvfWVdSdxxfW',
  type: 'payment.successful',
  timestamp: '2026-11-15T07:16:33.800Z',
  mode: 'live',
  sequence: 4,
  data: { payment: paymentExample, attempt: attemptExample },
}

export const deliveryExample = {
  id: 'dlv_8e1Ch4JfPs9Zd4qMv8TxJb6R',
  endpoint: endpointExample.id,
  url: endpointExample.url,
  state: 'delivered',
  nextTryAt: null,
  tries: [{ number: 1, at: '2026-11-15T07:16:33.842Z', status: 204, error: null, tookMs: 38, answer: '' }],
}

export const secretExample = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  previousValidUntil: '2026-11-16T07:16:33.470Z',
}
