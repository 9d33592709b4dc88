import type { Logger } from 'pino'
import type { Database } from '../database/database.ts'
import type { Clock } from '../kernel/clock.ts'
import { expirePayments } from '../payments/expire-payments.ts'

export interface Worker {
  /** Starts nothing new, and waits for what is under way. */
  stop(): Promise<void>
}

interface Job {
  name: string
  everyMs: number
  /** Returns whether there is more to do right away. */
  run(): Promise<boolean>
}

const BATCH = 100

/** The door of the clock: what has to happen when nobody is asking. */
export function startWorker(parts: { database: Database; clock: Clock; log: Logger }): Worker {
  const jobs: Job[] = [
    { name: 'expire payments', everyMs: 1_000, run: async () => (await expirePayments(parts, BATCH)) === BATCH },
  ]
  const loops = jobs.map((job) => repeat(job, parts.log))
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
