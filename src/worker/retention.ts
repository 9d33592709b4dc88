import type { Database, Queries } from '../database/database.ts'
import { DeleteBatches, DeletingElsewhere } from '../database/delete-batches.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Mode } from '../kernel/mode.ts'
import { deleteOldAlerts } from '../mails/alert-queue-store.ts'
import { deleteOldCounts } from '../mails/mail-count-store.ts'
import { deleteOldProviderCalls } from '../payments/store/delete-old.ts'
import { deleteOldCredits, deleteOldSettlements } from '../payments/store/delete-old-settlements.ts'
import { deleteOldCalls } from '../payments/store/idempotent-calls.ts'
import { deleteFinishedNotices, deleteUnmatchedNotices } from '../payments/store/notices.ts'
import { deleteOldPayments } from '../payments/upkeep/delete-old-payments.ts'
import type { SandboxServer } from '../providers/sandbox-servers.ts'
import { deleteOldDeliveries } from '../webhooks/delivery-store.ts'
import type { Job } from './worker.ts'

const EVERY_MS = 30_000
const MANY_ROWS = 1_000
const DAY_MS = 24 * 3_600_000
/** 24 hours are guaranteed. */
const IDEMPOTENT_CALL_DAYS = 2
/** They count for an hour or a day. */
const MAIL_COUNT_DAYS = 1
/** At least: a person may still match them. */
const UNMATCHED_NOTICE_DAYS = 365

/**
 * A payment of the sandbox takes all its rows along, by default at the age at which transport is deleted. One statement
 * for all of them is quicker than a batch of each kind, so the batches of transport begin an hour later.
 */
const AFTER_PAYMENTS_DAYS = 1 / 24

/** Days after which rows are deleted; undefined: never. */
export interface RetentionDays {
  transportDays: number | undefined
  sandboxDays: number | undefined
  moneyDays: number | undefined
}

/** Rows of one kind that are deleted when they are old. */
interface Purge {
  /** In the metrics. */
  kind: string
  tables: string[]
  days: number | undefined
  /** Each step deletes one batch. */
  run(batches: DeleteBatches, before: Date): AsyncGenerator<void>
}

/**
 * Tables that grow and lose no row because of its age, with the reason. docs/operations/retention.md lists every table.
 */
export const KEPT: Record<string, string> = {
  audit_log: 'grows with what people do, not with payments',
  links: 'a merchant makes them',
  rollups: 'hourly sums, which stay when their payments are deleted',
  daily_rollups: 'daily sums, made from the hourly ones',
  saved_cards: 'until the customer or the merchant removes them',
  delivery_retries: 'one for each destination that waits for a retry',
  delivery_leases: 'deleted an hour after their end, by a job of their own',
  reconciliation_listed: 'deleted at the end of each run of reconciliation',
  gateway_cards: 'saved cards refer to them',
}

export function purgesOf(
  { database }: { database: Database },
  { transportDays, sandboxDays, moneyDays }: RetentionDays,
  servers: Pick<SandboxServer, 'purges'>[],
): Purge[] {
  const afterPayments = transportDays && transportDays + AFTER_PAYMENTS_DAYS
  const unmatchedDays = transportDays && Math.max(transportDays, UNMATCHED_NOTICE_DAYS)
  return [
    purge('idempotent_calls', ['idempotent_calls'], IDEMPOTENT_CALL_DAYS, deleteOldCalls),
    purge('deliveries', ['deliveries', 'delivery_tries'], afterPayments, deleteOldDeliveries),
    purge('notices', ['notices'], afterPayments, deleteFinishedNotices),
    purge('unmatched_notices', ['notices'], unmatchedDays, deleteUnmatchedNotices),
    purge('mail_counts', ['mail_counts'], MAIL_COUNT_DAYS, deleteOldCounts),
    purge('alerts', ['alerts', 'alert_copies'], transportDays, deleteOldAlerts),
    purge('provider_calls', ['provider_calls'], afterPayments, deleteOldProviderCalls),
    ...servers.flatMap(({ purges }) =>
      purges.map(({ kind, tables, deleteOld }) => purge(kind, tables, sandboxDays, deleteOld)),
    ),
    paymentsPurge(database, 'sandbox', sandboxDays),
    paymentsPurge(database, 'live', moneyDays),
    ...settlementPurges('sandbox', sandboxDays),
    ...settlementPurges('live', moneyDays),
  ]
}

type DeleteOld = (db: Queries, before: Date, limit: number) => Promise<Date[]>

function purge(kind: string, tables: string[], days: number | undefined, deleteOld: DeleteOld): Purge {
  return {
    ...{ kind, tables, days },
    async *run(batches, before) {
      const deleteNext = () =>
        batches.next(async (db, limit) => {
          const times = await deleteOld(db, before, limit)
          return { times, isFull: times.length === limit }
        })
      while (await deleteNext()) yield
    },
  }
}

const PAYMENT_TABLES = [
  'payments',
  'attempts',
  'provider_calls',
  'receipts',
  'notices',
  'refunds',
  'disputes',
  'reviews',
  'cases',
  'customer_receipts',
]

function paymentsPurge(database: Database, mode: Mode, days: number | undefined): Purge {
  return {
    ...{ kind: `${mode}_payments`, days },
    tables: [...PAYMENT_TABLES, 'events', 'deliveries', 'delivery_tries'],
    run: (batches, before) => deleteOldPayments({ database, batches }, mode, before),
  }
}

const settlementPurges = (mode: Mode, days: number | undefined): Purge[] => [
  purge(`${mode}_settlements`, ['settlements', 'settlement_lines'], days, deleteOldSettlements(mode)),
  purge(`${mode}_bank_credits`, ['bank_credits'], days, deleteOldCredits(mode)),
]

/** Deletes old rows. Any number of processes may run it: one batch is deleted at a time. */
export function retentionJob({ database, clock }: { database: Database; clock: Clock }, purges: Purge[]): Job {
  const work = purges.flatMap(({ kind, days, run }) => {
    if (days === undefined) return []
    const keptMs = days * DAY_MS
    return [{ keptMs, run, batches: new DeleteBatches(database, kind, keptMs) }]
  })
  const countDeleted = () => work.reduce((sum, { batches }) => sum + batches.deleted, 0)
  return {
    name: 'delete old rows',
    everyMs: EVERY_MS,
    async run(isStopped) {
      const failures: unknown[] = []
      const [startedAt, deletedBefore] = [performance.now(), countDeleted()]
      const now = clock.now().getTime()
      // The kinds take turns, so that many rows of one do not delay the others.
      const turns = work.map(({ batches, keptMs, run }) => ({ batches, steps: run(batches, new Date(now - keptMs)) }))
      for (let turn = turns.shift(); turn && !isStopped(); turn = turns.shift()) {
        const { batches, steps } = turn
        try {
          const { done } = await steps.next()
          if (done) batches.end()
          else turns.push(turn)
        } catch (error) {
          if (error instanceof DeletingElsewhere) break
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
      // Run again at once when this run was long and deleted many rows: as many may be old by now. When it deleted few,
      // it has mostly read old rows that are still in use.
      return performance.now() - startedAt > EVERY_MS && countDeleted() - deletedBefore >= MANY_ROWS
    },
  }
}
