import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { MODES } from '../kernel/mode.ts'
import { METRICS, type Metric } from './list.ts'

type LabelOf<One extends Metric> = One['labels'][number]

function settingsOf({ name, help, labels }: Metric, register: Registry) {
  return { name, help, labelNames: [...labels], registers: [register] }
}

export function counter<One extends Metric>(metric: One, register: Registry): Counter<LabelOf<One>> {
  return new Counter(settingsOf(metric, register))
}

export function histogram<One extends Metric & { buckets: readonly number[] }>(
  metric: One,
  register: Registry,
): Histogram<LabelOf<One>> {
  return new Histogram({ ...settingsOf(metric, register), buckets: [...metric.buckets] })
}

/** `collect` sets the gauge when it is read. */
export function gauge<One extends Metric & { of: 'max' | 'sum' }>(
  metric: One,
  register: Registry,
  collect: (gauge: Gauge<LabelOf<One>>) => void | Promise<void>,
): void {
  const made: Gauge<LabelOf<One>> = new Gauge({
    ...settingsOf(metric, register),
    aggregator: metric.of,
    collect: () => collect(made),
  })
}

/** What any code of this process counts. Each HTTP server adds its own metrics: http/server/metrics.ts. */
export const processMetrics = new Registry()

export const attempts = counter(METRICS.attempts, processMetrics)
export const payments = counter(METRICS.payments, processMetrics)
export const jobFailures = counter(METRICS.jobFailures, processMetrics)
export const providerCalls = counter(METRICS.providerCalls, processMetrics)
export const reconciliationFailures = counter(METRICS.reconciliationFailures, processMetrics)
export const providerCallSeconds = histogram(METRICS.providerCallSeconds, processMetrics)
export const webhookTries = counter(METRICS.webhookTries, processMetrics)
export const webhookTrySeconds = histogram(METRICS.webhookTrySeconds, processMetrics)
export const databaseWaitSeconds = histogram(METRICS.databaseWaitSeconds, processMetrics)
export const databaseWaitFailures = counter(METRICS.databaseWaitFailures, processMetrics)
export const batchItems = histogram(METRICS.batchItems, processMetrics)
export const retentionDeleted = counter(METRICS.retentionDeleted, processMetrics)
export const retentionBatchSeconds = histogram(METRICS.retentionBatchSeconds, processMetrics)

/** When the oldest row of each kind should have been deleted; null: none is left. */
export const overdueSince = new Map<string, Date | null>()
gauge(METRICS.retentionOverdueSeconds, processMetrics, (overdue) => {
  for (const [kind, since] of overdueSince)
    overdue.set({ kind }, since === null ? 0 : Math.max(0, Date.now() - since.getTime()) / 1_000)
})

/** Milliseconds, by kind of work. The worker sets them. */
export const providerCallWaits = new Map<string, () => number>()
gauge(METRICS.providerCallWaitSeconds, processMetrics, (wait) => {
  for (const [work, waitMs] of providerCallWaits) wait.set({ work }, waitMs() / 1_000)
})

// Prometheus sees a counter rise only if it was there before.
for (const mode of MODES)
  for (const outcome of ['delivered', 'failed', 'given_up']) webhookTries.inc({ mode, outcome }, 0)
