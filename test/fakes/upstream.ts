import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type ProviderAnswer,
  type ProviderCall,
  type ProviderHttp,
  providerHttp,
} from '../../src/outbound/provider-http.ts'

/** A request as a provider sees it. */
export interface Asked {
  method: string
  /** With its query. */
  path: string
  headers: IncomingMessage['headers']
  body: string
}

export interface Said {
  status: number
  text: string
  headers?: Record<string, string>
}

/** How a provider's server can be in trouble. "After the work": it was done, only the answer does not come. */
export const TROUBLES = [
  'silent before the work',
  'silent after the work',
  'reset before the work',
  'reset after the work',
  'breaking off after the work',
  'answering 500 before the work',
  'answering 503 after the work',
  'answering 429',
  'redirecting',
] as const
export type Trouble = (typeof TROUBLES)[number]

export interface Upstream {
  url: string
  /**
   * From now on; undefined ends it. A function chooses for each request: no trouble, some, or something else to say in
   * place of the work.
   */
  trouble: Trouble | ((asked: Asked) => Trouble | Said | undefined) | undefined
  /** Changes each answer on its way; undefined leaves them alone. */
  garble: ((said: Said, asked: Asked) => Said) | undefined
  /** Resolves when the request with this value of `x-call` has had its trouble, or its work done. */
  handled(call: string): Promise<void>
  /** Hangs up and listens no more. */
  close(): Promise<void>
}

/**
 * A provider's server for tests: `speak` is its protocol, the rest is trouble on the way, the same for every provider.
 */
export async function startUpstream(
  t: { after(end: () => Promise<void>): void },
  speak: (asked: Asked) => Said | Promise<Said>,
): Promise<Upstream> {
  const handled = new Map<string, PromiseWithResolvers<void>>()
  const handling = (call: string) => {
    const known = handled.get(call) ?? Promise.withResolvers<void>()
    handled.set(call, known)
    return known
  }
  const server = createServer((request, response) => {
    answer(upstream, speak, request, response)
      .catch((error) => response.destroy(error))
      .finally(() => handling(String(request.headers['x-call'])).resolve())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const upstream: Upstream = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    trouble: undefined,
    garble: undefined,
    handled: (call) => handling(call).promise,
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
  t.after(() => upstream.close())
  return upstream
}

/**
 * For an adapter. Short of patience only while the upstream is silent, as the tests then wait for the deadline:
 * otherwise a busy machine would be taken for a silent provider. A stalled machine may reach the deadline before the
 * request is sent: then it is sent again. It may also reach it before the upstream has read the request: that is
 * awaited, because the test may end the trouble after the answer.
 */
export function httpTo(upstream: Upstream, { isSilent = () => false, now }: Silence = {}): ProviderHttp {
  const breaker = now ? { now } : {}
  const patience = { deadlineMs: 60_000, connectMs: 30_000, breaker }
  // The failures of a test with trouble do not open the circuit breaker of what follows.
  const [patient, inTrouble] = [providerHttp(patience), providerHttp(patience)]
  const impatient = providerHttp({ deadlineMs: 1_000, breaker })
  async function requestInVain(call: ProviderCall): Promise<ProviderAnswer> {
    for (;;) {
      const id = randomUUID()
      const answer = await impatient.request({ ...call, headers: { ...call.headers, 'x-call': id } })
      const isTooLate = answer.kind === 'unknown' && answer.because === 'no whole answer before the deadline'
      if (isTooLate && answer.neverSent) continue
      if (isTooLate && !isSilent()) await upstream.handled(id)
      return answer
    }
  }
  return {
    request(call) {
      const { trouble } = upstream
      if (isSilent() || (typeof trouble === 'string' && trouble.startsWith('silent'))) return requestInVain(call)
      return (trouble ? inTrouble : patient).request(call)
    },
  }
}

interface Silence {
  /** For a silence of what is behind the upstream. */
  isSilent?: () => boolean
  /** The clock of the circuit breaker. */
  now?: () => number
}

async function answer(
  upstream: Upstream,
  speak: (asked: Asked) => Said | Promise<Said>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { trouble: chosen, garble } = upstream
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const { method = '', url: path = '', headers } = request
  const asked: Asked = { method, path, headers, body: Buffer.concat(chunks).toString() }
  const trouble = typeof chosen === 'function' ? chosen(asked) : chosen
  if (typeof trouble === 'object') return void response.writeHead(trouble.status, trouble.headers).end(trouble.text)
  if (trouble === 'silent before the work') return
  if (trouble === 'reset before the work') return void request.socket.resetAndDestroy()
  if (trouble === 'answering 500 before the work') return void response.writeHead(500).end('{"error":"oops"}')
  if (trouble === 'answering 429') return void response.writeHead(429).end('{"error":"slow down"}')
  if (trouble === 'redirecting') return void response.writeHead(302, { location: upstream.url }).end()

  const said = await speak(asked)
  if (trouble === 'silent after the work') return
  if (trouble === 'reset after the work') return void request.socket.resetAndDestroy()
  if (trouble === 'answering 503 after the work') return void response.writeHead(503).end(said.text)
  if (trouble === 'breaking off after the work') {
    response.writeHead(said.status, { 'content-length': Buffer.byteLength(said.text) + 1 })
    return void response.write(said.text, () => request.socket.destroy())
  }
  const { status, text, headers: more } = garble ? garble(said, asked) : said
  response.writeHead(status, { 'content-type': 'application/json', ...more }).end(text)
}
