import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Copy } from '../crash/load.ts'
import type { Random } from '../random.ts'

// biome-ignore lint/suspicious/noExplicitAny: the caller knows the shape of the answer
type Json = any

export interface Answer {
  status: number
  body: Json
}

/** `refused`: a 4xx. `unknown`: the connection broke, or a 5xx that may have come after the work. */
export type CallOutcome = 'ok' | 'refused' | 'unknown'

const ANSWER_WITHIN_MS = 20_000
/** A killed copy is ready again after a second or two. */
const READY_WITHIN_MS = 60_000

/** HTTP client to any running copy of the service, with counts of the answers. */
export class Door {
  readonly tally = new Map<string, Record<CallOutcome, number>>()
  readonly #agent = new Agent({ keepAlive: true })
  readonly #copies: () => Copy[]
  readonly #random: Random

  constructor(random: Random, copies: () => Copy[]) {
    this.#random = random
    this.#copies = copies
  }

  /** The answer, or undefined when the outcome is unknown. `name` is the key of the count. */
  async ask(
    name: string,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer | undefined> {
    const answer = await this.#reach(method, path, body, headers)
    const isKnown = answer && answer.status < 500
    this.#count(name, isKnown ? (answer.status < 400 ? 'ok' : 'refused') : 'unknown')
    return answer
  }

  /** Repeats an idempotent call until its outcome is known. */
  async askUntilKnown(
    name: string,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer | undefined> {
    for (let round = 0; round < 20; round++) {
      const answer = await this.ask(name, method, path, body, headers)
      if (answer && answer.status < 500) return answer
      await pause(this.#random.between(50, 400))
    }
    return undefined
  }

  close(): void {
    this.#agent.destroy()
  }

  #count(name: string, outcome: CallOutcome): void {
    const counts = this.tally.get(name) ?? { ok: 0, refused: 0, unknown: 0 }
    counts[outcome]++
    this.tally.set(name, counts)
  }

  async #reach(method: string, path: string, body: unknown, headers: Record<string, string>) {
    const deadline = performance.now() + READY_WITHIN_MS
    while (performance.now() < deadline) {
      const answer = await this.#send(method, path, body, headers)
      if (answer !== 'not sent') return answer === 'unknown' ? undefined : answer
      await pause(20) // no copy listens, and there is no event for an open port
    }
    throw new Error(`no copy answered for ${READY_WITHIN_MS} ms`)
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    headers: Record<string, string>,
  ): Promise<Answer | 'unknown' | 'not sent'> {
    const copies = this.#copies()
    if (copies.length === 0) return 'not sent'
    const { port, headers: own } = this.#random.pick(copies)
    const text = body === undefined ? undefined : JSON.stringify(body)
    const { 'content-type': type, ...credentials } = own
    const sending = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: this.#agent,
      headers: {
        ...credentials,
        ...headers,
        ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
      },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    sending.on('error', () => {}) // an error after the answer; the wait below gets earlier ones
    sending.end(text)
    try {
      const [response] = (await once(sending, 'response')) as [IncomingMessage]
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      const isJson = /json/.test(response.headers['content-type'] ?? '')
      const read = Buffer.concat(parts).toString()
      return { status: response.statusCode ?? 0, body: isJson ? JSON.parse(read) : read }
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'not sent' : 'unknown'
    }
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
