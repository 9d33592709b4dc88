import { EVENT_LOOP_LAG, METRICS } from '../metrics/list.ts'
import { lateAfterMs } from '../reconciliation/windows.ts'
import type { QueueName, Status } from './read-status.ts'

/** A problem that a person should act on, with the alert of ops/prometheus/alerts.yml that reports the same. */
export interface Finding {
  alert: string
  says: string
}

/** Limits, the same as in the alerts. */
export const LATE_SECONDS = 300
export const LATE_DELIVERIES_SECONDS = 900
export const LAG_SECONDS = 0.5

const QUEUE_WORK: Record<QueueName, string> = {
  checks: 'check of an attempt at its provider',
  notices: 'notice of a provider',
  refunds: 'refund',
  expiries: 'expiry of a payment',
  reconciliations: 'comparison with a list of a provider',
  deliveries: 'webhook',
}

/** Sandbox data never needs a person: only live counts. */
export function findingsOf({ queues, workers, cases: { live }, comparisons }: Status, now: Date): Finding[] {
  const findings: Finding[] = []
  const isWaiting = Object.values(queues).some(({ oldestAt }) => oldestAt !== null)
  if (workers === 0 && isWaiting)
    findings.push({ alert: 'ManillaNoWorker', says: 'work is due, and no process with ROLE=worker or ROLE=all runs' })
  for (const [name, { oldestAt }] of Object.entries(queues) as [QueueName, Status['queues'][QueueName]][]) {
    const seconds = oldestAt === null ? 0 : (now.getTime() - oldestAt.getTime()) / 1_000
    const isDelivery = name === 'deliveries'
    if (seconds <= (isDelivery ? LATE_DELIVERIES_SECONDS : LATE_SECONDS)) continue
    const alert = isDelivery ? 'ManillaWebhooksLate' : 'ManillaQueueLate'
    findings.push({
      alert,
      says: `the oldest ${QUEUE_WORK[name]} has been due for ${Math.round(seconds / 60)} minutes`,
    })
  }
  for (const { provider, window, comparedAt } of comparisons) {
    const ms = now.getTime() - comparedAt.getTime()
    if (ms <= lateAfterMs(window)) continue
    const hours = Math.round(ms / 3_600_000)
    const says = `an account of ${provider} was not compared with its lists (${window}) for ${hours} hours`
    findings.push({ alert: 'ManillaReconciliationLate', says })
  }
  const add = (count: number, alert: string, what: string) => {
    if (count > 0) findings.push({ alert, says: `${count} ${what}` })
  }
  add(live.needsReview, 'ManillaNeedsReview', 'case(s) of attempts or accounts that a person must decide')
  add(live.unmatchedMoney, 'ManillaUnmatchedMoney', 'transaction(s) at a provider that belong to no known payment')
  add(live.refundsStuck, 'ManillaRefundsStuck', 'refund(s) that the provider has not finished in time')
  return findings
}

/** Of a running service, from the text of its metrics. */
export function processFindings(metrics: string): Finding[] {
  const findings: Finding[] = []
  const open = /^NAME\{provider="(\w+)",mode="live",state="open"\} [1-9]/.source.replace('NAME', METRICS.breakers.name)
  for (const [, provider] of metrics.matchAll(new RegExp(open, 'gm')))
    findings.push({ alert: 'ManillaBreakerOpen', says: `calls to ${provider} fail: a circuit breaker is open` })
  const lag = Number(new RegExp(`^${EVENT_LOOP_LAG} (\\S+)`, 'm').exec(metrics)?.[1] ?? 0)
  if (lag > LAG_SECONDS)
    findings.push({
      alert: 'ManillaEventLoopLag',
      says: `the process is overloaded: its event loop lags by ${lag.toFixed(1)} s`,
    })
  return findings
}
