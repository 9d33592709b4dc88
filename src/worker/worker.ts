import type { Logger } from 'pino'
import { analyzeYoungTables } from '../database/analyze-young.ts'
import { readDueOffers } from '../integrations/account-offers.ts'
import { valueRewrapper } from '../keys/rewrap-values.ts'
import { deleteExpired } from '../members/session-store.ts'
import { jobFailures, providerCallWaits } from '../metrics/instruments.ts'
import { type CallLimits, type ClaimedWork, callLimits } from '../outbound/call-limits.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { startDueRefunds } from '../payments/refunds/refund-payment.ts'
import { startDueChecks } from '../payments/settle/check-attempts.ts'
import { expirePayments } from '../payments/settle/expire-payments.ts'
import { startWaitingNotices } from '../payments/settle/receive-notice.ts'
import { expireRetiredKeys } from '../payments/upkeep/expire-retired-keys.ts'
import { foldRollups, sumUpDays } from '../payments/upkeep/fold-rollups.ts'
import { planAccounts, startDueRuns } from '../reconciliation/reconcile-accounts.ts'
import { deliveryJobs } from './delivery-jobs.ts'

export interface Worker {
  /** Starts no new run, and waits for running ones. */
  stop(): Promise<void>
}

export interface Job {
  name: string
  everyMs: number
  /** Returns true when more work is due now. A long run ends early when `isStopped`. */
  run(isStopped: () => boolean): Promise<boolean>
}

const BATCH = 25
const HOUR_MS = 3_600_000

// Rate limits for each integration and process (backpressure). A healthy provider answers within 300 ms, so eight calls
// in flight are about 25 per second. Checks have three such limits, one for each urgency. Ten thousand open links need
// seven checks per second.
const CHECK_LIMITS = { maxInFlight: 8, perSecond: 15, burst: 30 }
const NOTICE_LIMITS = { maxInFlight: 8, perSecond: 50, burst: 100 }
const REFUND_LIMITS = { maxInFlight: 5, perSecond: 10, burst: 20 }
/** Of pages. An account has a few lists, and each is read page after page. */
const RECONCILE_LIMITS = { maxInFlight: 3, perSecond: 5, burst: 10 }
/** Limit of batches with calls in flight, over all jobs: it bounds memory when providers do not answer. */
const MAX_BATCHES = 1_000

/** Starts the scheduled jobs. Several processes may run them: rows are claimed with leases. */
export function startWorker(deps: PaymentDeps, others: Job[] = []): Worker {
  const full = async (done: Promise<number>) => (await done) === BATCH
  const calls = providerCalls(deps)
  const jobs: Job[] = [
    { name: 'expire payments', everyMs: 1_000, run: () => full(expirePayments(deps, BATCH)) },
    { name: 'check attempts', everyMs: 1_000, run: calls.job('checks', startDueChecks, CHECK_LIMITS) },
    { name: 'process notices', everyMs: 1_000, run: calls.job('notices', startWaitingNotices, NOTICE_LIMITS) },
    { name: 'send refunds', everyMs: 1_000, run: calls.job('refunds', startDueRefunds, REFUND_LIMITS) },
    { name: 'reconcile', everyMs: 1_000, run: calls.job('reconciliations', startDueRuns, RECONCILE_LIMITS) },
    { name: 'plan reconciliation', everyMs: 60_000, run: () => planAccounts(deps).then(() => false) },
    { name: 'read offers of accounts', everyMs: 2_000, run: () => full(readDueOffers(deps, BATCH)) },
    { name: 'fold rollups', everyMs: 5_000, run: () => foldRollups(deps) },
    { name: 'sum up days', everyMs: HOUR_MS, run: () => sumUpDays(deps) },
    { name: 'analyze young tables', everyMs: 2_000, run: () => analyzeYoungTables(deps.database).then(() => false) },
    {
      name: 'delete expired sessions and links',
      everyMs: HOUR_MS,
      run: () => deleteExpired(deps.database).then(() => false),
    },
    {
      name: 'delete retired provider keys',
      everyMs: HOUR_MS,
      run: () => full(expireRetiredKeys(deps, BATCH).then(({ length }) => length)),
    },
    ...(deps.secrets.previousKeyId
      ? [{ name: 'encrypt values with the new key', everyMs: HOUR_MS, run: valueRewrapper(deps) }]
      : []),
    ...deliveryJobs(deps),
    ...others,
  ]
  const loops = jobs.map((job) => repeat(job, deps.log))
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
      await calls.ended()
    },
  }
}

/** Starts provider calls without waiting for them, so that one slow provider does not delay the others. */
function providerCalls(deps: PaymentDeps) {
  const running = new Set<Promise<void>>()
  type Start = (deps: PaymentDeps, limit: number, limits: CallLimits) => Promise<ClaimedWork>
  return {
    job(work: string, start: Start, options: Parameters<typeof callLimits>[0]): Job['run'] {
      const limits = callLimits(options)
      providerCallWaits.set(work, () => limits.longestWaitMs())
      return async () => {
        if (running.size >= MAX_BATCHES) return false
        const { claimed, done } = await start(deps, BATCH, limits)
        const ended = done.finally(() => running.delete(ended))
        running.add(ended)
        return claimed === BATCH
      }
    },
    async ended(): Promise<void> {
      await Promise.all(running)
    },
  }
}

function repeat(job: Job, log: Logger): Worker {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function run() {
    let more = false
    try {
      more = await job.run(() => stopped)
    } catch (err) {
      jobFailures.inc({ task: job.name })
      log.warn({ err, job: job.name }, 'job failed; retrying')
    }
    if (!stopped) timer = setTimeout(next, more ? 0 : job.everyMs)
  }

  function next() {
    running = run()
  }

  next()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
