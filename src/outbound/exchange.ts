import type { Dispatcher } from 'undici'
import type { Connection, ConnectionPool } from './connection-pool.ts'
import type { HostQueues } from './host-queues.ts'
import type { HttpClientOptions, HttpRequest } from './http-client.ts'
import { type Failed, failed, failureOf } from './http-failure.ts'
import type { Target } from './request-target.ts'

export type HttpOutcome = HttpResponse | HttpFailure

export interface HttpResponse {
  kind: 'response'
  status: number
  retryAfter: string | undefined
  body: Buffer
  /** The body was longer than the limit. */
  isCut: boolean
  tookMs: number
}

export interface HttpFailure extends Failed {
  /** The server cannot have received the request. */
  neverSent: boolean
  responseStarted: boolean
  tookMs: number
}

export interface ExchangeContext {
  options: HttpClientOptions
  pool: ConnectionPool
  queues: HostQueues
  inFlight: Set<HttpExchange>
}

const MAX_INTERIM_RESPONSES = 8

/** One request and its response. A class with few closures, because there are thousands of exchanges a second. */
export class HttpExchange implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now()
  readonly #context: ExchangeContext
  readonly #target: Target
  readonly #queue: string
  readonly #request: Dispatcher.DispatchOptions
  readonly #mayRepeat: boolean
  readonly #resolve: (outcome: HttpOutcome) => void
  readonly #deadline: NodeJS.Timeout
  #queueTimeout: NodeJS.Timeout | undefined
  #connection: Connection | undefined
  #isOver = false
  #neverSent = true
  #interimResponses = 0
  #status = 0
  #retryAfter: string | undefined
  readonly #chunks: Buffer[] = []
  #size = 0

  constructor(
    context: ExchangeContext,
    target: Target,
    { method, headers = {}, body, queue, mayRepeat }: HttpRequest,
    resolve: (outcome: HttpOutcome) => void,
  ) {
    const { deadlineMs, queueMs } = context.options
    this.#context = context
    this.#target = target
    this.#queue = queue ?? target.origin
    this.#request = { method, path: target.path, headers: headersOf(headers, target), body: body ?? null }
    this.#mayRepeat = mayRepeat
    this.#resolve = resolve
    this.#deadline = setTimeout(pastDeadline, deadlineMs, this)
    context.inFlight.add(this)
    if (!context.queues.enter(this.#queue, this)) {
      this.fail(failed('too_many', 'too many calls to this host are waiting'))
    } else if (!this.#connection && !this.#isOver && queueMs !== undefined) {
      this.#queueTimeout = setTimeout(waitedTooLong, queueMs, this)
    }
  }

  /** Called by the queue when a connection may be used. */
  begin(): void {
    clearTimeout(this.#queueTimeout)
    const { pool } = this.#context
    this.#sendOn(pool.take(this.#target) ?? pool.open(this.#target))
  }

  #sendOn(connection: Connection): void {
    this.#connection = connection
    connection.send(this.#request, this)
  }

  fail(failure: Failed): void {
    const responseStarted = this.#status > 0
    this.#settle({ ...failure, neverSent: this.#neverSent, responseStarted, tookMs: this.#tookMs() }, 'close')
  }

  #respond(isCut: boolean): void {
    const body = Buffer.concat(this.#chunks)
    const outcome: HttpResponse = {
      kind: 'response',
      status: this.#status,
      retryAfter: this.#retryAfter,
      body,
      isCut,
      tookMs: this.#tookMs(),
    }
    this.#settle(outcome, isCut ? 'close' : 'keep')
  }

  #settle(outcome: HttpOutcome, connectionThen: 'keep' | 'close'): void {
    if (this.#isOver) return
    this.#isOver = true
    const { pool, queues, inFlight } = this.#context
    clearTimeout(this.#deadline)
    clearTimeout(this.#queueTimeout)
    inFlight.delete(this)
    if (!this.#connection) {
      queues.giveUp(this.#queue, this)
    } else {
      if (connectionThen === 'keep') pool.keep(this.#connection)
      else this.#connection.destroy()
      queues.leave(this.#queue)
    }
    this.#resolve(outcome)
  }

  #tookMs(): number {
    return Math.round(performance.now() - this.#startedAt)
  }

  /** undici calls it with a connected socket, right before it writes the request. */
  onRequestStart(): void {
    this.#neverSent = false
  }

  onResponseStart(_: unknown, status: number, headers: { [name: string]: string | string[] | undefined }): void {
    if (status === 101) {
      this.fail(failed('other', 'the response changes the protocol, which was not requested'))
    } else if (status < 200) {
      if (++this.#interimResponses > MAX_INTERIM_RESPONSES) this.fail(failed('other', 'too many interim responses'))
    } else {
      this.#status = status
      const retryAfter = headers['retry-after']
      this.#retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter
    }
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.#isOver) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > this.#context.options.maxBodyBytes) this.#respond(true)
  }

  onResponseEnd(): void {
    if (this.#connection) this.#connection.hasServed = true
    this.#respond(false)
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.#isOver || !this.#connection) return
    const { hasServed, endedByPeer } = this.#connection
    const failure = failureOf(error, { endedByPeer })
    // The server closed a kept connection while it was used again. This says nothing about the server.
    if (this.#mayRepeat && hasServed && this.#status === 0 && failure.because === 'reset') {
      this.#connection.destroy()
      this.#sendOn(this.#context.pool.open(this.#target))
    } else {
      this.fail(failure)
    }
  }
}

const pastDeadline = (exchange: HttpExchange) => exchange.fail(failed('timeout', 'no whole answer before the deadline'))
const waitedTooLong = (exchange: HttpExchange) => exchange.fail(failed('too_many', 'no connection was free in time'))

function headersOf(headers: Record<string, string>, { host }: Target): Record<string, string> {
  const all: Record<string, string> = { host, 'user-agent': 'manilla', 'accept-encoding': 'identity' }
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (lower !== 'host' && lower !== 'content-length') all[lower] = headers[name] as string
  }
  return all
}
