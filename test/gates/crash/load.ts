import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'

/** Merchants who create checkouts without pause and record the answers. */
export interface Call {
  reference: string
  amount: number
  key: string | undefined
  /** `unknown`: the connection broke or no answer came, so it may have been done or not. */
  first: 'ok' | 'refused' | 'unknown'
  /** How an unknown one was settled, by asking again. */
  settled: 'replay' | 'duplicate' | 'new' | undefined
  /** The payment's id, from the answer. */
  id: string | undefined
  /** A wrong answer. */
  fault: string | undefined
}

export interface Copy {
  port: number
  headers: Record<string, string>
}

const ANSWER_WITHIN_MS = 8_000
/** Counted while a copy is up: on a busy machine a start takes longer. */
const SETTLE_WITHIN_MS = 20_000
const MOST_MS = 120_000

export class Load {
  readonly calls: Call[] = []
  readonly #name: string
  readonly #random: Random
  readonly #copies: () => Copy[]
  readonly #agent = new Agent({ keepAlive: true })
  readonly #clients: Promise<void>[]
  #going = true
  #acknowledged = 0
  #watchers: { at: number; resolve: () => void }[] = []

  /** `copies`: those that are up, as far as is known. Starts at once. */
  constructor(name: string, random: Random, copies: () => Copy[], clients: number) {
    this.#name = name
    this.#random = random
    this.#copies = copies
    this.#clients = Array.from({ length: clients }, () => this.#client())
  }

  /** Resolves when so many more checkouts were acknowledged. */
  acknowledgedMore(count: number): Promise<void> {
    return new Promise((resolve) => this.#watchers.push({ at: this.#acknowledged + count, resolve }))
  }

  /** No new calls; those under way are finished, and the unknown ones settled. */
  async stop(): Promise<void> {
    this.#going = false
    await Promise.all(this.#clients)
    this.#agent.destroy()
  }

  async #client(): Promise<void> {
    while (this.#going) {
      const number = this.calls.length
      const call: Call = {
        reference: `${this.#name}-${number}`,
        amount: this.#random.between(1, 999_999_999_999),
        key: number % 2 === 0 ? `key-${this.#name}-${number}` : undefined,
        first: 'unknown',
        settled: undefined,
        id: undefined,
        fault: undefined,
      }
      this.calls.push(call)
      await this.#create(call)
    }
  }

  async #create(call: Call): Promise<void> {
    const end = performance.now() + MOST_MS
    let deadline = performance.now() + SETTLE_WITHIN_MS
    let reached = false
    while (performance.now() < Math.min(deadline, end)) {
      const answer = await this.#send(call)
      if (answer === 'not sent') {
        await pause(20) // no copy is up, and there is no event for an open port
        deadline = performance.now() + SETTLE_WITHIN_MS
        continue
      }
      if (answer === 'unknown' || answer.status >= 500 || isInProgress(answer)) {
        reached = true
        await pause(20) // the copy or its database is down
        continue
      }
      return this.#note(call, answer, reached)
    }
  }

  #note(call: Call, { status, body, replayed }: Answer, again: boolean): void {
    if (!again) {
      call.first = status === 201 ? 'ok' : 'refused'
      if (status !== 201) call.fault = `a first call got ${status} ${body.code}`
      if (replayed) call.fault = 'a first call was answered as a replay'
    } else if (status === 201) {
      call.settled = replayed ? 'replay' : 'new'
      if (replayed && !call.key) call.fault = 'a replay without a key'
    } else if (status === 409 && body.code === 'duplicate_reference') {
      call.settled = 'duplicate'
      if (call.key) call.fault = 'duplicate_reference, though its key tells that it is the same call'
    } else {
      call.fault = `the second try of an unknown call got ${status} ${body.code}`
    }
    const told = status === 201 ? body.data : body.existing
    call.id = told?.id
    if (told && (told.reference !== call.reference || told.amount !== call.amount)) {
      call.fault = `answered with ${told.reference}, ${told.amount}`
    }
    if (!call.fault) this.#acknowledge()
  }

  #acknowledge(): void {
    this.#acknowledged++
    const reached = this.#watchers.filter(({ at }) => at <= this.#acknowledged)
    this.#watchers = this.#watchers.filter((watcher) => !reached.includes(watcher))
    for (const { resolve } of reached) resolve()
  }

  async #send({ reference, amount, key }: Call): Promise<Answer | 'unknown' | 'not sent'> {
    const copies = this.#copies()
    if (copies.length === 0) return 'not sent'
    const { port, headers } = this.#random.pick(copies)
    const text = JSON.stringify({ reference, amount, country: 'NG', user: { email: 'ada@example.com' } })
    const sending = request({
      host: '127.0.0.1',
      port,
      path: '/payments/v1/checkouts',
      method: 'POST',
      agent: this.#agent,
      headers: { ...headers, 'content-length': Buffer.byteLength(text), ...(key && { 'idempotency-key': key }) },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    })
    sending.on('error', () => {}) // an error after the answer; the wait below gets earlier ones
    sending.end(text)
    try {
      const [response] = (await once(sending, 'response')) as [IncomingMessage]
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part)
      const body = JSON.parse(Buffer.concat(parts).toString())
      return { status: response.statusCode ?? 0, body, replayed: response.headers['idempotent-replayed'] === 'true' }
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED' ? 'not sent' : 'unknown'
    }
  }
}

interface Ticket {
  id: string
  reference: string
  amount: number
}

interface Answer {
  status: number
  body: { data?: Ticket; existing?: Ticket; code?: string }
  replayed: boolean
}

function isInProgress({ status, body }: Answer): boolean {
  return status === 409 && body.code === 'idempotency_in_progress'
}
