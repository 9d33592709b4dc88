import type { Resolve } from './dns-resolve.ts'
import { excerptOf } from './excerpt.ts'
import { createHttpClient } from './http-client.ts'
import type { Failed } from './http-failure.ts'
import { readRetryAfter } from './retry-after.ts'

export interface WebhookHttp {
  /** Never throws. */
  post(call: WebhookCall): Promise<WebhookAnswer>
  /** Closes the connections and ends the calls in flight. */
  close(): void
}

export interface WebhookCall {
  url: string
  headers: Record<string, string>
  body: string
  /** Whether the URL may lead to loopback, a private network, or any port. */
  allowPrivate: boolean
  /** Calls to the same destination share a limit, so that merchants with the same host do not wait for each other. */
  destination?: string
}

export type WebhookAnswer =
  | { kind: 'answer'; status: number; retryAfterSeconds: number | null; excerpt: string; tookMs: number }
  | (Failed & { tookMs: number })

export interface WebhookHttpOptions {
  /** For the whole call. */
  deadlineMs?: number
  /**
   * For DNS, TCP and TLS, and for the wait for a free connection, so that enough of the deadline is left for the
   * response.
   */
  connectMs?: number
  /** A longer response body is cut. Its status counts. */
  maxReadBytes?: number
  /** How much of a response body is kept. */
  keepBytes?: number
  maxConnectionsPerHost?: number
  maxWaitingPerHost?: number
  /** For tests: every address of a name. */
  resolve?: Resolve
  /** For tests: the certificate authority to trust. */
  ca?: string
}

/**
 * Sends webhooks to URLs that merchants chose. Calls with and without permission for private addresses have separate
 * connections.
 */
export function webhookHttp(options: WebhookHttpOptions = {}): WebhookHttp {
  const { deadlineMs = 15_000, connectMs = 5_000, maxConnectionsPerHost = 8, maxWaitingPerHost = 1_000, ca } = options
  const { maxReadBytes: maxBodyBytes = 64 * 1024, keepBytes = 2 * 1024, resolve } = options
  const limits = {
    deadlineMs,
    connectMs,
    queueMs: connectMs,
    maxBodyBytes,
    maxConnectionsPerHost,
    maxWaitingPerHost,
    resolve,
    ca,
  }
  const anyAddress = createHttpClient({ ...limits, addresses: 'any' })
  const publicOnly = createHttpClient({ ...limits, addresses: 'public' })

  return {
    async post({ url, headers, body, allowPrivate, destination }) {
      const client = allowPrivate ? anyAddress : publicOnly
      // A webhook may arrive twice: delivery is at-least-once.
      const outcome = await client.request({ method: 'POST', url, headers, body, queue: destination, mayRepeat: true })
      if (outcome.kind === 'failed') {
        const { kind, because, detail, tookMs } = outcome
        return { kind, because, detail, tookMs }
      }
      const { status, retryAfter, tookMs } = outcome
      const excerpt = excerptOf(outcome.body, keepBytes)
      return { kind: 'answer', status, retryAfterSeconds: readRetryAfter(retryAfter), excerpt, tookMs }
    },
    close() {
      anyAddress.close()
      publicOnly.close()
    },
  }
}
