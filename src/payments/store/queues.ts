import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { ALL_PLACES } from '../../kernel/place.ts'

/** Work that is due now. */
export interface Queue {
  /** Counted up to the limit and one more: the count must stay cheap when the queue is the problem. */
  due: number
  oldestAt: Date | null
}

const QUEUES = ['checks', 'notices', 'refunds', 'expiries', 'reconciliations'] as const
export type PaymentQueues = Record<(typeof QUEUES)[number], Queue>

/** Each queue is read from the index that its worker claims by. */
export async function readPaymentQueues(db: Queries, maxCounted: number): Promise<PaymentQueues> {
  const { first, last } = ALL_PLACES
  const limit = maxCounted + 1
  const rows = await db.rows<{ queue: string; due: number; oldest: Date | null }>(sql`
    select 'checks' as queue, count(*) as due, min(at) as oldest from (
      select next_check_at as at from attempts where next_check_at <= now() and place between ${first} and ${last}
       order by next_check_at limit ${limit}) d
    union all
    select 'notices', count(*), min(at) from (
      select due_at as at from notices where state = 'waiting' and due_at <= now() and place between ${first} and ${last}
       order by due_at limit ${limit}) d
    union all
    select 'refunds', count(*), min(at) from (
      select due_at as at from refunds where status = 'pending' and due_at <= now() and place between ${first} and ${last}
       order by due_at limit ${limit}) d
    union all
    select 'expiries', count(*), min(at) from (
      select expires_at as at from payments where status = 'pending' and expires_at <= now() and place between ${first} and ${last}
       order by expires_at limit ${limit}) d
    union all
    select 'reconciliations', count(*), min(at) from (
      select due_at as at from reconciliation_runs where due_at <= now() and leased_until < now() order by due_at limit ${limit}) d`)
  const queueOf = (name: string): Queue => {
    const row = rows.find(({ queue }) => queue === name)
    return { due: row?.due ?? 0, oldestAt: row?.oldest ?? null }
  }
  return Object.fromEntries(QUEUES.map((name) => [name, queueOf(name)])) as PaymentQueues
}
