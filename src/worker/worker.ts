import type { Logger } from 'pino'
import { checkDueAttempts } from '../attempts/check-attempts.ts'
import { expirePayments } from '../attempts/expire-payments.ts'
import { expireRetiredKeys } from '../attempts/expire-retired-keys.ts'
import { deleteOldNotices } from '../attempts/notice-store.ts'
import type { AttemptParts } from '../attempts/parts.ts'
import { workOffWaitingNotices } from '../attempts/receive-notice.ts'
import { reconcileDueReturns } from '../attempts/reconcile-due.ts'
import { carryOutDueRefunds } from '../attempts/refund-payment.ts'
import { forgetOldCalls } from '../payments/idempotent-call-store.ts'
import { deliveryJobs } from './delivery-jobs.ts'

export interface Worker {
  /** Starts nothing new, and waits for what is under way. */
  stop(): Promise<void>
}

export interface Job {
  name: string
  everyMs: number
  /** How many may be at it at once: one slow provider must not hold up the others' turn. */
  hands?: number
  /** Returns whether there is more to do right away. */
  run(): Promise<boolean>
}

const BATCH = 25
// A statement of about 10 ms, so that a purge never holds locks for long.
const PURGE_BATCH = 500
const HOUR_MS = 3_600_000

/** The door of the clock: what has to happen when nobody is asking. */
export function startWorker(parts: AttemptParts, others: Job[] = []): Worker {
  const full = async (done: Promise<number>) => (await done) === BATCH
  const jobs: Job[] = [
    { name: 'expire payments', everyMs: 1_000, run: () => full(expirePayments(parts, BATCH)) },
    { name: 'check attempts', everyMs: 1_000, hands: 4, run: () => full(checkDueAttempts(parts, BATCH)) },
    { name: 'work off notices', everyMs: 1_000, hands: 4, run: () => full(workOffWaitingNotices(parts, BATCH)) },
    { name: 'carry out refunds', everyMs: 1_000, hands: 4, run: () => full(carryOutDueRefunds(parts, BATCH)) },
    { name: 'reconcile returns', everyMs: 60_000, run: () => full(reconcileDueReturns(parts, BATCH)) },
    {
      name: 'forget old keys',
      everyMs: HOUR_MS,
      run: async () => (await forgetOldCalls(parts.database, PURGE_BATCH)) === PURGE_BATCH,
    },
    {
      name: 'delete old notices',
      everyMs: HOUR_MS,
      run: async () => (await deleteOldNotices(parts.database, PURGE_BATCH)) >= PURGE_BATCH,
    },
    {
      name: 'delete retired provider keys',
      everyMs: HOUR_MS,
      run: () => full(expireRetiredKeys(parts, BATCH).then(({ length }) => length)),
    },
    ...deliveryJobs(parts),
    ...others,
  ]
  const loops = jobs.flatMap((job) => Array.from({ length: job.hands ?? 1 }, () => repeat(job, parts.log)))
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
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
      more = await job.run()
    } catch (err) {
      log.warn({ err, job: job.name }, 'job failed; it will be tried again')
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
