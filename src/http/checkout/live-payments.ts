import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import { batch } from '../../database/batch.ts'
import type { Database } from '../../database/database.ts'
import { type PaymentId, uuidOf } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import { findPaymentVersions, type PaymentVersion } from '../../payments/store/payments.ts'

/** Keeps open payment pages up to date: each has a stream of server-sent events, fed by what the database notifies. */
export interface LivePayments {
  /** How it stands now; undefined when there is no such payment. */
  stateOf(paymentId: PaymentId): Promise<PaymentVersion | undefined>
  /** Answers with its state at once and after each change. False, with nothing answered, when there is no such payment. */
  follow(paymentId: PaymentId, reply: FastifyReply): Promise<boolean>
  changed(paymentUuid: string): void
  /** Any of them may have changed. */
  missed(): void
  streams(): number
  /** Ends every stream; browsers come back by themselves, to whoever is there then. */
  stop(): void
}

export interface LiveParts {
  database: Database
  log: Logger
  heartbeatMs?: number
  maxStreams?: number
}

/** A payment and the pages that show it. Each, once open, was sent what is in `told`, so none is ever sent anything older. */
interface Followed {
  id: PaymentId
  told: PaymentVersion | undefined
  pages: Set<ServerResponse>
}

const HEARTBEAT_MS = 25_000 // proxies hang up on what is silent for 30 or 60 s
const MAX_STREAMS = 10_000 // 7 KB each (npm run bench), and half of the connections that the door allows
const MAX_UNREAD_BYTES = 64 * 1024
const LOOK_AGAIN_AFTER_MS = 1_000
const RETRY_AFTER_SECONDS = 30

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

export function livePayments({ database, log, ...options }: LiveParts): LivePayments {
  const { heartbeatMs = HEARTBEAT_MS, maxStreams = MAX_STREAMS } = options
  const followed = new Map<string, Followed>()
  let changed = new Set<Followed>()
  let looking = false
  let streams = 0
  let stopped = false

  const stateOf = batch<PaymentId, PaymentVersion | undefined>({
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
    missed() // a notice can be lost with its connection, and that go unnoticed for a while
  }, heartbeatMs)
  heartbeat.unref()

  async function follow(paymentId: PaymentId, reply: FastifyReply): Promise<boolean> {
    if (stopped || streams >= maxStreams) throw unavailable('No more pages can be kept up to date here.')
    const uuid = uuidOf(paymentId)
    const one = followed.get(uuid) ?? { id: paymentId, told: undefined, pages: new Set() }
    const page = reply.raw
    page.shouldKeepAlive = false // or the connection would outlive its stream, and hold up a stop until it was idle for long enough
    const leave = () => {
      if (!one.pages.delete(page)) return
      streams--
      if (one.pages.size === 0) followed.delete(uuid)
    }
    // Before the question, so that no change falls between its answer and the first that we are told of.
    followed.set(uuid, one)
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
    else reply.hijack() // gone while we asked
    return true
  }

  function tell(one: Followed, state: PaymentVersion): void {
    if (one.told && one.told.sequence >= state.sequence) return
    one.told = state
    for (const page of one.pages) write(page, message(state))
  }

  /** One question at a time, about all that changed since the last: however often that was, and however many look at it. */
  async function look(): Promise<void> {
    if (looking) return
    looking = true
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
          const one = followed.get(uuidOf(state.id))
          if (one) tell(one, state)
        }
      } catch (err) {
        log.warn({ err }, 'could not look at payments whose pages are open')
        for (const one of these) changed.add(one)
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_AFTER_MS).unref())
      }
    }
    looking = false
  }

  function missed(): void {
    for (const one of followed.values()) changed.add(one)
    void look()
  }

  return {
    stateOf,
    follow,
    changed(paymentUuid) {
      const one = followed.get(paymentUuid)
      if (!one) return
      changed.add(one)
      setImmediate(look) // after what was notified together
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
  page.on('error', () => {}) // its close follows
  page.writeHead(200, { ...headers, ...HEADERS } as Record<string, string>)
  page.write(`retry: 2000\n\n${message(state)}`)
}

function message({ sequence, status }: PaymentVersion): string {
  return `data: ${JSON.stringify({ v: sequence, status })}\n\n`
}

function write(page: ServerResponse, text: string): void {
  if (!page.headersSent) return // it is about to be opened, with what is newest then
  page.write(text)
  // Whoever does not read is no reader. A browser that comes back starts with the present state.
  if (page.writableLength > MAX_UNREAD_BYTES) page.destroy()
}

function unavailable(why: string, retryAfterSeconds = RETRY_AFTER_SECONDS): Problem {
  return new Problem('unavailable', `${why} Ask again in ${retryAfterSeconds} s.`, { retryAfterSeconds })
}
