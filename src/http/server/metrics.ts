import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { Database } from '../../database/database.ts'
import { RequestTimes } from './request-times.ts'

/** What Prometheus may ask. No label ever holds a merchant, a reference or anything else of unbounded variety. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests = new RequestTimes()
  readonly wrongCredentials: Counter
  readonly forgedNotices: Counter

  constructor(database: Database, live: { streams(): number }) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#registry.registerMetric(this.#requests as unknown as Metric)
    this.wrongCredentials = new Counter({
      name: 'manilla_wrong_credentials_total',
      help: 'Calls that were refused for their credentials.',
      registers,
    })
    this.forgedNotices = new Counter({
      name: 'manilla_forged_notices_total',
      help: 'Notices whose signature did not hold.',
      registers,
    })
    new Gauge({
      name: 'manilla_live_streams',
      help: 'Payment pages that are told of changes as they happen.',
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
    this.#requests.observe(method, route, status, seconds)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  read(): Promise<string> {
    return this.#registry.metrics()
  }
}
