import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Copy } from '../copies.ts'
import { endChild } from '../processes.ts'

const START_WITHIN_MS = 60_000

/** A copy of the service that is killed and started again on the same port. */
export class ServiceCopy implements Copy {
  /** Its base URL while it is up. */
  copy: string | undefined
  baseUrl = ''
  readonly #env: Record<string, string>
  #child: ChildProcess | undefined

  constructor(env: Record<string, string>) {
    this.#env = env
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'copy.ts')], {
      env: { PATH: process.env.PATH, ...this.#env, ...(this.baseUrl && { PORT: new URL(this.baseUrl).port }) },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    const ready = once(child.stdout, 'data').then(([text]) => String(text).trim())
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`a copy ended with ${code}`)))
    const late = AbortSignal.timeout(START_WITHIN_MS)
    const tooLate = once(late, 'abort').then(() => Promise.reject(new Error('a copy did not start in time')))
    for (const each of [ready, ended, tooLate]) each.catch(() => {})
    this.baseUrl = await Promise.race([ready, ended, tooLate])
    this.copy = this.baseUrl
  }

  async crash(): Promise<void> {
    await this.end()
    await this.start()
  }

  /** `kill -9`, by its id. */
  async end(): Promise<void> {
    this.copy = undefined
    const child = this.#child
    this.#child = undefined
    await endChild(child, 'SIGKILL')
  }
}
