import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { ProviderAnswer, ProviderCall, ProviderHttp, Unknown } from '../providers/provider.ts'
import { type BreakerOptions, createBreaker } from './circuit-breaker.ts'
import { BLOCKED, type Guard, guardedLookup, isBlocked } from './guarded-lookup.ts'

export interface ProviderHttpOptions {
  /** For the whole call: waiting for a connection, connecting, sending, and the last byte of the answer. */
  deadlineMs?: number
  /** For name, connection and TLS. Nothing has been sent until then. */
  connectMs?: number
  maxAnswerBytes?: number
  /** Calls at once to one host; the others wait, within their deadline. */
  maxConnections?: number
  breaker?: BreakerOptions
  /** For a base URL of the merchant's own choice; absent: wherever the adapter says. */
  guard?: Guard
}

/**
 * The way out, one for each account at a provider. Nothing here throws: what went wrong is a value, and it says whether
 * the request can have reached the provider. Redirects are answers like any other, for a key must not follow one.
 *
 * On node:http rather than fetch: it tells when a connection stands, and so what was certainly never sent.
 */
export function providerHttp(options: ProviderHttpOptions = {}): ProviderHttp {
  const { deadlineMs = 30_000, connectMs = 5_000, maxAnswerBytes = 1024 * 1024, maxConnections = 64 } = options
  const breaker = createBreaker(options.breaker)
  const agents = createAgents(maxConnections)
  const guard = options.guard && { ...options.guard, lookup: guardedLookup(options.guard) }
  const means: Means = { deadlineMs, connectMs, maxAnswerBytes, agents, guard }

  async function ask(call: ProviderCall): Promise<ProviderAnswer> {
    const permit = breaker.ask()
    if ('refused' in permit) {
      const because = `provider is not being asked for a moment: ${permit.refused}`
      return { kind: 'unknown', because, neverSent: true }
    }
    const { answer, retryAfterMs, ourMistake } = await exchange(call, means)
    if (ourMistake) permit.unused()
    else if (answer.kind === 'unknown') permit.failed(answer.because, retryAfterMs)
    else permit.succeeded()
    return answer
  }

  return { request: ask }
}

interface Means {
  deadlineMs: number
  connectMs: number
  maxAnswerBytes: number
  agents: Agents
  guard: (Guard & { lookup: LookupFunction }) | undefined
}

interface Exchange {
  answer: ProviderAnswer
  retryAfterMs?: number
  /** It could not even be tried: a broken address, a header that is none. */
  ourMistake?: boolean
}

async function exchange(call: ProviderCall, means: Means): Promise<Exchange> {
  const until = performance.now() + means.deadlineMs
  const first = await exchangeOnce(call, means, means.deadlineMs, 'kept connection')
  if (!first.staleConnection || call.method !== 'GET') return first
  // The provider closed a connection that we had kept, just as we used it. Reading twice does no harm; anything else might.
  const second = await exchangeOnce(call, means, until - performance.now(), 'new connection')
  if (second.answer.kind === 'unknown') delete second.answer.neverSent
  return second
}

function exchangeOnce(
  call: ProviderCall,
  { connectMs, maxAnswerBytes, agents, guard }: Means,
  deadlineMs: number,
  connection: 'kept connection' | 'new connection',
): Promise<Exchange & { staleConnection?: boolean }> {
  return new Promise((resolve) => {
    let request: http.ClientRequest
    let mayBeSent = false
    let answerBegan = false
    let connecting: NodeJS.Timeout | undefined
    const deadline = setTimeout(() => giveUp('no whole answer before the deadline'), Math.max(0, deadlineMs))

    const done = (exchange: Exchange & { staleConnection?: boolean }) => {
      clearTimeout(deadline)
      clearTimeout(connecting)
      resolve(exchange)
    }
    const unknown = (because: string): Unknown => ({ kind: 'unknown', because, ...(!mayBeSent && { neverSent: true }) })
    const giveUp = (because: string) => {
      done({ answer: unknown(because) })
      request.destroy()
    }

    try {
      const url = new URL(call.url)
      if (guard && isBlocked(guard, url.hostname)) throw Object.assign(new Error(BLOCKED), { code: BLOCKED })
      const { request: open } = url.protocol === 'https:' ? https : http
      request = open(url, {
        method: call.method,
        agent: connection === 'kept connection' ? agents[url.protocol as keyof Agents] : false,
        headers: headersOf(call),
        ...(guard && { lookup: guard.lookup }),
      })
    } catch (error) {
      done({ answer: unknown(`the request could not be made: ${codeOf(error)}`), ourMistake: true })
      return
    }

    request.on('socket', (socket) => {
      mayBeSent = !socket.connecting
      if (!socket.connecting) return
      connecting = setTimeout(() => giveUp('no connection was made in time'), connectMs)
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => {
        mayBeSent = true
        clearTimeout(connecting)
      })
    })
    request.on('error', (error) => {
      const staleConnection = request.reusedSocket && !answerBegan
      done({ answer: unknown(`the connection failed: ${codeOf(error)}`), staleConnection })
    })
    request.on('response', (response) => {
      answerBegan = true
      const chunks: Buffer[] = []
      let size = 0
      response.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size > maxAnswerBytes) giveUp(`an answer of more than ${maxAnswerBytes} bytes`)
        else chunks.push(chunk)
      })
      response.on('error', (error) => done({ answer: unknown(`the answer broke off: ${codeOf(error)}`) }))
      response.on('end', () => done(read(response, Buffer.concat(chunks))))
    })
    request.end(call.body)
  })
}

function read(response: http.IncomingMessage, body: Buffer): Exchange {
  const status = response.statusCode ?? 0
  if (!response.complete) return { answer: { kind: 'unknown', because: 'the answer broke off' } }
  if (status >= 500 || status === 429) {
    const retryAfterMs = readRetryAfter(response.headers['retry-after'])
    return { answer: { kind: 'unknown', because: `it answered ${status}`, errorStatus: status }, retryAfterMs }
  }
  try {
    return { answer: { kind: 'answer', status, text: new TextDecoder('utf-8', { fatal: true }).decode(body) } }
  } catch {
    return { answer: { kind: 'unknown', because: `it answered ${status} with bytes that are no text` } }
  }
}

/** Seconds or a date; what is neither says nothing. */
function readRetryAfter(value: string | undefined): number | undefined {
  if (!value) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}

function headersOf({ headers, body }: ProviderCall): http.OutgoingHttpHeaders {
  return {
    'user-agent': 'manilla',
    'accept-encoding': 'identity',
    ...headers,
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
  }
}

/** The code alone: a message may quote what we sent. */
function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | undefined)?.code
  return typeof code === 'string' && /^\w+$/.test(code) ? code : 'for a reason without a code'
}

interface Agents {
  'http:': http.Agent
  'https:': https.Agent
}

// An idle connection is ours to close before the provider does, who would close it while we write: most keep it for longer
// than this, and whoever keeps it for less says so in its answer, which Node's agent reads.
const IDLE_MS = 10_000

function createAgents(maxSockets: number): Agents {
  const options = { keepAlive: true, maxSockets, maxFreeSockets: 8, timeout: IDLE_MS }
  return { 'http:': new http.Agent(options), 'https:': new https.Agent(options) }
}
