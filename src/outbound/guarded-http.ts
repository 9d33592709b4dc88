import { createDnsResolve, type Resolve, resolveAsSystem } from './dns-resolve.ts'
import { Exchange, type Outcome, type Place } from './exchange.ts'
import { guardedConnect } from './guarded-connect.ts'
import { createConnections } from './kept-connections.ts'
import { type Failed, failed } from './post-failure.ts'
import { aim } from './post-target.ts'
import { isPublic } from './public-address.ts'
import { createLines } from './waiting-lines.ts'

export interface GuardedHttp {
  /** Never throws: what went wrong is a value. */
  post(call: Post): Promise<Answer>
  /** Ends every connection, and every call that is under way. */
  close(): void
}

export interface Post {
  url: string
  headers: Record<string, string>
  body: string
  /** May it lead inside: to loopback, a private network, any port? */
  allowPrivate: boolean
  /** Whose line to wait in, so that two merchants with one host do not wait for each other; absent: the host's. */
  destination?: string
}

export type Answer = Outcome

export interface GuardedHttpOptions {
  /** For the whole call: waiting in line, connecting, sending, and the last byte of the answer. */
  deadlineMs?: number
  /** For name, connection and TLS; and for the wait in line, so that whoever is sent has time left for an answer. */
  connectMs?: number
  /** Of an answer's body; then the connection is cut, and the status counts. */
  maxReadBytes?: number
  keepBytes?: number
  /** Calls at once to one destination; the others wait in line. */
  maxConnectionsPerHost?: number
  /** How long that line may grow before the next call is turned away at once. */
  maxWaitingPerHost?: number
  /** For tests: every address of a name. */
  resolve?: Resolve
  /** For tests: whose certificates to trust. */
  ca?: string
}

/**
 * The one way to a merchant's URL. Whoever wrote that URL may mean harm: it may point inside, at once or after a change of DNS,
 * and its server may be silent, slow or endless. So every address is checked, and what was checked is what is connected to;
 * redirects are answers like any other; time and size are bounded.
 *
 * On a client of undici for each connection, which costs half of what node:http does. It is given sockets that we opened, and
 * connections are kept by place, so that those opened with permission to go inside are out of reach for calls without it.
 */
export function guardedHttp(options: GuardedHttpOptions = {}): GuardedHttp {
  const { deadlineMs = 15_000, connectMs = 5_000, maxConnectionsPerHost = 8, maxWaitingPerHost = 1_000, ca } = options
  const { maxReadBytes = 64 * 1024, keepBytes = 2 * 1024 } = options
  const parts = {
    connections: createConnections(),
    lines: createLines(maxConnectionsPerHost, maxWaitingPerHost),
    underWay: new Set<Exchange>(),
    deadlineMs,
    patienceMs: connectMs,
    maxReadBytes,
    keepBytes,
  }
  const anywhere = placeFinder({
    allowPrivate: true,
    connect: guardedConnect({ resolve: options.resolve ?? resolveAsSystem, mayConnect: () => true, connectMs, ca }),
  })
  const inPublic = placeFinder({
    allowPrivate: false,
    connect: guardedConnect({ resolve: options.resolve ?? createDnsResolve(), mayConnect: isPublic, connectMs, ca }),
  })
  let isClosed = false

  return {
    post(call) {
      const place = isClosed ? failed('other', 'closed') : (call.allowPrivate ? anywhere : inPublic)(call.url)
      if ('because' in place) return Promise.resolve({ ...place, tookMs: 0 })
      return new Promise((resolve) => void new Exchange(parts, place, call, resolve))
    },
    close() {
      isClosed = true
      for (const exchange of parts.underWay) exchange.fail(failed('other', 'closed'))
      parts.connections.close()
    },
  }
}

const MOST_REMEMBERED = 1_000

/** The same few URLs are called over and over. */
function placeFinder({ allowPrivate, connect }: { allowPrivate: boolean; connect: Place['connect'] }) {
  const known = new Map<string, Place | Failed>()
  return (url: string): Place | Failed => {
    const remembered = known.get(url)
    if (remembered) return remembered
    const target = aim(url, { allowPrivate })
    const name = 'because' in target ? '' : `${allowPrivate ? 'anywhere' : 'public'} ${target.protocol} ${target.host}`
    const place = 'because' in target ? target : { name, target, connect }
    if (known.size >= MOST_REMEMBERED) known.clear()
    known.set(url, place)
    return place
  }
}
