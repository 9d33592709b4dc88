import { Client, type Dispatcher } from 'undici'
import type { Connect } from './connect.ts'
import type { Target } from './request-target.ts'

// An idle connection is closed before the server closes it, which could happen during a request. If the server
// announces its own timeout, one second before that.
const IDLE_MS = 10_000
const BEFORE_SERVER_TIMEOUT_MS = 1_000
const MAX_IDLE = 512
const MAX_HEADER_BYTES = 16 * 1024

export interface Connection {
  readonly origin: string
  /** It has carried a response. The server may have closed it since. */
  hasServed: boolean
  /** The server has ended its side of the connection. */
  endedByPeer: boolean
  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  /** Ends the request on it, too. */
  destroy(): void
}

export interface ConnectionPool {
  open(target: Target): Connection
  /**
   * An idle connection. The one that was used last is the least likely to have been closed, and the others can time
   * out.
   */
  take(target: Target): Connection | undefined
  keep(connection: Connection): void
  /** Closes idle connections. The others end with their requests. */
  close(): void
}

/** Connections by origin, each for one request at a time. */
export function createConnectionPool(connect: Connect): ConnectionPool {
  const idle = new Map<string, Connection[]>()
  const longestIdleFirst = new Set<Connection>()

  function open(target: Target): Connection {
    let stopConnecting = () => {}
    const client = new Client(target.origin, {
      pipelining: 1,
      headersTimeout: 0, // the exchange has one deadline for everything
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: BEFORE_SERVER_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      connect: (_, done) => {
        connection.hasServed = false
        connection.endedByPeer = false
        stopConnecting = connect(target, (...result) => {
          const [, socket] = result
          socket?.once('end', () => {
            connection.endedByPeer = true
          })
          done(...result)
        })
      },
    })
    const connection: Connection = {
      origin: target.origin,
      hasServed: false,
      endedByPeer: false,
      send: (request, handler) => void client.dispatch(request, handler),
      destroy() {
        void client.destroy()
        stopConnecting()
      },
    }
    client.on('disconnect', () => {
      if (remove(connection)) connection.destroy()
    })
    return connection
  }

  function remove(connection: Connection): boolean {
    if (!longestIdleFirst.delete(connection)) return false
    const others = idle.get(connection.origin) ?? []
    if (others.length === 1) idle.delete(connection.origin)
    else others.splice(others.lastIndexOf(connection), 1)
    return true
  }

  return {
    open,
    take({ origin }) {
      const connection = idle.get(origin)?.at(-1)
      if (connection) remove(connection)
      return connection
    },
    keep(connection) {
      const others = idle.get(connection.origin)
      if (others) others.push(connection)
      else idle.set(connection.origin, [connection])
      longestIdleFirst.add(connection)
      if (longestIdleFirst.size <= MAX_IDLE) return
      const [oldest] = longestIdleFirst
      if (oldest && remove(oldest)) oldest.destroy()
    },
    close() {
      for (const connection of longestIdleFirst) if (remove(connection)) connection.destroy()
    },
  }
}
