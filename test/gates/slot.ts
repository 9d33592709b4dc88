import type { ServiceProcess } from '../support/process.ts'
import type { Copy } from './copies.ts'
import { endNow, loopbackOf, startWithin } from './processes.ts'

/** A copy of the real program that is killed and restarted. */
export class Slot implements Copy {
  /** While it is up. */
  copy: { port: number; headers: Record<string, string> } | undefined
  baseUrl = ''
  slowestStartMs = 0
  readonly #env: Record<string, string>
  #service: ServiceProcess | undefined

  constructor(env: Record<string, string>) {
    this.#env = env
  }

  async start(): Promise<void> {
    const startedAt = performance.now()
    this.#service = await startWithin(this.#env)
    this.slowestStartMs = Math.max(this.slowestStartMs, performance.now() - startedAt)
    const { host, port } = loopbackOf(this.#service.baseUrl)
    this.baseUrl = `http://${host}:${port}`
    this.copy = { port, headers: this.#service.headers }
  }

  async crash(beforeRestart: () => Promise<void> = async () => {}): Promise<void> {
    await this.end()
    await beforeRestart()
    await this.start()
  }

  /** `kill -9`, by its id. */
  async end(): Promise<void> {
    this.copy = undefined
    const service = this.#service
    this.#service = undefined
    if (service) await endNow(service)
  }
}
