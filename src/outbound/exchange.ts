import type { Dispatcher } from 'undici'
import { excerptOf } from './excerpt.ts'
import type { Connect } from './guarded-connect.ts'
import type { Connection, createConnections } from './kept-connections.ts'
import { type Failed, failed, failureOf, isReset } from './post-failure.ts'
import type { Target } from './post-target.ts'
import { readRetryAfter } from './retry-after.ts'
import type { createLines } from './waiting-lines.ts'

export type Outcome =
  | { kind: 'answer'; status: number; retryAfterSeconds: number | null; excerpt: string; tookMs: number }
  | (Failed & { tookMs: number })

export interface ExchangeParts {
  connections: ReturnType<typeof createConnections>
  lines: ReturnType<typeof createLines>
  underWay: Set<Exchange>
  deadlineMs: number
  /** To wait in line. */
  patienceMs: number
  maxReadBytes: number
  keepBytes: number
}

/** Where to, with whose permission: calls to the same place share connections. */
export interface Place {
  name: string
  target: Target
  connect: Connect
}

const MAX_INTERIM = 8

/** One call, from its place in the line to its end. An object rather than closures: there are thousands a second. */
export class Exchange implements Dispatcher.DispatchHandler {
  private readonly startedAt = performance.now()
  private readonly parts: ExchangeParts
  private readonly place: Place
  private readonly line: string
  private readonly request: Dispatcher.DispatchOptions
  private readonly resolve: (outcome: Outcome) => void
  private readonly deadline: NodeJS.Timeout
  private patience: NodeJS.Timeout | undefined
  private connection: Connection | undefined
  private isOver = false
  private interim = 0
  private status = 0
  private retryAfterSeconds: number | null = null
  private kept: Buffer[] | undefined
  private size = 0

  constructor(
    parts: ExchangeParts,
    place: Place,
    { headers, body, destination }: { headers: Record<string, string>; body: string; destination?: string },
    resolve: (outcome: Outcome) => void,
  ) {
    this.parts = parts
    this.place = place
    this.line = destination ?? place.name
    this.request = { method: 'POST', path: place.target.path, headers: headersOf(headers, place.target), body }
    this.resolve = resolve
    this.deadline = setTimeout(pastDeadline, parts.deadlineMs, this)
    parts.underWay.add(this)
    if (!parts.lines.enter(this.line, this)) {
      this.fail(failed('too_many', 'too many calls to this host are waiting'))
    } else if (!this.connection && !this.isOver) {
      this.patience = setTimeout(outOfPatience, parts.patienceMs, this)
    }
  }

  /** Its turn has come. */
  begin(): void {
    clearTimeout(this.patience)
    this.sendOn(this.parts.connections.take(this.place.name) ?? this.openConnection())
  }

  private openConnection(): Connection {
    const { name, target, connect } = this.place
    return this.parts.connections.open(name, target, connect)
  }

  private sendOn(connection: Connection): void {
    this.connection = connection
    connection.send(this.request, this)
  }

  fail(failure: Failed): void {
    this.settle({ ...failure, tookMs: this.tookMs() }, false)
  }

  private answer(isWhole: boolean): void {
    const { kept, status, retryAfterSeconds } = this
    const excerpt = kept ? excerptOf(Buffer.concat(kept), this.parts.keepBytes) : ''
    this.settle({ kind: 'answer', status, retryAfterSeconds, excerpt, tookMs: this.tookMs() }, isWhole)
  }

  /** When the answer is not whole, nobody knows what is still to come on its connection. */
  private settle(outcome: Outcome, isWhole: boolean): void {
    if (this.isOver) return
    this.isOver = true
    const { connection, line, parts } = this
    clearTimeout(this.deadline)
    clearTimeout(this.patience)
    parts.underWay.delete(this)
    if (!connection) {
      parts.lines.giveUp(line, this)
    } else {
      if (isWhole) parts.connections.keep(connection)
      else connection.destroy()
      parts.lines.leave(line)
    }
    this.resolve(outcome)
  }

  private tookMs(): number {
    return Math.round(performance.now() - this.startedAt)
  }

  onRequestStart(): void {}

  onResponseStart(_: unknown, status: number, headers: { [name: string]: string | string[] | undefined }): void {
    if (status === 101) {
      this.fail(failed('other', 'a change of protocol that nobody asked for'))
    } else if (status < 200) {
      if (++this.interim > MAX_INTERIM) this.fail(failed('other', 'one interim answer after the other'))
    } else {
      this.status = status
      const retryAfter = headers['retry-after']
      this.retryAfterSeconds = readRetryAfter(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter)
    }
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    if (this.isOver) return
    const room = this.parts.keepBytes + 1 - this.size // one more than is kept tells that there is more
    if (room > 0) {
      this.kept ??= []
      this.kept.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
    }
    this.size += chunk.length
    if (this.size > this.parts.maxReadBytes) this.answer(false)
  }

  onResponseEnd(): void {
    if (this.connection) this.connection.hasServed = true
    this.answer(true)
  }

  onResponseError(_: unknown, error: Error): void {
    if (this.isOver) return
    // The other side closed a connection that we had kept, just as we used it. Once more on a new one: a webhook may
    // arrive twice, and this is no failure of the endpoint.
    if (this.connection?.hasServed && this.status === 0 && isReset(error)) {
      this.connection.destroy()
      this.sendOn(this.openConnection())
    } else {
      this.fail(failureOf(error))
    }
  }
}

const pastDeadline = (exchange: Exchange) => exchange.fail(failed('timeout', 'no whole answer before the deadline'))
const outOfPatience = (exchange: Exchange) => exchange.fail(failed('too_many', 'no connection was free in time'))

function headersOf(headers: Record<string, string>, { host }: Target): Record<string, string> {
  const all: Record<string, string> = { host, 'user-agent': 'manilla', 'accept-encoding': 'identity' }
  for (const name in headers) {
    const lower = name.toLowerCase()
    if (lower !== 'host' && lower !== 'content-length') all[lower] = headers[name] as string
  }
  return all
}
