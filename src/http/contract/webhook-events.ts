import { ANNOUNCED, type AnnouncedType } from '../../events/event.ts'
import { Dispute } from './dispute.ts'
import {
  attemptExample,
  caseExample,
  disputeExample,
  eventExample,
  failedAttemptExample,
  refundExample,
  settlementExample,
} from './examples.ts'

interface WebhookEvent {
  summary: string
  description: string
  /** Members of `data` beside `payment`. */
  data: Partial<Record<keyof typeof DATA, unknown>>
}

const MONEY = {
  type: 'object',
  required: ['amount', 'currency'],
  properties: { amount: { type: 'integer' }, currency: { type: 'string' } },
}
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })

const { payment: _ofPayment, attempt: _ofAttempt, ...disputeMembers } = Dispute.properties

const DATA = {
  attempt: reference('Attempt'),
  refund: reference('Refund'),
  dispute: {
    type: 'object',
    required: Object.keys(disputeMembers),
    properties: disputeMembers,
    description: 'A dispute without `payment` and `attempt`, which stand beside it.',
  },
  case: reference('Case'),
  settlement: reference('Settlement'),
  missing: MONEY,
  excess: MONEY,
  surplus: MONEY,
}

const attempt = attemptExample
const money = { amount: 50_000, currency: 'NGN' }
const { payment: _payment, attempt: _attempt, ...dispute } = disputeExample
const resolved = { ...dispute, resolvedAt: '2026-12-02T10:00:00.000Z' }
const DIFFERENCE = 'Its 2 lines sum up to ₦12,212.50, and net is ₦12,000.00: a difference of ₦212.50.'
const PAID_LATER = '2026-11-16T09:00:00.000Z'
const chargeback = { ...refundExample, amount: dispute.amount, kind: 'chargeback', reason: null }

const EVENTS: Record<AnnouncedType, WebhookEvent> = {
  'payment.successful': {
    summary: 'Payment successful',
    description: 'The payment is paid. Sent once per payment.',
    data: { attempt },
  },
  'payment.cancelled': { summary: 'Payment cancelled', description: 'The payment ended unpaid.', data: {} },
  'payment.expired': { summary: 'Payment expired', description: 'The payment ended unpaid.', data: {} },
  'payment.underpaid': {
    summary: 'Payment underpaid',
    description: 'A transfer brought less than the amount. The payment stays `pending`.',
    data: { attempt: { ...attempt, status: 'pending', amountReceived: 1_200_000 }, missing: money },
  },
  'payment.overpaid': {
    summary: 'Payment overpaid',
    description: 'More than the amount arrived. Sent in addition to `payment.successful`.',
    data: { attempt: { ...attempt, amountReceived: 1_300_000 }, excess: money },
  },
  'payment.surplus': {
    summary: 'Payment surplus',
    description: 'Money arrived for a payment that was already paid. It is refunded where the provider supports that.',
    data: { attempt: { ...attempt, status: 'surplus' }, surplus: { ...money, amount: 1_250_000 } },
  },
  'attempt.failed': {
    summary: 'Attempt failed',
    description: 'One attempt failed. The payment stays `pending`, and the customer can try again.',
    data: { attempt: failedAttemptExample },
  },
  'refund.successful': {
    summary: 'Refund successful',
    description: 'The money went back to the customer.',
    data: { attempt, refund: refundExample },
  },
  'refund.failed': {
    summary: 'Refund failed',
    description: 'The provider rejected the refund, or reported later that it failed.',
    data: { attempt, refund: { ...refundExample, status: 'failed', failure: 'the account is closed' } },
  },
  'refund.needs_review': {
    summary: 'Refund needs review',
    description:
      'The provider has not finished the refund in time (3 days, longer for some providers), or waits for the customer’s bank account: `needsReview` says which.',
    data: {
      attempt,
      refund: { ...refundExample, status: 'pending', resolvedAt: null, needsReview: 'pending for 3 days' },
    },
  },
  'dispute.opened': {
    summary: 'Dispute opened',
    description: 'The customer disputes the charge with their bank.',
    data: { attempt, dispute },
  },
  'dispute.updated': {
    summary: 'Dispute updated',
    description: 'The amount, the reason or `respondBy` of an open dispute changed.',
    data: { attempt, dispute },
  },
  'dispute.won': {
    summary: 'Dispute won',
    description: 'The money stays with you.',
    data: { attempt, dispute: { ...resolved, status: 'won' } },
  },
  'dispute.lost': {
    summary: 'Dispute lost',
    description: 'The money went back to the customer; `refund` counts it.',
    data: { attempt, dispute: { ...resolved, status: 'lost' }, refund: chargeback },
  },
  'case.opened': {
    summary: 'Case opened',
    description:
      'A person must decide: the books and the provider differ, or money is left over. Sent again for the same case when more is known. `payment` and `sequence` are null for money of no payment, and for an account as a whole.',
    data: { case: caseExample },
  },
  'case.closed': {
    summary: 'Case closed',
    description: 'A person closed it with a note, or the records agree again: then `closedBy` is `books`.',
    data: { case: { ...caseExample, suggestions: [], status: 'closed', closedAt: PAID_LATER, closedBy: 'books' } },
  },
  'settlement.paid': {
    summary: 'Settlement paid',
    description: 'A provider paid out to your bank account, and its lines are on record. Sent once per settlement.',
    data: { settlement: settlementExample },
  },
  'settlement.difference': {
    summary: 'Settlement difference',
    description: 'A settlement does not add up, or its payout failed: `difference` says how. There is a case, too.',
    data: { settlement: { ...settlementExample, difference: DIFFERENCE } },
  },
}

/** Cases may be about no payment, and settlements are about many. */
const mayLackPayment = (type: AnnouncedType) => /^(case|settlement)\./.test(type)

function webhookOf(type: AnnouncedType) {
  const { summary, description, data } = EVENTS[type]
  const members = Object.keys(data) as (keyof typeof DATA)[]
  const schema = {
    type: 'object',
    required: ['id', 'type', 'timestamp', 'mode', 'sequence', 'data'],
    properties: {
      id: { type: 'string', description: 'The same for each try. Handle each id once.' },
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time' },
      mode: { type: 'string', enum: ['sandbox', 'live'] },
      sequence: {
        type: mayLackPayment(type) ? ['integer', 'null'] : 'integer',
        description: 'Rises with each change of the payment.',
      },
      data: {
        type: 'object',
        required: ['payment', ...members],
        properties: {
          payment: mayLackPayment(type) ? { anyOf: [reference('Payment'), { type: 'null' }] } : reference('Payment'),
          ...Object.fromEntries(members.map((member) => [member, DATA[member]])),
        },
      },
    },
  }
  const example = { ...eventExample, type, data: { payment: eventExample.data.payment, ...data } }
  return {
    operationId: `on ${type}`,
    summary,
    description,
    tags: ['Webhooks'],
    parameters: HEADERS,
    requestBody: { required: true, content: { 'application/json': { schema, example } } },
    responses: {
      '2XX': { description: 'The event is delivered. Any other answer is tried again, ten times in three days.' },
    },
  }
}

const HEADERS = [
  header('webhook-id', 'The id of the event, the same for each try.', eventExample.id),
  header('webhook-timestamp', 'When this try was signed, in seconds since 1970.', '1794726993'),
  header(
    'webhook-signature',
    'Standard Webhooks: `v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`.',
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ),
]

function header(name: string, description: string, example: string) {
  return { name, in: 'header', required: true, description, schema: { type: 'string' }, example }
}

/** The `webhooks` section of the OpenAPI document: one POST per event type. */
export const webhookEvents = Object.fromEntries(ANNOUNCED.map((type) => [type, { post: webhookOf(type) }]))
