import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import { after } from 'node:test'

export interface Heard {
  headers: IncomingHttpHeaders
  body: string
  at: number
}

/** A merchant's server that listens for webhooks. `answer` says how it takes them; 200 unless told. */
export interface Listener {
  url: string
  heard: Heard[]
  answer: (heard: Heard, response: ServerResponse) => void
  /** Resolves when that many have been heard. */
  hears(count: number, withinMs?: number): Promise<Heard[]>
}

export async function startListener(): Promise<Listener> {
  const heard: Heard[] = []
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks).toString(), at: performance.now() }
      heard.push(one)
      server.emit('heard')
      listener.answer(one, response)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const listener: Listener = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/hook`,
    heard,
    answer: (_, response) => response.end('ok'),
    async hears(count, withinMs = 10_000) {
      const signal = AbortSignal.timeout(withinMs)
      while (heard.length < count) {
        await once(server, 'heard', { signal }).catch(() => {
          throw new Error(`heard ${heard.length} of ${count} within ${withinMs} ms`)
        })
      }
      return heard
    },
  }
  return listener
}
