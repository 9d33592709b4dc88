import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { PaymentDeps } from '../../../src/payments/deps.ts'
import { sendDueRefunds } from '../../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../../src/payments/settle/check-attempts.ts'
import { processWaitingNotices } from '../../../src/payments/settle/receive-notice.ts'
import { planAccounts, reconcileDueRuns } from '../../../src/reconciliation/reconcile-accounts.ts'

const HURRY_EVERY_MS = 500

/**
 * While customers pay, attempts with an unknown outcome are checked again at once. Returns a function that stops it.
 */
export function hurry(database: Database, begunBeforeSeconds?: number): () => Promise<void> {
  let running: Promise<void> = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(() => hasten(database, begunBeforeSeconds)).catch(() => {})
  }, HURRY_EVERY_MS)
  return () => {
    clearInterval(timer)
    return running
  }
}

// Eleven minutes: then "no such order" is believed. Not `created_at`, which is when the provider was first asked, by
// its own clock too. And nothing that was begun just now: its first call may still be on its way.
export async function hasten(database: Database, begunBeforeSeconds = 3): Promise<void> {
  await database.rows(sql`
    update attempts set watched_since = least(watched_since, now() - interval '11 minutes'), next_check_at = now()
     where status = 'processing' and next_check_at > now() and check_leased_until < now()
       and watched_since < now() - ${begunBeforeSeconds} * interval '1 second'`)
  await database.rows(sql`
    update refunds set due_at = now() where status = 'pending' and tries > 0 and due_at > now() + interval '1 minute'`)
  await database.rows(sql`
    update notices set due_at = now() where state = 'waiting' and tries > 0 and due_at > now() + interval '1 minute'`)
}

export interface Open {
  attempts: number
  refunds: number
  notices: number
}

const MOST_ROUNDS = 10
const LEAST_ROUNDS = 2
// Few at a time: customers, service and provider share this process, and a long wait would count as a timeout.
const AT_ONCE = 8
const ROUND_PAST_SECONDS = 660

/** Without faults: everything is checked again in rounds, until nothing is open. `before` runs before each round. */
export async function settleInRounds(
  parts: PaymentDeps,
  before: () => Promise<void>,
): Promise<{ rounds: number; open: Open }> {
  for (let rounds = 1; ; rounds++) {
    await before()
    await planAccounts(parts)
    await makeAllDue(parts.database)
    while ((await checkDueAttempts(parts, AT_ONCE)) > 0);
    while ((await sendDueRefunds(parts, AT_ONCE)) > 0);
    while ((await processWaitingNotices(parts, AT_ONCE)) > 0);
    while ((await reconcileDueRuns(parts, AT_ONCE)) > 0);
    const open = await countOpen(parts.database)
    const isDone = open.attempts + open.refunds + open.notices === 0 && rounds >= LEAST_ROUNDS
    if (isDone || rounds >= MOST_ROUNDS) return { rounds, open }
  }
}

async function makeAllDue(database: Database): Promise<void> {
  await database.rows(sql`
    update attempts set watched_since = watched_since - make_interval(secs => ${ROUND_PAST_SECONDS}),
           next_check_at = now(), check_leased_until = '-infinity'
     where next_check_at is not null`)
  await database.rows(sql`update refunds set due_at = now(), leased_until = '-infinity' where status = 'pending'`)
  await database.rows(sql`update notices set due_at = now() where state = 'waiting'`)
  // As on the next day: a notice of a refund or dispute may have been lost.
  await database.rows(sql`update reconciliation_runs set due_at = now()`)
}

export async function countOpen(database: Database): Promise<Open> {
  const row = await database.row<Open>(sql`
    select (select count(*) from attempts where status = 'processing') as attempts,
           (select count(*) from refunds where status = 'pending') as refunds,
           (select count(*) from notices where state = 'waiting') as notices`)
  return row as Open
}

export async function countDeliveries(database: Database): Promise<number> {
  const row = await database.row<{ count: number }>(sql`select count(*) from deliveries where state = 'waiting'`)
  return row?.count ?? 0
}

/** Calls that the circuit breaker did not make. */
export async function countHeldBack(database: Database): Promise<number> {
  const row = await database.row<{ count: number }>(sql`
    select coalesce(sum(times), 0)::integer as count from provider_calls where detail like '%not being asked%'`)
  return row?.count ?? 0
}
