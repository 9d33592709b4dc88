import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { ALL_PLACES } from '../../kernel/place.ts'

/** Work that is due now. */
export interface Queue {
  /** Counted up to `MAX_COUNTED + 1`. */
  due: number
  oldestAt: Date | null
}

/** A longer queue is not counted to its end: the count must stay cheap when the queue is the problem. */
export const MAX_COUNTED = 1_000

export interface PaymentQueues {
  checks: Queue
  notices: Queue
  refunds: Queue
  expiries: Queue
}

export async function readPaymentQueues(db: Queries): Promise<PaymentQueues> {
  const { first, last } = ALL_PLACES
  const limit = MAX_COUNTED + 1
  const [checks, notices, refunds, expiries] = await Promise.all([
    db.row<Row>(sql`
      select count(*) as due, min(at) as oldest from (
        select next_check_at as at from attempts where next_check_at <= now() and place between ${first} and ${last}
         order by next_check_at limit ${limit}) d`),
    db.row<Row>(sql`
      select count(*) as due, min(at) as oldest from (
        select due_at as at from notices where state = 'waiting' and due_at <= now() and place between ${first} and ${last}
         order by due_at limit ${limit}) d`),
    db.row<Row>(sql`
      select count(*) as due, min(at) as oldest from (
        select due_at as at from refunds where status = 'pending' and due_at <= now() and place between ${first} and ${last}
         order by due_at limit ${limit}) d`),
    db.row<Row>(sql`
      select count(*) as due, min(at) as oldest from (
        select expires_at as at from payments where status = 'pending' and expires_at <= now() and place between ${first} and ${last}
         order by expires_at limit ${limit}) d`),
  ])
  return { checks: queueOf(checks), notices: queueOf(notices), refunds: queueOf(refunds), expiries: queueOf(expiries) }
}

interface Row {
  due: number
  oldest: Date | null
}

function queueOf(row: Row | undefined): Queue {
  return { due: row?.due ?? 0, oldestAt: row?.oldest ?? null }
}
