import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import { createServer as createSocketServer, type Socket } from 'node:net'
import { after } from 'node:test'

export interface Heard {
  headers: IncomingHttpHeaders
  body: string
  at: number
}

export type Manner = (heard: Heard, response: ServerResponse) => void

/** A merchant's server that receives webhooks. `answer` is its behaviour; the default is 200. */
export interface Listener {
  url: string
  heard: Heard[]
  answer: Manner
  /** Connections that were opened to it, with or without a request. */
  connections: number
  /** The maximum of concurrent requests. */
  mostAtOnce: number
  /** Resolves when so many requests have arrived. */
  hears(count: number, withinMs?: number): Promise<Heard[]>
  /** Closes every connection, with the requests on it. */
  hangUp(): void
  close(): void
}

export async function startListener(answer: Manner = takes.well): Promise<Listener> {
  const listener = await openListener(answer)
  after(listener.close)
  return listener
}

/** For gates, which are not tests. The caller must close it. */
export async function openListener(answer: Manner = takes.well): Promise<Listener> {
  const heard: Heard[] = []
  let open = 0
  const path = `/hook/${randomUUID()}`
  const server: Server = createServer((request, response) => {
    // A webhook for another listener, which had this port before.
    if (request.url?.startsWith('/hook/') && !request.url.startsWith(path)) {
      request.socket.destroy()
      return
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const one = { headers: request.headers, body: Buffer.concat(chunks).toString(), at: performance.now() }
      heard.push(one)
      listener.mostAtOnce = Math.max(listener.mostAtOnce, ++open)
      response.once('close', () => open--)
      server.emit('heard')
      listener.answer(one, response)
    })
  })
  server.on('connection', () => listener.connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const listener: Listener = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}${path}`,
    heard,
    answer,
    connections: 0,
    mostAtOnce: 0,
    async hears(count, withinMs = 20_000) {
      const signal = AbortSignal.timeout(withinMs)
      while (heard.length < count) {
        await once(server, 'heard', { signal }).catch(() => {
          throw new Error(`heard ${heard.length} of ${count} within ${withinMs} ms`)
        })
      }
      return heard
    },
    hangUp: () => server.closeAllConnections(),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return listener
}

/** Behaviours of endpoints. */
export const takes = {
  well: ((_, response) => response.end('ok')) as Manner,

  with(status: number, headers: Record<string, string> = {}, body = ''): Manner {
    return (_, response) => response.writeHead(status, headers).end(body)
  },

  /**
   * Fails, and wants the next try in an hour. So it comes when a test makes it due, however long the machine stalls.
   */
  notNow: ((_, response) => response.writeHead(503, { 'retry-after': '3600' }).end()) as Manner,

  after(ms: number): Manner {
    return (_, response) => setTimeout(() => response.end('ok'), ms)
  },

  /** Never answers. */
  inSilence: (() => {}) as Manner,

  /** 200, and then a byte at a time, without end. */
  byDrips(everyMs = 20): Manner {
    return (_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), everyMs)
      response.once('close', () => clearInterval(timer))
    }
  },

  /** 200, and then an endless body. `wrote` gets the number of bytes that were written. */
  withoutEnd(wrote: (bytes: number) => void = () => {}): Manner {
    return (_, response) => {
      response.writeHead(200)
      const chunk = 'x'.repeat(16 * 1024)
      let size = 0
      const pour = () => {
        do size += chunk.length
        while (response.write(chunk))
      }
      response.on('drain', pour)
      response.once('close', () => wrote(size))
      pour()
    }
  },

  byReset: ((_, response) => response.socket?.resetAndDestroy()) as Manner,
}

/** A URL whose port is closed. */
export async function closedPort(): Promise<string> {
  const listener = await openListener()
  listener.close()
  return listener.url
}

/** A TCP server that counts connections and bytes. */
export async function startTrap(): Promise<{ port: number; visits: number; bytes: number }> {
  const sockets = new Set<Socket>()
  const trap = { port: 0, visits: 0, bytes: 0 }
  const server = createSocketServer((socket) => {
    trap.visits++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      trap.bytes += chunk.length
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  trap.port = (server.address() as { port: number }).port
  return trap
}
