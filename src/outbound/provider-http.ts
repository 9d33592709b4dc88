import { type Breaker, type BreakerOptions, createBreaker } from './circuit-breaker.ts'
import type { Resolve } from './dns-resolve.ts'
import type { HttpFailure, HttpResponse } from './exchange.ts'
import { createHttpClient, type HttpClientOptions } from './http-client.ts'
import { readRetryAfter } from './retry-after.ts'

export interface ProviderHttp {
  /** Never throws. */
  request(call: ProviderCall): Promise<ProviderAnswer>
}

export interface ProviderCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  url: string
  headers?: Record<string, string>
  body?: string
  /** For a provider that answers with HTTP 500 on purpose: whether the text is such an answer. Absent: none is. */
  isAnswer?(text: string): boolean
}

export type ProviderAnswer =
  /** Any status below 500 other than 429, or one of `isAnswer`: the provider has processed the request. */
  { kind: 'answer'; status: number; text: string } | Unknown

/** The provider may or may not have done what was requested. */
export interface Unknown {
  kind: 'unknown'
  because: string
  /** Set when the provider cannot have received the request, so that it has done nothing. */
  neverSent?: boolean
  /** Set when the provider answered with 5xx or 429. */
  errorStatus?: number
  /** Set when this order cannot be asked for: its name at the provider was in an answer that was lost. */
  unaskable?: true
}

export interface ProviderHttpOptions {
  /** For the whole call. */
  deadlineMs?: number
  /** For DNS, TCP and TLS. */
  connectMs?: number
  maxAnswerBytes?: number
  /** Calls at once to one host. The others wait, within their deadline. */
  maxConnections?: number
  breaker?: BreakerOptions
  /** SSRF: `public` for a base URL that the merchant chose. Absent: `any`, for the provider's own URL. */
  addresses?: HttpClientOptions['addresses']
  /** For tests: every address of a name. */
  resolve?: Resolve
}

/**
 * Calls to one account at a provider, with a circuit breaker. A failure says whether the provider can have received the
 * request: only a call that was never sent may be repeated. Redirects are not followed, because they would carry the
 * key to another host.
 */
export function providerHttp(options: ProviderHttpOptions = {}): ProviderHttp & { breaker: Pick<Breaker, 'state'> } {
  const { deadlineMs = 30_000, connectMs = 5_000, maxAnswerBytes = 1024 * 1024, maxConnections = 64 } = options
  const { addresses = 'any', resolve } = options
  const breaker = createBreaker(options.breaker)
  const client = createHttpClient({
    ...{ deadlineMs, connectMs, maxBodyBytes: maxAnswerBytes, maxConnectionsPerHost: maxConnections },
    ...{ addresses, resolve },
    // Backpressure: a call that waits for long would be sent too late to be answered before its deadline.
    queueMs: Math.min(connectMs, deadlineMs / 2),
    maxWaitingPerHost: MAX_WAITING,
  })

  return {
    breaker,
    async request(call) {
      const permit = breaker.ask()
      if ('refused' in permit) {
        const because = `provider is not being asked for a moment: ${permit.refused}`
        return { kind: 'unknown', because, neverSent: true }
      }
      const outcome = await client.request({ ...call, mayRepeat: call.method === 'GET' })
      if (outcome.kind === 'failed') {
        const answer = unknownOf(outcome)
        if (NOT_TRIED.has(outcome.because)) permit.unused()
        else permit.failed(answer.because)
        return answer
      }
      const answer = outcome.isCut
        ? unknown(`an answer of more than ${maxAnswerBytes} bytes`)
        : answerOf(outcome, call.isAnswer)
      if (answer.kind === 'answer') permit.succeeded()
      else permit.failed(answer.because, answer.errorStatus ? retryAfterMs(outcome) : undefined)
      return answer
    },
  }
}

const MAX_WAITING = 1_000

/** Failures that say nothing about the provider, because the request was not made. The circuit breaker ignores them. */
const NOT_TRIED: ReadonlySet<string> = new Set(['invalid_url', 'invalid_request', 'blocked_address', 'too_many'])

const unknown = (because: string): Unknown => ({ kind: 'unknown', because })

function unknownOf({ because, detail, neverSent, responseStarted }: HttpFailure): Unknown {
  return { ...unknown(describe()), ...(neverSent && { neverSent }) }

  function describe(): string {
    if (because === 'timeout') return detail
    if (because === 'blocked_address') return `the request could not be made: ${because}`
    if (NOT_TRIED.has(because)) return `the request could not be made: ${detail}`
    return `${responseStarted ? 'the answer broke off' : 'the connection failed'}: ${detail}`
  }
}

function answerOf({ status, body }: HttpResponse, isAnswer: ProviderCall['isAnswer']): ProviderAnswer {
  const refused: Unknown = { ...unknown(`it answered ${status}`), errorStatus: status }
  const isError = status >= 500 || status === 429
  if (isError && (status !== 500 || !isAnswer)) return refused
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return isError && !isAnswer?.(text) ? refused : { kind: 'answer', status, text }
  } catch {
    return isError ? refused : unknown(`it answered ${status} with bytes that are not UTF-8 text`)
  }
}

const retryAfterMs = ({ retryAfter }: HttpResponse) => (readRetryAfter(retryAfter) ?? 0) * 1_000
