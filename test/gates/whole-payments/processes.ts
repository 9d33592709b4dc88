import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { ServiceProcess } from '../../support/process.ts'
import { endNow, startWithin } from '../processes.ts'
import { headersOf, serviceSettings } from '../settings.ts'

export type Role = 'api' | 'worker'

/** The real program as an operator runs it: one process for the API and one for the worker, on one database. */
export class Processes {
  readonly env: Record<string, string>
  readonly baseUrl: string
  readonly headers: ReturnType<typeof headersOf>
  readonly #running = new Map<Role, ServiceProcess>()

  private constructor(env: Record<string, string> & ReturnType<typeof serviceSettings>, port: number) {
    this.baseUrl = `http://127.0.0.1:${port}`
    this.env = { ...env, PUBLIC_URL: this.baseUrl }
    this.headers = headersOf(env)
  }

  /** `directUrl`: around the pooler, if `databaseUrl` leads to one. */
  static async on(databaseUrl: string, folder: string, directUrl = databaseUrl): Promise<Processes> {
    const port = await freePort()
    const env = {
      ...serviceSettings(databaseUrl, folder),
      DATABASE_DIRECT_URL: directUrl,
      SANDBOX_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString('base64')}`,
      DEMO: 'off',
    }
    return new Processes(env, port)
  }

  async start(...roles: Role[]): Promise<void> {
    for (const role of roles) {
      const port = role === 'api' ? new URL(this.baseUrl).port : '0'
      this.#running.set(role, await startWithin({ ...this.env, ROLE: role, PORT: port }))
    }
  }

  /** `kill -9`, by their ids. */
  async end(): Promise<void> {
    const all = [...this.#running.values()]
    this.#running.clear()
    await Promise.all(all.map(endNow))
  }

  /** Roles whose process has ended by itself, with its output. */
  ended(): string[] {
    return [...this.#running]
      .filter(([, { child }]) => child.exitCode !== null || child.signalCode !== null)
      .map(([role, { output }]) => `${role}: ${output().slice(-2_000)}`)
  }

  /** As `Copies`: where the merchant and the customers call. */
  pick(): string | undefined {
    return this.#running.has('api') ? this.baseUrl : undefined
  }

  isOurs(link: string): boolean {
    return link.startsWith(`${this.baseUrl}/`)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
