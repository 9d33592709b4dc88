import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { NO_ACCOUNT } from '../../integrations/provider-account.ts'
import type { Channel } from '../../kernel/channel.ts'
import { type AttemptId, idOf, type PaymentId, parseId, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Postponed } from '../../outbound/account-limits.ts'
import type { Failure } from '../../providers/provider.ts'
import type { Attempt, AttemptStatus, Instructions } from '../state/attempt.ts'
import type { Payment } from '../state/payment.ts'
import type { PaymentState } from '../state/payment-state.ts'
import { findPayment, findPaymentById, findPaymentsByReference, lockPayment } from './payments.ts'

const COLUMNS =
  new Fixed(`a.id, a.payment_id, a.merchant_id, a.mode, a.number, a.reference, a.provider, a.account, a.channel, a.status,
  a.currency, a.amount_charged, a.fee, a.amount_received, a.amount_returned, a.amount_refunded, a.amount_reversed, a.order_reference, a.provider_reference, a.save_card, a.charged_at_once, a.failure, a.failed_try_id,
  a.instructions, a.instructions_expire_at, a.said_paid, a.needs_review, a.created_at, a.asked_at, a.resolved_at, a.next_check_at, a.checks,
  a.watched_since, a.missing_in_a_row, a.active_at, a.known_to_provider`)

interface AttemptRow {
  id: string
  payment_id: string
  merchant_id: string
  mode: Mode
  number: number
  reference: string
  provider: string
  account: number
  channel: Channel
  status: AttemptStatus
  currency: string
  amount_charged: number
  fee: number
  amount_received: number
  amount_returned: number
  amount_refunded: number
  amount_reversed: number
  order_reference: string
  provider_reference: string
  save_card: boolean
  charged_at_once: boolean
  failure: Failure | null
  failed_try_id: string | null
  instructions: Instructions | null
  instructions_expire_at: Date | null
  said_paid: boolean
  needs_review: string | null
  created_at: Date
  asked_at: Date | null
  resolved_at: Date | null
  next_check_at: Date | null
  checks: number
  watched_since: Date
  missing_in_a_row: number
  active_at: Date | null
  known_to_provider: boolean
}

function attemptOf(row: AttemptRow): Attempt {
  return {
    id: idOf('attempt', row.id),
    paymentId: idOf('payment', row.payment_id),
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    number: row.number,
    reference: row.reference,
    provider: row.provider,
    account: row.account,
    channel: row.channel,
    status: row.status,
    currency: row.currency as Currency,
    amountCharged: row.amount_charged,
    fee: row.fee,
    amountReceived: row.amount_received,
    amountReturned: row.amount_returned,
    amountRefunded: row.amount_refunded,
    amountReversed: row.amount_reversed,
    orderReference: row.order_reference,
    providerReference: row.provider_reference,
    saveCard: row.save_card,
    chargedAtOnce: row.charged_at_once,
    knownToProvider: row.known_to_provider,
    failure: row.failure,
    failedTryId: row.failed_try_id,
    instructions: row.instructions,
    instructionsExpireAt: row.instructions_expire_at,
    // Older column names: said_paid, watched_since (checks.since) and active_at (checks.lastActivityAt).
    noticeSaidPaid: row.said_paid,
    needsReview: row.needs_review,
    createdAt: row.created_at,
    askedAt: row.asked_at ?? row.created_at,
    resolvedAt: row.resolved_at,
    checks: {
      since: row.watched_since,
      count: row.checks,
      missingInARow: row.missing_in_a_row,
      lastActivityAt: row.active_at,
      nextAt: row.next_check_at,
    },
  }
}

async function attemptsOf(db: Queries, paymentIds: PaymentId[]): Promise<Attempt[]> {
  if (paymentIds.length === 0) return []
  const rows = await db.rows<AttemptRow>(sql`
    select ${COLUMNS} from attempts a where payment_id = any(${paymentIds.map(uuidOf)}::uuid[]) order by payment_id, number`)
  return rows.map(attemptOf)
}

/** Locks the payment's row, which serializes all changes of the payment and its attempts. */
export async function lockPaymentState(tx: Transaction, id: PaymentId): Promise<PaymentState> {
  const payment = await lockPayment(tx, id)
  if (!payment) throw new Error(`payment ${id} is gone`)
  return { payment, attempts: await attemptsOf(tx, [id]) }
}

/** Finds by the payment's reference or id, or by an attempt's reference. */
export async function findPaymentState(db: Queries, scope: Scope, name: string): Promise<PaymentState | undefined> {
  const payment = (await findPayment(db, scope, name)) ?? (await findPaymentOfAttempt(db, scope, name))
  return payment && readConsistently(db, payment)
}

export async function findPaymentStateById(db: Queries, id: PaymentId): Promise<PaymentState | undefined> {
  const payment = await findPaymentById(db, id)
  return payment && readConsistently(db, payment)
}

/** Reads attempts that match the payment's sequence. A change between the two reads is detected by the sequence and read again. */
async function readConsistently(db: Queries, known: Payment): Promise<PaymentState> {
  let payment = known
  for (;;) {
    const attempts = await attemptsOf(db, [payment.id])
    const again = await findPaymentById(db, payment.id)
    if (!again || again.sequence === payment.sequence) return { payment, attempts }
    payment = again
  }
}

async function findPaymentOfAttempt(db: Queries, scope: Scope, reference: string): Promise<Payment | undefined> {
  const row = await db.row<{ payment_id: string }>(sql`
    select payment_id from attempts
     where reference = ${reference} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}`)
  return row && findPaymentById(db, idOf('payment', row.payment_id))
}

/** For the operator: finds by id, reference or attempt reference, over all merchants. */
export async function findPaymentStatesByName(db: Queries, name: string): Promise<PaymentState[]> {
  const id = parseId('payment', name) ?? (await paymentOfAttempt(db, name))
  const byId = id && (await findPaymentById(db, id))
  return withAttempts(db, byId ? [byId] : await findPaymentsByReference(db, name))
}

async function paymentOfAttempt(db: Queries, reference: string): Promise<PaymentId | undefined> {
  const row = await db.row<{ payment_id: string }>(sql`select payment_id from attempts where reference = ${reference}`)
  return row && idOf('payment', row.payment_id)
}

export async function withAttempts(db: Queries, payments: Payment[]): Promise<PaymentState[]> {
  const attempts = await attemptsOf(
    db,
    payments.map(({ id }) => id),
  )
  const byPayment = Map.groupBy(attempts, ({ paymentId }) => paymentId)
  return payments.map((payment) => ({ payment, attempts: byPayment.get(payment.id) ?? [] }))
}

export async function findAttempt(db: Queries, id: AttemptId): Promise<Attempt | undefined> {
  const row = await db.row<AttemptRow>(sql`select ${COLUMNS} from attempts a where id = ${uuidOf(id)}`)
  return row && attemptOf(row)
}

/**
 * Finds by our order reference or the provider's own. Attempts of the given account come first; another account matches only by our
 * random reference, or after its keys were rotated.
 */
export async function findAttemptByOrder(
  db: Queries,
  { merchantId, mode }: Scope,
  { provider, account = NO_ACCOUNT }: { provider: string; account?: number },
  reference: string,
): Promise<Attempt | undefined> {
  const row = await db.row<AttemptRow>(sql`
    select ${COLUMNS} from attempts a
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and (order_reference = ${reference} or provider_reference = ${reference})
     order by account = ${account} desc, order_reference = ${reference} desc limit 1`)
  return row && attemptOf(row)
}

export async function insertAttempt(tx: Transaction, attempt: Attempt): Promise<void> {
  await tx.rows(sql`
    insert into attempts (id, payment_id, merchant_id, mode, number, reference, provider, account, channel, status, currency, amount_charged,
                          fee, order_reference, provider_reference, save_card, charged_at_once, created_at, watched_since, next_check_at)
    values (${uuidOf(attempt.id)}, ${uuidOf(attempt.paymentId)}, ${uuidOf(attempt.merchantId)}, ${attempt.mode},
            ${attempt.number}, ${attempt.reference}, ${attempt.provider}, ${attempt.account}, ${attempt.channel}, ${attempt.status},
            ${attempt.currency}, ${attempt.amountCharged}, ${attempt.fee}, ${attempt.orderReference},
            ${attempt.providerReference}, ${attempt.saveCard}, ${attempt.chargedAtOnce}, ${attempt.createdAt}, ${attempt.checks.since}, ${attempt.checks.nextAt})`)
}

/** Whether a submit with this idempotency key has started an attempt. */
export async function hasPageKey(tx: Transaction, id: PaymentId, key: string): Promise<boolean> {
  const row = await tx.row(sql`select from attempts where payment_id = ${uuidOf(id)} and page_key = ${key}`)
  return row !== undefined
}

export async function savePageKey(tx: Transaction, id: AttemptId, key: string): Promise<void> {
  await tx.rows(sql`update attempts set page_key = ${key} where id = ${uuidOf(id)}`)
}

/** Updates an attempt and releases its check lease. */
export async function saveAttempt(tx: Transaction, attempt: Attempt): Promise<void> {
  const { checks } = attempt
  await tx.rows(sql`
    update attempts
       set status = ${attempt.status}, amount_received = ${attempt.amountReceived},
           amount_returned = ${attempt.amountReturned}, amount_refunded = ${attempt.amountRefunded},
           amount_reversed = ${attempt.amountReversed},
           provider_reference = ${attempt.providerReference}, failure = ${attempt.failure}, failed_try_id = ${attempt.failedTryId},
           instructions = ${attempt.instructions}, instructions_expire_at = ${attempt.instructionsExpireAt},
           said_paid = ${attempt.noticeSaidPaid}, needs_review = ${attempt.needsReview}, asked_at = ${attempt.askedAt}, charged_at_once = ${attempt.chargedAtOnce},
           resolved_at = ${attempt.resolvedAt},
           next_check_at = ${checks.nextAt}, checks = ${checks.count}, watched_since = ${checks.since},
           missing_in_a_row = ${checks.missingInARow}, active_at = ${checks.lastActivityAt},
           known_to_provider = ${attempt.knownToProvider}, check_leased_until = '-infinity',
           -- New money is reconciled once a day for a week, with jitter on the first day.
           reconcile_at = case when ${attempt.amountReceived} > amount_received
                               then now() + interval '20 hours' + random() * interval '8 hours' else reconcile_at end,
           reconcile_until = case when ${attempt.amountReceived} > amount_received then now() + interval '7 days' else reconcile_until end
     where id = ${uuidOf(attempt.id)}`)
}

/** Claims attempts whose check is due, with a lease of one minute. */
export async function claimDueChecks(db: Queries, limit: number): Promise<Attempt[]> {
  const rows = await db.rows<AttemptRow>(sql`
    update attempts a set check_leased_until = now() + interval '1 minute'
     where id in (select id from attempts
                   where next_check_at <= now() and check_leased_until < now()
                   order by next_check_at limit ${limit} for update skip locked)
    returning ${COLUMNS}`)
  return rows.map(attemptOf)
}

/** Makes the checks of a payment's attempts due now. The worker makes them. Attempts that await confirmation have no provider order. */
export async function makeChecksDue(db: Queries, id: PaymentId): Promise<number> {
  const rows = await db.rows(sql`
    update attempts set next_check_at = now(), check_leased_until = '-infinity'
     where payment_id = ${uuidOf(id)} and instructions->>'kind' is distinct from 'confirm' returning id`)
  return rows.length
}

/**
 * Rate limit for checks on a customer's return: one in 3 seconds per payment, over all processes. When it is exceeded, a scheduled check
 * becomes due after the 3 seconds.
 */
export async function claimProviderCheck(db: Queries, { id, paymentId }: Attempt): Promise<boolean> {
  const now = await db.row(sql`
    update payments set provider_asked_at = now()
     where id = ${uuidOf(paymentId)} and coalesce(provider_asked_at <= now() - interval '3 seconds', true) returning id`)
  if (now) return true
  await db.rows(sql`
    update attempts a set next_check_at = least(a.next_check_at, p.provider_asked_at + interval '3 seconds') from payments p
     where a.id = ${uuidOf(id)} and p.id = a.payment_id and a.next_check_at is not null`)
  return false
}

/** Whether a check of the payment is due and not made yet. */
export async function hasChecksDue(db: Queries, id: PaymentId): Promise<boolean> {
  const row = await db.row(
    sql`select from attempts where payment_id = ${uuidOf(id)} and next_check_at <= now() limit 1`,
  )
  return row !== undefined
}

/** Shortens the lease after a failed check, so that it is retried in 5 seconds. */
export async function releaseCheck(db: Queries, id: AttemptId): Promise<void> {
  await db.rows(sql`update attempts set check_leased_until = now() + interval '5 seconds' where id = ${uuidOf(id)}`)
}

/** Postpones checks that exceed the rate limit of their provider account, and releases their leases. */
export async function postponeChecks(db: Queries, late: Postponed<Attempt>[]): Promise<void> {
  await db.rows(sql`
    update attempts a set next_check_at = now() + make_interval(secs => l.wait_ms / 1000), check_leased_until = '-infinity'
      from unnest(${late.map(({ item }) => uuidOf(item.id))}::uuid[], ${late.map(({ waitMs }) => waitMs)}::float8[]) as l (id, wait_ms)
     where a.id = l.id`)
}

/** Records a provider call for the timeline. A repeated call with the same outcome increases a counter. */
export async function recordCall(
  db: Queries,
  attemptId: AttemptId,
  call: { call: string; outcome: string; detail: string | null; tookMs: number },
): Promise<void> {
  await db.rows(sql`
    with last as (
      select id, call, outcome, detail from provider_calls where attempt_id = ${uuidOf(attemptId)} order by id desc limit 1
    ), again as (
      update provider_calls c set times = c.times + 1, at = now(), took_ms = ${Math.round(call.tookMs)}
        from last l
       where c.id = l.id and l.call = ${call.call} and l.outcome = ${call.outcome} and l.detail is not distinct from ${call.detail}
      returning c.id
    )
    insert into provider_calls (attempt_id, call, outcome, detail, took_ms)
    select ${uuidOf(attemptId)}::uuid, ${call.call}, ${call.outcome}, ${call.detail}, ${Math.round(call.tookMs)}::integer
     where not exists (select from again)`)
}
