import type { Dispatcher } from 'undici'
import { type ConnectOptions, createConnect } from './connect.ts'
import { createConnectionPool } from './connection-pool.ts'
import type { Resolve } from './dns-resolve.ts'
import { type ExchangeContext, HttpExchange, type HttpOutcome } from './exchange.ts'
import { createHostQueues } from './host-queues.ts'
import { failed } from './http-failure.ts'
import { parseTarget } from './request-target.ts'

export interface HttpRequest {
  method: Dispatcher.HttpMethod
  url: string
  headers?: Record<string, string>
  body?: string
  /** Requests with the same key share a limit of connections. Absent: those to the same host. */
  queue?: string
  /**
   * Whether the server may receive it twice. Only then is it sent again when a kept connection turns out to be closed.
   */
  mayRepeat: boolean
}

export interface HttpClientOptions {
  /** For the whole exchange: waiting for a connection, connecting, sending, and the last byte of the response. */
  deadlineMs: number
  /** For DNS, TCP and TLS. */
  connectMs: number
  /** For the wait for a free connection. Absent: until the deadline. */
  queueMs?: number
  /** A longer response body is cut, and its connection closed. */
  maxBodyBytes: number
  /** Backpressure: further requests to the same host wait. */
  maxConnectionsPerHost: number
  /** Further requests fail at once. */
  maxWaitingPerHost?: number
  /** SSRF: which addresses may be connected to. */
  addresses: ConnectOptions['addresses']
  /** For tests: every address of a name. */
  resolve?: Resolve
  /** For tests: the certificate authority to trust. */
  ca?: string
}

export interface HttpClient {
  /** Never throws. Does not follow redirects. */
  request(request: HttpRequest): Promise<HttpOutcome>
  /** Closes the connections and ends the requests in flight. */
  close(): void
}

/**
 * The HTTP client for providers and webhooks, on one undici `Client` for each connection. So it knows whether a request
 * can have been sent, and whether its connection had been kept. Connections are never shared between clients, so one
 * that was opened to a private address is never used by a client that is limited to public ones.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const {
    addresses,
    resolve,
    connectMs,
    ca,
    maxConnectionsPerHost,
    maxWaitingPerHost = Number.POSITIVE_INFINITY,
  } = options
  const context: ExchangeContext = {
    options,
    pool: createConnectionPool(createConnect({ addresses, resolve, connectMs, ca })),
    queues: createHostQueues(maxConnectionsPerHost, maxWaitingPerHost),
    inFlight: new Set(),
  }
  let isClosed = false

  return {
    request(request) {
      const target = isClosed
        ? failed('other', 'closed')
        : parseTarget(request.url, { allowPrivate: addresses === 'any' })
      if ('because' in target) {
        return Promise.resolve({ ...target, neverSent: true, responseStarted: false, tookMs: 0 })
      }
      return new Promise((resolve) => void new HttpExchange(context, target, request, resolve))
    },
    close() {
      isClosed = true
      for (const exchange of context.inFlight) exchange.fail(failed('other', 'closed'))
      context.pool.close()
    },
  }
}
