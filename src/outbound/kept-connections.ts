import { createRequire } from 'node:module'
import type { Dispatcher } from 'undici'
import type { Connect } from './guarded-connect.ts'
import type { Target } from './post-target.ts'

// The client alone: the front door of the package puts a dispatcher of its own under Node's fetch, and takes twice as long to load.
const Client: typeof import('undici').Client = createRequire(import.meta.url)('undici/lib/dispatcher/client.js')

// An idle connection is ours to close before the other side does, who would close it while we write; if it says when, a second before.
const IDLE_MS = 10_000
const BEFORE_THEY_DO_MS = 1_000
const MAX_IDLE = 512

export interface Connection {
  readonly place: string
  /** It has carried an answer. The other side may have closed it since. */
  hasServed: boolean
  send(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  /** With whatever it carries. */
  destroy(): void
}

/** Connections to places, each for one call at a time, and kept for the next to the same place. */
export function createConnections() {
  const idle = new Map<string, Connection[]>()
  const longestIdleFirst = new Set<Connection>()

  function open(place: string, target: Target, connect: Connect): Connection {
    let giveUp = () => {}
    const client = new Client(`${target.protocol}//${target.host}`, {
      pipelining: 1,
      headersTimeout: 0, // a call has one deadline for everything
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: BEFORE_THEY_DO_MS,
      maxHeaderSize: 16 * 1024,
      connect: (_, done) => {
        connection.hasServed = false
        giveUp = connect(target, done)
      },
    })
    const connection: Connection = {
      place,
      hasServed: false,
      send: (request, handler) => void client.dispatch(request, handler),
      destroy() {
        void client.destroy()
        giveUp()
      },
    }
    client.on('disconnect', () => {
      if (remove(connection)) connection.destroy()
    })
    return connection
  }

  function take(place: string): Connection | undefined {
    const connection = idle.get(place)?.at(-1)
    if (connection) remove(connection)
    return connection
  }

  function keep(connection: Connection): void {
    const others = idle.get(connection.place)
    if (others) others.push(connection)
    else idle.set(connection.place, [connection])
    longestIdleFirst.add(connection)
    if (longestIdleFirst.size <= MAX_IDLE) return
    const [oldest] = longestIdleFirst
    if (oldest && remove(oldest)) oldest.destroy()
  }

  function remove(connection: Connection): boolean {
    if (!longestIdleFirst.delete(connection)) return false
    const those = idle.get(connection.place) ?? []
    if (those.length === 1) idle.delete(connection.place)
    else those.splice(those.lastIndexOf(connection), 1)
    return true
  }

  return {
    open,
    /** One that is idle. The last that was used: it is the least likely to have been closed, and the others can grow old. */
    take,
    keep,
    /** Those that are idle; the others end with their calls. */
    close() {
      for (const connection of longestIdleFirst) if (remove(connection)) connection.destroy()
    },
  }
}
