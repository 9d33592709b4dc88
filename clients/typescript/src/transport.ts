import { ManillaApiError, ManillaConnectionError, ManillaError } from './errors.ts'

export interface ManillaOptions {
  clientId: string
  /** Keep it on your server. */
  clientSecret: string
  /** Where your Manilla runs: `https://pay.example.com`. */
  baseUrl: string
  /** For one try. Default: 30 seconds. */
  timeoutMs?: number
  /** For the whole call with its retries. Default: 60 seconds. */
  deadlineMs?: number
  /** Default: 5. */
  maxRetries?: number
  /** Default: the global `fetch`. */
  fetch?: typeof fetch
}

export interface CallOptions {
  signal?: AbortSignal
  timeoutMs?: number
  deadlineMs?: number
  maxRetries?: number
  /** Of a POST. Default: a random one for each call; all retries of the call use the same. */
  idempotencyKey?: string
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  query?: object
  body?: unknown
  /** The call would have another effect when it is carried out twice, so a lost answer is not repeated. */
  once?: boolean
}

export interface Transport {
  /** The parsed body of a 2xx answer. */
  json<Answer>(call: Call, options?: CallOptions): Promise<Answer>
  /** A 2xx answer whose body is not read yet. */
  response(call: Call, options?: CallOptions): Promise<Response>
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 8_000

/** Sends calls and repeats those that failed for a moment. The secret stays in this closure. */
export function transport(given: ManillaOptions): Transport {
  const { clientId, clientSecret, timeoutMs = 30_000, deadlineMs = 60_000, maxRetries = 5 } = given
  const base = baseOf(given.baseUrl)
  for (const [name, value] of Object.entries({ clientId, clientSecret })) {
    // fetch would name the value in its own error.
    if (!/^[\x21-\x7e]+$/.test(value ?? ''))
      throw new ManillaError(`${name} is missing or has characters that it cannot have.`)
  }

  async function send<Result>(
    call: Call,
    options: CallOptions,
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const limits = { timeoutMs, deadlineMs, maxRetries, ...options }
    const key = call.method === 'POST' ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
    const end = performance.now() + limits.deadlineMs
    for (let retries = 0; ; retries++) {
      options.signal?.throwIfAborted()
      const timeLeftMs = Math.max(1, end - performance.now())
      try {
        return await tryOnce(
          call,
          { key, retries, signal: options.signal, timeoutMs: Math.min(limits.timeoutMs, timeLeftMs) },
          read,
        )
      } catch (error) {
        const waitMs = waitAfter(error, retries)
        const isOver = retries >= limits.maxRetries || performance.now() + waitMs >= end
        if (isOver || !isRepeatable(error, call)) throw error
        await sleep(waitMs, options.signal)
      }
    }
  }

  async function tryOnce<Result>(
    { method, path, query, body }: Call,
    {
      key,
      retries,
      signal,
      timeoutMs,
    }: { key: string | undefined; retries: number; signal?: AbortSignal; timeoutMs: number },
    read: (response: Response) => Promise<Result>,
  ): Promise<Result> {
    const stop = new AbortController()
    const abort = () => stop.abort()
    const timer = setTimeout(abort, timeoutMs)
    signal?.addEventListener('abort', abort)
    const failed = { idempotencyKey: key, retries }
    try {
      const response = await (given.fetch ?? fetch)(base + path + queryText(query), {
        method,
        headers: {
          'client-id': clientId,
          'client-secret': clientSecret,
          ...(key !== undefined && { 'idempotency-key': key }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // A redirect would carry the secret to another host.
        redirect: 'manual',
        signal: stop.signal,
      })
      if (response.ok) return await read(response)
      const text = await response.text()
      throw new ManillaApiError(response, parsed(text), failed)
    } catch (error) {
      if (error instanceof ManillaError) throw error
      if (signal?.aborted) throw signal.reason
      const timedOut = stop.signal.aborted
      const why = timedOut
        ? `timed out after ${Math.round(timeoutMs)} ms`
        : reasonOf(error).replaceAll(clientSecret, '…')
      throw new ManillaConnectionError(`No answer from ${base}: ${why}.`, { ...failed, timedOut })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  return {
    json: <Answer>(call: Call, options: CallOptions = {}) =>
      send(call, options, (response) => response.json() as Promise<Answer>),
    response: (call, options = {}) => send(call, options, async (response) => response),
  }
}

function baseOf(baseUrl: string): string {
  const url = parsedUrl(baseUrl)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new ManillaError('baseUrl must be the address of your Manilla, like https://pay.example.com.')
  return url.href.replace(/\/+$/, '')
}

function parsedUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const text = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
  return text && `?${text}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Repeats what a later try can change. Not `provider_error` and `provider_timeout`: the service has asked the provider, and a
 * repeat would start another attempt or find the first one still open.
 */
function isRepeatable(error: unknown, { once }: Call): boolean {
  if (error instanceof ManillaConnectionError) return !once
  if (!(error instanceof ManillaApiError)) return false
  const { status, code } = error
  if (status === 429) return true
  if (once || code === 'provider_error' || code === 'provider_timeout') return false
  return (status >= 502 && status <= 504) || code === 'idempotency_in_progress'
}

/** Exponential backoff with jitter; `Retry-After` can only lengthen it. */
function waitAfter(error: unknown, retries: number): number {
  const backoffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retries) * (0.5 + Math.random() / 2)
  const wantedMs = error instanceof ManillaApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return wantedMs > backoffMs ? wantedMs + backoffMs * Math.random() : backoffMs
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: unknown; cause?: { code?: unknown; message?: unknown } }
  return String(cause?.code ?? cause?.message ?? message ?? error)
}
