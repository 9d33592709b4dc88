import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/**
 * Merchants' servers that answer 200 and record the time of arrival. In the measuring process, so that both times use
 * one clock.
 */
export interface Sink {
  ports: number[]
  /** Resolves with the times of so many arrivals from now on. */
  expect(count: number): Promise<number[]>
  close(): void
}

export async function startSink(count: number): Promise<Sink> {
  let arrivals: number[] = []
  let wanted = Number.POSITIVE_INFINITY
  let enough: (times: number[]) => void = () => {}
  const arrived = () => {
    arrivals.push(performance.now())
    if (arrivals.length === wanted) enough(arrivals)
  }
  const servers: Server[] = []
  for (let index = 0; index < count; index++) {
    const server = createServer((request, response) => {
      request.resume()
      request.once('end', () => {
        arrived()
        response.end()
      })
    })
    server.keepAliveTimeout = 60_000
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.push(server)
  }
  return {
    ports: servers.map((server) => (server.address() as { port: number }).port),
    expect(count) {
      arrivals = []
      wanted = count
      return new Promise((resolve) => {
        enough = resolve
      })
    },
    close() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
    },
  }
}
