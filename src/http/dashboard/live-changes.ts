import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import type { Database } from '../../database/database.ts'
import { changesSince, type RecordedChange } from '../../events/event-store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type EventId, type MemberId, type MerchantId, parseId, type SessionId, timeOf } from '../../kernel/ids.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Session } from '../../members/member.ts'
import { findSessionsIn } from '../../members/session-store.ts'
import type { LivePayments } from '../checkout/live-payments.ts'
import type { App } from '../server/framework.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { OF_MERCHANT } from './shared-routes.ts'

interface Deps {
  database: Database
  clock: Clock
  log: Logger
  live: LivePayments
}

/** A merchant in one mode, and the tabs that follow it. */
interface Followed {
  scope: Scope
  /** With the session of each. */
  tabs: Map<ServerResponse, SessionId>
  /** Changes up to here were sent, and so were those of `sent`. */
  since: Date
  sent: Set<EventId>
}

const READ_EVERY_MS = 1_000
const HEARTBEAT_MS = 25_000 // proxies close connections that are silent for 30 or 60 s
const MAX_TABS = 1_000
/** So that no merchant uses up the tabs of all others. */
const MAX_TABS_OF_MERCHANT = 200
const MAX_TABS_OF_MEMBER = 20
const MAX_UNREAD_BYTES = 64 * 1024
/** The guard checks everything again when the browser reconnects; `send` only whether the session may still read. */
const MAX_STREAM_MS = 5 * 60_000
/** An event gets its id before its commit, so one with an older id may appear later. */
const LATE_COMMIT_MS = 10_000
const MAX_CHANGES = 200

/**
 * `GET …/changes`: one stream of server-sent events per tab. Each message names a payment that has changed; the page
 * reads again what it shows. `Last-Event-ID` gives what was missed while the browser reconnected, or `reset` if that is
 * too much.
 */
export function liveChangeRoutes(app: App, { database, clock, log, live }: Deps): void {
  const followed = new Map<string, Followed>()
  let tabs = 0
  const tabsOf = new Map<MemberId | MerchantId, number>()
  const count = (owners: (MemberId | MerchantId)[], change: 1 | -1) => {
    tabs += change
    for (const owner of owners) {
      const left = (tabsOf.get(owner) ?? 0) + change
      if (left > 0) tabsOf.set(owner, left)
      else tabsOf.delete(owner)
    }
  }
  let timer: NodeJS.Timeout | undefined
  let isReading = false

  const heartbeat = setInterval(async () => {
    for (const one of followed.values())
      await send(one, ':\n\n').catch((err) => log.warn({ err }, 'checking open dashboards failed; retrying'))
  }, HEARTBEAT_MS)
  heartbeat.unref()
  // Rate limit: one query a second for each followed merchant, however many changes there are.
  live?.onChange(() => {
    if (followed.size > 0) timer ??= setTimeout(readChanges, READ_EVERY_MS).unref()
  })
  app.addHook('preClose', async () => {
    clearInterval(heartbeat)
    clearTimeout(timer)
    for (const one of followed.values()) for (const tab of one.tabs.keys()) tab.end()
  })

  async function readChanges(): Promise<void> {
    timer = undefined
    if (isReading) return
    isReading = true
    try {
      await Promise.all([...followed.values()].map(readOne))
    } catch (err) {
      log.warn({ err }, 'reading changes for open dashboards failed; retrying')
      timer ??= setTimeout(readChanges, READ_EVERY_MS).unref()
    } finally {
      isReading = false
    }
  }

  async function readOne(one: Followed): Promise<void> {
    const from = new Date(one.since.getTime() - LATE_COMMIT_MS)
    const now = clock.now()
    const found = await changesSince(database, one.scope, from, MAX_CHANGES)
    const fresh = found.filter(({ id }) => !one.sent.has(id))
    const text = found.length >= MAX_CHANGES ? RESET : fresh.map(message).join('')
    if (text) await send(one, text)
    one.since = now
    one.sent = new Set(found.map(({ id }) => id))
  }

  /** Ends the tabs of sessions that were revoked, have expired, or belong to a removed member. */
  async function send(one: Followed, text: string): Promise<void> {
    const allowed = new Set(await findSessionsIn(database, one.scope.merchantId, [...one.tabs.values()]))
    for (const [tab, session] of one.tabs) {
      if (allowed.has(session)) write(tab, text)
      else tab.end()
    }
  }

  async function follow(
    scope: Scope,
    lastId: EventId | undefined,
    session: Session,
    reply: FastifyReply,
  ): Promise<void> {
    const member = session.member.id
    const openOf = (owner: MemberId | MerchantId) => tabsOf.get(owner) ?? 0
    const isFull = tabs >= MAX_TABS || openOf(scope.merchantId) >= MAX_TABS_OF_MERCHANT
    if (isFull || openOf(member) >= MAX_TABS_OF_MEMBER)
      throw new Problem('unavailable', 'No more pages can be kept up to date here.', { retryAfterSeconds: 30 })
    const key = `${scope.merchantId} ${scope.mode}`
    const missed = lastId ? await changesSince(database, scope, timeOf(lastId), MAX_CHANGES) : []
    const tab = reply.raw
    if (tab.destroyed) return void reply.hijack() // the browser left meanwhile
    // Without an await from here on: two tabs that open at the same time share one entry.
    const one = followed.get(key) ?? { scope, tabs: new Map(), since: clock.now(), sent: new Set() }
    followed.set(key, one)
    tab.shouldKeepAlive = false // else the idle connection would delay the shutdown
    one.tabs.set(tab, session.id)
    const owners = [member, scope.merchantId]
    count(owners, 1)
    // A tab that has not read everything would not end: it would keep its place.
    const end = setTimeout(() => (tab.writableLength > 0 ? tab.destroy() : tab.end()), MAX_STREAM_MS).unref()
    tab.once('close', () => {
      clearTimeout(end)
      count(owners, -1)
      one.tabs.delete(tab)
      if (one.tabs.size === 0) followed.delete(key)
    })
    const headers = reply.getHeaders()
    reply.hijack()
    tab.on('error', () => {}) // a close event follows
    tab.writeHead(200, { ...headers, ...HEADERS } as Record<string, string>)
    const backlog =
      missed.length >= MAX_CHANGES
        ? RESET
        : missed
            .filter(({ id }) => id !== lastId)
            .map(message)
            .join('')
    tab.write(`retry: 2000\n\n${lastId ? backlog : ''}`)
  }

  app.get(
    `${OF_MERCHANT}/changes`,
    { config: { access: 'read' }, exposeHeadRoute: false }, // HEAD would open a stream without a body
    async (request, reply) => {
      if (!/\btext\/event-stream\b/.test(request.headers.accept ?? ''))
        throw new Problem('invalid_request', 'This is a stream: send the header "Accept: text/event-stream".')
      const last = request.headers['last-event-id']
      const lastId = typeof last === 'string' ? parseId('event', last) : undefined
      await follow(scopeOf(request), lastId, inMerchant(request).session, reply)
      return reply
    },
  )
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}
/** More has changed than is worth listing: the page reads everything again. */
const RESET = 'event: reset\ndata: {}\n\n'

function message({ id, paymentId, type }: RecordedChange): string {
  return `id: ${id}\ndata: ${JSON.stringify({ payment: paymentId, type })}\n\n`
}

function write(tab: ServerResponse, text: string): void {
  tab.write(text)
  // Backpressure: disconnects a client that does not read. Its browser reconnects with the last id that it got.
  if (tab.writableLength > MAX_UNREAD_BYTES) tab.destroy()
}
