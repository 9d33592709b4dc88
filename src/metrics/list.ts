/**
 * Every metric of ours. The registry, docs/operations/metrics.md and the Grafana dashboard are made from this list.
 * Labels have few values: no merchant and no reference, which would make the number of series unbounded.
 */
export interface Metric {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  group: Group
  help: string
  labels: readonly string[]
  /** The labels that the dashboard draws a line for. Absent: all. */
  drawnBy?: readonly string[]
  /** Upper bounds of a histogram. */
  buckets?: readonly number[]
  /** `max`: each process reads the same number from the database. `sum`: each has its own. */
  of?: 'max' | 'sum'
}

export const GROUPS = [
  'Payments',
  'Queues',
  'For a person',
  'Providers',
  'Webhooks',
  'Requests',
  'Retention',
  'Process',
] as const
export type Group = (typeof GROUPS)[number]

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const LONG_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

export const METRICS = {
  attempts: {
    ...{ name: 'manilla_attempts_total', type: 'counter', group: 'Payments' },
    help: 'Attempts that started or ended, by provider and outcome.',
    labels: ['provider', 'mode', 'outcome'],
  },
  payments: {
    ...{ name: 'manilla_payments_total', type: 'counter', group: 'Payments' },
    help: 'Payments that were paid, cancelled or expired, or got too little or too much money.',
    labels: ['mode', 'outcome'],
  },

  queueDepth: {
    ...{ name: 'manilla_queue_depth', type: 'gauge', group: 'Queues', of: 'max' },
    help: 'Work that is due, counted up to 10 001. Deliveries include those that wait for a retry.',
    labels: ['queue'],
  },
  queueOldestSeconds: {
    ...{ name: 'manilla_queue_oldest_seconds', type: 'gauge', group: 'Queues', of: 'max' },
    help: 'Time since the oldest due work of a queue became due; 0 if nothing is due.',
    labels: ['queue'],
  },
  deliveryWorkers: {
    ...{ name: 'manilla_delivery_workers', type: 'gauge', group: 'Queues', of: 'max' },
    help: 'Processes that send webhooks (ROLE all or worker).',
    labels: [],
  },
  jobFailures: {
    ...{ name: 'manilla_job_failures_total', type: 'counter', group: 'Queues' },
    help: 'Runs of a background job that failed. It is retried.',
    labels: ['task'],
  },

  needsReview: {
    ...{ name: 'manilla_needs_review', type: 'gauge', group: 'For a person', of: 'max' },
    help: 'Open cases of attempts and accounts that a person must decide.',
    labels: ['mode'],
  },
  unmatchedMoney: {
    ...{ name: 'manilla_unmatched_money', type: 'gauge', group: 'For a person', of: 'max' },
    help: 'Transactions at a provider that belong to no known attempt, and that no person has handled.',
    labels: ['mode'],
  },
  unmatchedNotices: {
    ...{ name: 'manilla_unmatched_notices', type: 'gauge', group: 'For a person', of: 'max' },
    help: 'Notices of providers about orders that are not known.',
    labels: ['mode'],
  },
  refundsPending: {
    ...{ name: 'manilla_refunds_pending', type: 'gauge', group: 'For a person', of: 'max' },
    help: 'Refunds that the provider has not finished.',
    labels: ['mode'],
  },
  refundsStuck: {
    ...{ name: 'manilla_refunds_stuck', type: 'gauge', group: 'For a person', of: 'max' },
    help: 'Pending refunds that did not finish in time: a person must ask the provider.',
    labels: ['mode'],
  },

  providerCalls: {
    ...{ name: 'manilla_provider_calls_total', type: 'counter', group: 'Providers' },
    help: 'Calls to providers, by call and outcome. unknown: no answer, or none that can be understood.',
    labels: ['provider', 'mode', 'call', 'outcome'],
    drawnBy: ['provider', 'outcome'],
  },
  providerCallSeconds: {
    ...{ name: 'manilla_provider_call_seconds', type: 'histogram', group: 'Providers' },
    help: 'Time of a call to a provider.',
    labels: ['provider', 'call'],
    drawnBy: ['provider'],
    buckets: LONG_SECONDS,
  },
  providerCallWaitSeconds: {
    ...{ name: 'manilla_provider_call_wait_seconds', type: 'gauge', group: 'Providers', of: 'max' },
    help: 'How long work still waits that a process postponed for the rate limit of a provider account. A day at most.',
    labels: ['work'],
  },
  breakers: {
    ...{ name: 'manilla_breakers', type: 'gauge', group: 'Providers', of: 'sum' },
    help: 'Circuit breakers of provider accounts, by state: closed, open (no call is made) or half_open (probing).',
    labels: ['provider', 'mode', 'state'],
    drawnBy: ['provider', 'state'],
  },
  reconciliationAgeSeconds: {
    ...{ name: 'manilla_reconciliation_age_seconds', type: 'gauge', group: 'Providers', of: 'max' },
    help: 'Time since the records of live accounts were last compared with the lists of a provider: of the account where that is longest. By window of time.',
    labels: ['provider', 'window'],
  },
  reconciliationFailures: {
    ...{ name: 'manilla_reconciliation_failures_total', type: 'counter', group: 'Providers' },
    help: 'Pages of a provider’s lists that could not be compared: no answer, or too much of our records is not in them. They are read again.',
    labels: ['provider', 'mode'],
  },
  forgedNotices: {
    ...{ name: 'manilla_forged_notices_total', type: 'counter', group: 'Providers' },
    help: 'Provider notices with an invalid signature.',
    labels: [],
  },

  webhookTries: {
    ...{ name: 'manilla_webhook_tries_total', type: 'counter', group: 'Webhooks' },
    help: 'Tries to deliver a webhook. failed: it is tried again. given_up: that was the last try.',
    labels: ['mode', 'outcome'],
  },
  webhookTrySeconds: {
    ...{ name: 'manilla_webhook_try_seconds', type: 'histogram', group: 'Webhooks' },
    help: 'Time of a try, until the endpoint answered or the try was ended.',
    labels: ['outcome'],
    buckets: LONG_SECONDS,
  },

  httpRequestSeconds: {
    ...{ name: 'manilla_http_request_seconds', type: 'histogram', group: 'Requests' },
    help: 'Time to answer a request, by route and status.',
    labels: ['method', 'route', 'status'],
    drawnBy: ['method', 'route'],
    buckets: SECONDS,
  },
  wrongCredentials: {
    ...{ name: 'manilla_wrong_credentials_total', type: 'counter', group: 'Requests' },
    help: 'API calls refused because of wrong credentials.',
    labels: [],
  },
  liveStreams: {
    ...{ name: 'manilla_live_streams', type: 'gauge', group: 'Requests', of: 'sum' },
    help: 'Open server-sent event streams of payment pages.',
    labels: [],
  },

  retentionDeleted: {
    ...{ name: 'manilla_retention_deleted_total', type: 'counter', group: 'Retention' },
    help: 'Rows that were deleted because of their age. A payment counts once, with all that belongs to it.',
    labels: ['kind'],
  },
  retentionOverdueSeconds: {
    ...{ name: 'manilla_retention_overdue_seconds', type: 'gauge', group: 'Retention', of: 'max' },
    help: 'Time since the oldest row should have been deleted; 0 if none is left.',
    labels: ['kind'],
  },
  retentionBatchSeconds: {
    ...{ name: 'manilla_retention_batch_seconds', type: 'histogram', group: 'Retention' },
    help: 'Time of a transaction that deletes old rows, until the process has its result.',
    labels: [],
    buckets: SECONDS,
  },

  databaseConnections: {
    ...{ name: 'manilla_database_connections', type: 'gauge', group: 'Process', of: 'sum' },
    help: 'Connections to PostgreSQL: open, idle, and callers waiting for one.',
    labels: ['state'],
  },
  databaseWaitSeconds: {
    ...{ name: 'manilla_database_wait_seconds', type: 'histogram', group: 'Process' },
    help: 'Time that a statement or transaction waited for a connection.',
    labels: [],
    buckets: SECONDS,
  },
  databaseWaitFailures: {
    ...{ name: 'manilla_database_wait_failures_total', type: 'counter', group: 'Process' },
    help: 'Statements and transactions that got no connection: all were in use for a second, or PostgreSQL is away.',
    labels: [],
  },
  batchItems: {
    ...{ name: 'manilla_batch_items', type: 'histogram', group: 'Process' },
    help: 'Items that were written or read together by one batch.',
    labels: ['batch'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
  },
} as const satisfies Record<string, Metric>

/** Of prom-client's own metrics, the one that the dashboard and the alerts use. */
export const EVENT_LOOP_LAG = 'nodejs_eventloop_lag_p99_seconds'
