import { ManillaApiError, ManillaConnectionError, ManillaError } from './errors.ts'

export interface ManillaOptions {
  clientId: string
  /** Keep it on your server. */
  clientSecret: string
  /** Where your Manilla runs: `https://pay.example.com`. */
  baseUrl: string
  /** For one try, with its body. Default: 30 seconds. */
  timeoutMs?: number
  /** For the whole call with its retries. Default: 90 seconds. */
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
/** A longer timer fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A call as it is sent, the same for all its tries. */
interface Prepared {
  url: string
  init: RequestInit
  key: string | undefined
  isStream: boolean
}

/** Sends calls and repeats those that failed for a moment. The secret stays in this closure. */
export function transport(given: ManillaOptions): Transport {
  const { clientId, clientSecret } = given
  const base = baseOf(given.baseUrl)
  for (const [name, value] of Object.entries({ clientId, clientSecret })) {
    // fetch would name the value in its own error.
    if (!/^[\x21-\x7e]+$/.test(value ?? ''))
      throw new ManillaError(`${name} is missing or has characters that it cannot have.`)
  }

  /** Mistakes of the caller are thrown here, before the first try. */
  function prepare({ method, path, query, body }: Call, { idempotencyKey }: CallOptions, isStream: boolean): Prepared {
    if (/\/\.{0,2}(\/|$)/.test(path)) throw new ManillaError('The id or reference is empty, "." or "..".')
    const key = method === 'POST' ? (idempotencyKey ?? crypto.randomUUID()) : undefined
    if (key !== undefined && !/^[\x20-\x7e]{1,255}$/.test(key))
      throw new ManillaError('idempotencyKey must be 1 to 255 printable ASCII characters.')
    const headers = {
      'client-id': clientId,
      'client-secret': clientSecret,
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const init: RequestInit = {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body, sendable) }),
      // A redirect would carry the secret to another host.
      redirect: 'manual',
    }
    return { url: base + path + queryText(query), init, key, isStream }
  }

  async function send(call: Call, options: CallOptions = {}, isStream = false): Promise<unknown> {
    // Not by spreading: an option that is given as undefined has its default, too.
    const timeoutMs = options.timeoutMs ?? given.timeoutMs ?? 30_000
    const deadlineMs = options.deadlineMs ?? given.deadlineMs ?? 90_000
    const maxRetries = options.maxRetries ?? given.maxRetries ?? 5
    const prepared = prepare(call, options, isStream)
    const end = performance.now() + Math.min(deadlineMs, LONGEST_TIMER_MS)
    for (let retries = 0; ; retries++) {
      options.signal?.throwIfAborted()
      const timeLeftMs = Math.max(1, end - performance.now())
      try {
        return await tryOnce(prepared, retries, Math.min(timeoutMs, timeLeftMs), options.signal)
      } catch (error) {
        const waitMs = waitAfter(error, retries)
        // Waiting for the first try to end does not count: the service holds its key for a minute when a process dies.
        const isLast = retries >= maxRetries && !isRunning(error)
        if (isLast || performance.now() + waitMs >= end || !isRepeatable(error, call)) throw error
        await sleep(waitMs, options.signal)
      }
    }
  }

  async function tryOnce(
    { url, init, key, isStream }: Prepared,
    retries: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const stop = new AbortController()
    const abort = () => stop.abort(signal?.reason)
    const timer = setTimeout(() => stop.abort(), timeoutMs)
    signal?.addEventListener('abort', abort)
    const failed = { idempotencyKey: key, retries }
    try {
      const response = await (given.fetch ?? fetch)(url, { ...init, signal: stop.signal })
      if (response.ok && isStream) return response
      const text = await response.text()
      const answer = parsed(text)
      if (response.ok && isAnswer(answer)) return answer
      // A proxy may repeat the request in its answer.
      throw new ManillaApiError(response, parsed(text.replaceAll(clientSecret, '…')), failed)
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
      // The caller reads the stream, and may abort it.
      if (!isStream) signal?.removeEventListener('abort', abort)
    }
  }

  return {
    json: <Answer>(call: Call, options?: CallOptions) => send(call, options) as Promise<Answer>,
    response: (call, options) => send(call, options, true) as Promise<Response>,
  }
}

function baseOf(baseUrl: string): string {
  const url = parsedUrl(baseUrl)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new ManillaError('baseUrl must be the address of your Manilla, like https://pay.example.com.')
  return url.origin + url.pathname.replace(/\/+$/, '')
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

/** JSON would write NaN as null, and a refund of `null` is a refund in full. */
function sendable(name: string, value: unknown): unknown {
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)))
    throw new ManillaError(`${name} is ${value}, which JSON cannot hold. Give an integer of type number.`)
  return value
}

/** Every answer of the service has `data`. */
function isAnswer(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'data' in body
}

/** The first try is not finished, or its process has died and holds the key for a while. */
function isRunning(error: unknown): boolean {
  return error instanceof ManillaApiError && error.code === 'idempotency_in_progress'
}

/**
 * Repeats what a later try can change. Not `provider_error` and `provider_timeout`: the service has asked the provider,
 * and a repeat would start another attempt or find the first one still open.
 */
function isRepeatable(error: unknown, { once }: Call): boolean {
  if (error instanceof ManillaConnectionError) return !once
  if (!(error instanceof ManillaApiError)) return false
  const { status, code } = error
  if (status === 429) return true
  if (once || code === 'provider_error' || code === 'provider_timeout') return false
  return (status >= 502 && status <= 504) || isRunning(error)
}

/** Exponential backoff with jitter; `Retry-After` can only lengthen it. */
function waitAfter(error: unknown, retries: number): number {
  const backoffMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** retries) * (0.5 + Math.random() / 2)
  const wantedMs = error instanceof ManillaApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return wantedMs > backoffMs ? wantedMs + backoffMs * Math.random() : backoffMs
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
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
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: { code?: unknown; message?: unknown } }
  return String(cause?.code ?? cause?.message ?? message ?? error)
}
