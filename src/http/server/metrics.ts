import { setTimeout as sleep } from 'node:timers/promises'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { MODES } from '../../kernel/mode.ts'
import { metricsReader } from '../../metrics/cluster-metrics.ts'
import { counter, gauge, histogram, processMetrics } from '../../metrics/instruments.ts'
import { METRICS } from '../../metrics/list.ts'
import type { Providers } from '../../providers/provider.ts'
import { QUEUES, readStatus, type Status } from '../../status/read-status.ts'

/** A count ends here, so that reading it stays cheap when much is waiting. */
const MAX_COUNTED = 10_000
/** Scrapes within this time get the same numbers from the database. */
const STATUS_AGE_MS = 5_000
/** A scrape does not wait longer for the database. */
const STATUS_TIMEOUT_MS = 2_000

export interface Deps {
  database: Database
  clock: Clock
  providers: Pick<Providers, 'breakers'>
  live: { streams(): number }
}

/**
 * Prometheus metrics: those of this HTTP server, of the process, and of the database. metrics/list.ts describes each.
 */
export class Metrics {
  readonly #own = new Registry()
  readonly #all: Registry
  /** The metrics as text; of all processes with WORKERS. */
  readonly read: () => Promise<string>
  readonly #requestSeconds = histogram(METRICS.httpRequestSeconds, this.#own)
  readonly wrongCredentials = counter(METRICS.wrongCredentials, this.#own)
  readonly forgedNotices = counter(METRICS.forgedNotices, this.#own)

  constructor({ database, clock, providers, live }: Deps) {
    collectDefaultMetrics({ register: this.#own })
    gauge(METRICS.liveStreams, this.#own, (streams) => streams.set(live.streams()))
    gauge(METRICS.databaseConnections, this.#own, (connections) => {
      for (const [state, count] of Object.entries(database.connections())) connections.set({ state }, count)
    })
    gauge(METRICS.breakers, this.#own, (breakers) => {
      breakers.reset()
      for (const { provider, mode, state } of providers.breakers()) breakers.inc({ provider, mode, state })
    })
    this.#addStatus(statusReader(database), clock)
    this.#all = Registry.merge([this.#own, processMetrics])
    this.read = metricsReader(this.#all)
  }

  /** A gauge has no value when the database cannot be read. */
  #addStatus(read: () => Promise<Status | undefined>, clock: Clock): void {
    gauge(METRICS.queueDepth, this.#own, async (depth) => {
      const status = await read()
      depth.reset()
      for (const queue of status ? QUEUES : []) depth.set({ queue }, status?.queues[queue].due ?? 0)
    })
    gauge(METRICS.queueOldestSeconds, this.#own, async (age) => {
      const status = await read()
      age.reset()
      const now = clock.now().getTime()
      for (const queue of status ? QUEUES : []) {
        const oldest = status?.queues[queue].oldestAt?.getTime() ?? now
        age.set({ queue }, Math.max(0, now - oldest) / 1_000)
      }
    })
    gauge(METRICS.reconciliationAgeSeconds, this.#own, async (age) => {
      const status = await read()
      age.reset()
      for (const { provider, window, comparedAt } of status?.comparisons ?? [])
        age.set({ provider, window }, Math.max(0, clock.now().getTime() - comparedAt.getTime()) / 1_000)
    })
    gauge(METRICS.deliveryWorkers, this.#own, async (workers) => {
      const status = await read()
      if (status) workers.set(status.workers)
      else workers.remove()
    })
    for (const name of ['needsReview', 'unmatchedMoney', 'unmatchedNotices', 'refundsPending', 'refundsStuck'] as const)
      gauge(METRICS[name], this.#own, async (cases) => {
        const status = await read()
        cases.reset()
        for (const mode of status ? MODES : []) cases.set({ mode }, status?.cases[mode][name] ?? 0)
      })
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requestSeconds.observe({ method, route, status }, seconds)
  }

  get contentType(): string {
    return this.#all.contentType
  }
}

/** All gauges of a scrape share one reading. Undefined: the database did not answer. */
function statusReader(database: Database): () => Promise<Status | undefined> {
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<Status | undefined> = Promise.resolve(undefined)
  return () => {
    if (performance.now() - readAt > STATUS_AGE_MS) {
      readAt = performance.now()
      const tooLate = sleep(STATUS_TIMEOUT_MS, undefined, { ref: false })
      reading = Promise.race([readStatus(database, MAX_COUNTED).catch(() => undefined), tooLate])
    }
    return reading
  }
}
