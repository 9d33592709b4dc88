import type { RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

const MAX_QUEUED_REQUESTS = 32

interface Connection {
  latest: ServerResponse
  queued: number
}

/**
 * Backpressure for HTTP pipelining: the requests of one connection are handled one at a time, so a client that never
 * reads holds one response in memory. Node pauses the socket only after it has handled every request of a 64 KB read,
 * about 1 000 of them.
 */
export function handleInTurn(handle: RequestListener): RequestListener {
  const connections = new WeakMap<Socket, Connection>()

  return (request, response) => {
    const { socket } = request
    const connection = connections.get(socket)
    if (!connection) {
      connections.set(socket, { latest: response, queued: 0 })
      return handle(request, response)
    }
    const { latest: previous } = connection
    connection.latest = response
    if (previous.writableFinished) return handle(request, response)
    if (connection.queued >= MAX_QUEUED_REQUESTS) return void socket.destroy()
    connection.queued++
    previous.once('close', () => {
      connection.queued--
      if (socket.writable) handle(request, response)
    })
  }
}
