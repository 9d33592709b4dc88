import type { Logger } from 'pino'
import type { Database } from '../../../database/database.ts'
import type { Clock } from '../../../kernel/clock.ts'
import { gatewayKeys } from '../keys.ts'
import { claimDueNotices, type DueNotice, markNoticeFailed, markNoticeSent } from './notice-store.ts'
import { signNotice } from './notices.ts'

interface Deps {
  database: Database
  clock: Clock
  log: Logger
  masterKey: Buffer
  noticeUrl: (merchantUuid: string) => string
}

export interface NoticeSender {
  /** Sends what is due now, in the background. */
  wake(): void
  /** Sends up to `limit` due notices and returns how many it claimed. */
  sendDue(limit: number): Promise<number>
  stop(): Promise<void>
}

const RETRY_SECONDS = [1, 5, 15, 60, 300, 1_800]
const TIMEOUT_MS = 10_000
const LEASE_SECONDS = 30 // longer than a try can take, so that no other process sends it meanwhile
const MAX_AT_ONCE = 32
const PATIENCE_MS = 2_000

export function noticeSender(deps: Deps): NoticeSender {
  const { database, log } = deps
  const underway = new Set<Promise<unknown>>()
  const hangUp = new AbortController()
  let sending = 0
  let stopped = false
  let claiming = false
  let again = false

  function track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => underway.delete(tracked))
    underway.add(tracked)
    return tracked
  }

  async function send(notice: DueNotice): Promise<void> {
    sending++
    try {
      const isTaken = await post(deps, notice, hangUp.signal)
      if (isTaken) return await markNoticeSent(database, notice)
      const retrySeconds = RETRY_SECONDS[notice.tries - 1] ?? null
      await markNoticeFailed(database, notice, retrySeconds)
      if (retrySeconds === null) log.warn({ provider: 'gateway', outcome: 'given up' }, 'notice never taken')
    } catch (err) {
      // Its lease ends by itself; then it is sent once more.
      log.warn({ provider: 'gateway', err }, 'the outcome of a notice could not be written')
    } finally {
      sending--
      if (again) wake()
    }
  }

  /** Claims for as long as there is room. Slow receivers occupy slots, but do not block the others. */
  async function claimWhatIsDue(): Promise<void> {
    claiming = true
    try {
      while (again && !stopped && sending < MAX_AT_ONCE) {
        again = false
        const room = MAX_AT_ONCE - sending
        const due = await claimDueNotices(database, room, LEASE_SECONDS)
        for (const notice of due) void track(send(notice))
        if (due.length === room) again = true
      }
    } catch (err) {
      log.warn({ provider: 'gateway', err }, 'notices could not be claimed; they wait for the next time')
    } finally {
      claiming = false
    }
  }

  function wake(): void {
    if (stopped) return
    again = true
    if (!claiming) void track(claimWhatIsDue())
  }

  return {
    wake,
    async sendDue(limit) {
      if (stopped) return 0
      const due = await track(claimDueNotices(database, limit, LEASE_SECONDS))
      await Promise.all(due.map((notice) => track(send(notice))))
      return due.length
    },
    async stop() {
      stopped = true
      const patience = setTimeout(() => hangUp.abort(), PATIENCE_MS)
      while (underway.size > 0) await Promise.allSettled(underway)
      clearTimeout(patience)
    },
  }
}

/** Whether it was taken: any 2xx. A redirect is not an answer. */
async function post(
  { masterKey, clock, noticeUrl }: Deps,
  { merchantUuid, body }: DueNotice,
  hangUp: AbortSignal,
): Promise<boolean> {
  const { secretKey } = gatewayKeys(masterKey, merchantUuid)
  try {
    const response = await fetch(noticeUrl(merchantUuid), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'gateway-signature': signNotice(secretKey, body, clock.now()),
        'user-agent': 'gateway-sandbox',
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), hangUp]),
    })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}
