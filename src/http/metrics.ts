import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Database } from '../database/database.ts'

/** What Prometheus may ask. No label ever holds a merchant, a reference or anything else of unbounded variety. */
export class Metrics {
  readonly #registry = new Registry()
  readonly #requests: Histogram<'method' | 'route' | 'status'>
  readonly #children = new Map<string, { observe(seconds: number): void }>()
  readonly wrongCredentials: Counter

  constructor(database: Database) {
    const registers = [this.#registry]
    collectDefaultMetrics({ register: this.#registry })
    this.#requests = new Histogram({
      name: 'manilla_http_request_seconds',
      help: 'Time to answer a request, by route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    })
    this.wrongCredentials = new Counter({
      name: 'manilla_wrong_credentials_total',
      help: 'Calls that were refused for their credentials.',
      registers,
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
    const key = `${method} ${route} ${status}`
    let child = this.#children.get(key)
    if (!child) {
      child = this.#requests.labels({ method, route, status }) // looking labels up costs more than counting
      this.#children.set(key, child)
    }
    child.observe(seconds)
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  read(): Promise<string> {
    return this.#registry.metrics()
  }
}
