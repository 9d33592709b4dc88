import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../../src/database/embedded.ts'
import type { ServiceProcess } from '../../support/process.ts'
import { endNow, loopbackOf, startWithin } from '../processes.ts'
import type { Random } from '../random.ts'
import type { Copy, Load } from './load.ts'

export const COPIES = 2

interface Installation {
  folder: string
  databaseUrl: string
  slots: Slot[]
}

/** Two copies of the service on one PostgreSQL of their own, gone again when `run` ends. */
export async function withCopies<T>(run: (installation: Installation) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'manilla-crash-'))
  // It supervises the server: one that ends is started again, on the same port.
  const server = await startEmbedded({ dataDir: folder, purpose: 'own' })
  const env = copySettings(server.url, folder)
  const slots = Array.from({ length: COPIES }, () => new Slot(env))
  try {
    await Promise.all(slots.map((slot) => slot.start()))
    return await run({ folder, databaseUrl: server.url, slots })
  } finally {
    await Promise.all(slots.map((slot) => slot.end()))
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

const MORE_WITHIN_MS = 30_000

/** A random moment: after some more acknowledged calls, and then at any point between two answers. */
export async function soon(random: Random, load: Load): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const stuck = new Promise<never>((_, reject) => {
    const error = new Error(`nothing was acknowledged for ${MORE_WITHIN_MS} ms`)
    timer = setTimeout(() => reject(error), MORE_WITHIN_MS)
  })
  await Promise.race([load.acknowledgedMore(random.between(20, 500)), stuck]).finally(() => clearTimeout(timer))
  const ms = random.between(0, 30)
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** A copy that is killed and restarted. */
export class Slot {
  copy: Copy | undefined
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
    this.copy = { port: loopbackOf(this.#service.baseUrl).port, headers: this.#service.headers }
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

/** The same keys for all copies, so that each can decrypt what another sealed. */
function copySettings(databaseUrl: string, folder: string): Record<string, string> {
  return {
    ...CREDENTIALS,
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(folder, 'unused'),
    SECRET_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'off',
    WEBHOOK_ALLOW_PRIVATE: 'sandbox',
    LOG_LEVEL: 'warn',
  }
}

// The same for both copies, as an operator would set them.
const CREDENTIALS = {
  SANDBOX_CLIENT_ID: `cid_sandbox_${randomBytes(8).toString('hex')}`,
  SANDBOX_CLIENT_SECRET: `sec_sandbox_${randomBytes(32).toString('hex')}`,
}
