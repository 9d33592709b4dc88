import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { metricsReader } from '../../cluster-metrics.ts'
import type { Database } from '../../database/database.ts'

const REQUEST_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Prometheus metrics. Labels have few values: no merchant and no reference, which would make the number of series unbounded. */
export class Metrics {
  readonly #registry = new Registry()
  /** The metrics as text; of all processes with WORKERS. */
  readonly read = metricsReader(this.#registry)
  readonly #requestSeconds: Histogram<'method' | 'route' | 'status'>
  readonly wrongCredentials: Counter
  readonly forgedNotices: Counter

  constructor(database: Database, live: { streams(): number }) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#requestSeconds = new Histogram({
      name: 'manilla_http_request_seconds',
      help: 'Time to answer a request, by route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_BUCKETS_SECONDS,
      registers,
    })
    this.wrongCredentials = new Counter({
      name: 'manilla_wrong_credentials_total',
      help: 'API calls refused because of wrong credentials.',
      registers,
    })
    this.forgedNotices = new Counter({
      name: 'manilla_forged_notices_total',
      help: 'Provider notices with an invalid signature.',
      registers,
    })
    new Gauge({
      name: 'manilla_live_streams',
      help: 'Open server-sent event streams of payment pages.',
      registers,
      collect() {
        this.set(live.streams())
      },
    })
    new Gauge({
      name: 'manilla_database_connections',
      help: 'Connections to PostgreSQL: open, idle, and callers waiting for one.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const [state, count] of Object.entries(database.connections())) this.set({ state }, count)
      },
    })
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requestSeconds.observe({ method, route, status }, seconds)
  }

  get contentType(): string {
    return this.#registry.contentType
  }
}
