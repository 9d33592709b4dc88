import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { batch } from '../../database/batch.ts'
import type { Database } from '../../database/database.ts'
import type { PaymentId } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { findPaymentVersions, type PaymentVersion } from '../../payments/store/payments.ts'

/**
 * Live updates of open payment pages: one stream of server-sent events (SSE) per page, driven by PostgreSQL
 * notifications.
 */
export interface LivePayments {
  /** The current state; undefined if there is no such payment. */
  stateOf(paymentId: PaymentId): Promise<PaymentVersion | undefined>
  /**
   * Opens a stream that sends the current state and each change. Returns false, without an answer, if there is no such
   * payment.
   */
  follow(paymentId: PaymentId, reply: FastifyReply): Promise<boolean>
  changed(paymentId: string): void
  /** Calls the listener when any payment has changed, or may have. */
  onChange(listener: () => void): void
  /** Rereads every followed payment: notifications may have been lost. */
  missed(): void
  streams(): number
  /** Ends every stream. Browsers reconnect by themselves, to another process. */
  stop(): void
}

interface Deps {
  database: Database
  log: Logger
  heartbeatMs?: number
  maxStreams?: number
}

/** A payment and the open pages that show it. `told` was sent to every page, and nothing older is sent after it. */
interface Followed {
  id: PaymentId
  told: PaymentVersion | undefined
  pages: Set<ServerResponse>
}

const HEARTBEAT_MS = 25_000 // proxies close connections that are silent for 30 or 60 s
const MAX_STREAMS = 10_000 // 7 KB each, measured, and half of MAX_CONNECTIONS
const MAX_UNREAD_BYTES = 64 * 1024
const RETRY_AFTER_MS = 1_000
const RETRY_AFTER_SECONDS = 30

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

export function livePayments({ database, log, ...options }: Deps): LivePayments {
  const { heartbeatMs = HEARTBEAT_MS, maxStreams = MAX_STREAMS } = options
  // By payment id: its UUID alone would also match an id with another place.
  const followed = new Map<string, Followed>()
  let changed = new Set<Followed>()
  let isReading = false
  let streams = 0
  let stopped = false
  const listeners: (() => void)[] = []

  const stateOf = batch<PaymentId, PaymentVersion | undefined>({
    name: 'read versions',
    async write(ids) {
      const states = new Map<PaymentId, PaymentVersion>()
      for (const state of await findPaymentVersions(database, [...new Set(ids)])) states.set(state.id, state)
      return ids.map((id) => states.get(id))
    },
    maxItems: 1_000,
    maxWaiting: 20_000,
    failsAll: (error) => error instanceof Problem && error.code === 'unavailable',
    tooMany: () => unavailable('More is asked than can be answered right now.', 1),
  })

  const heartbeat = setInterval(() => {
    for (const { pages } of followed.values()) for (const page of pages) write(page, ':\n\n')
    missed() // a lost connection may have lost notifications unnoticed
  }, heartbeatMs)
  heartbeat.unref()

  async function follow(paymentId: PaymentId, reply: FastifyReply): Promise<boolean> {
    if (stopped || streams >= maxStreams) throw unavailable('No more pages can be kept up to date here.')
    const one = followed.get(paymentId) ?? { id: paymentId, told: undefined, pages: new Set() }
    const page = reply.raw
    page.shouldKeepAlive = false // else the idle connection would delay the shutdown
    const leave = () => {
      if (!one.pages.delete(page)) return
      streams--
      if (one.pages.size === 0) followed.delete(paymentId)
    }
    // Registers before it reads the state, so that no change is missed in between.
    followed.set(paymentId, one)
    one.pages.add(page)
    streams++
    page.once('close', leave)
    try {
      const state = await stateOf(paymentId)
      if (stopped) throw unavailable('The service is stopping.')
      if (state) tell(one, state)
    } catch (error) {
      leave()
      throw error
    }
    if (!one.told) {
      leave()
      return false
    }
    if (one.pages.has(page)) open(reply, one.told)
    else reply.hijack() // the client disconnected meanwhile
    return true
  }

  function tell(one: Followed, state: PaymentVersion): void {
    if (one.told && one.told.sequence >= state.sequence) return
    one.told = state
    for (const page of one.pages) write(page, message(state))
  }

  /** Runs one query at a time, for all payments that changed since the last query. */
  async function readChanged(): Promise<void> {
    if (isReading) return
    isReading = true
    while (changed.size > 0 && !stopped) {
      const these = changed
      changed = new Set()
      try {
        const states = await findPaymentVersions(
          database,
          Array.from(these, ({ id }) => id),
        )
        if (stopped) return
        for (const state of states) {
          const one = followed.get(state.id)
          if (one) tell(one, state)
        }
      } catch (err) {
        log.warn({ err }, 'reading changed payments of open pages failed; retrying')
        for (const one of these) changed.add(one)
        await new Promise((resolve) => setTimeout(resolve, RETRY_AFTER_MS).unref())
      }
    }
    isReading = false
  }

  function missed(): void {
    for (const listener of listeners) listener()
    for (const one of followed.values()) changed.add(one)
    void readChanged()
  }

  return {
    stateOf,
    follow,
    onChange: (listener) => void listeners.push(listener),
    changed(paymentId) {
      for (const listener of listeners) listener()
      const one = followed.get(paymentId)
      if (!one) return
      changed.add(one)
      setImmediate(readChanged) // batches notifications that arrive together
    },
    missed,
    streams: () => streams,
    stop() {
      stopped = true
      clearInterval(heartbeat)
      for (const { pages } of followed.values()) {
        for (const page of pages) {
          if (page.writableLength > 0) page.destroy()
          else if (page.headersSent) page.end()
        }
      }
    },
  }
}

function open(reply: FastifyReply, state: PaymentVersion): void {
  const headers = reply.getHeaders()
  reply.hijack()
  const page = reply.raw
  page.on('error', () => {}) // a close event follows
  page.writeHead(200, { ...headers, ...HEADERS } as Record<string, string>)
  page.write(`retry: 2000\n\n${message(state)}`)
}

function message({ sequence, status }: PaymentVersion): string {
  return `data: ${JSON.stringify({ v: sequence, status })}\n\n`
}

function write(page: ServerResponse, text: string): void {
  if (!page.headersSent) return // open() sends the newest state
  page.write(text)
  // Backpressure: disconnects a client that does not read. Its browser reconnects and gets the current state.
  if (page.writableLength > MAX_UNREAD_BYTES) page.destroy()
}

function unavailable(why: string, retryAfterSeconds = RETRY_AFTER_SECONDS): Problem {
  return new Problem('unavailable', `${why} Ask again in ${retryAfterSeconds} s.`, { retryAfterSeconds })
}
