import { batch } from '../../database/batch.ts'
import type { Queries } from '../../database/database.ts'
import { isLockTimeout } from '../../database/failure.ts'
import { statementOf } from '../../database/sql.ts'
import { type Event, isAnnounced } from '../../events/event.ts'
import { PAYMENTS_CHANNEL } from '../../events/event-store.ts'
import { DELIVERIES, DELIVERIES_CHANNEL, EVENTS, outboxOf } from '../../events/outbox-store.ts'
import { type AttemptId, uuidOf } from '../../kernel/ids.ts'
import type { Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { NoticeState } from '../state/notice.ts'
import type { Payment } from '../state/payment.ts'
import { isErased } from '../state/personal-data.ts'
import { returnedOf } from '../state/returned-money.ts'
import { GROUP_COMMIT, writeTogether } from './group-commit.ts'
import { findLocked } from './payments.ts'

/** Everything that one decision changes. */
export interface PaymentWrite {
  /** The payment that the decision was made on; undefined for a new one. */
  before: Payment | undefined
  after: Payment
  newAttempts: Attempt[]
  changedAttempts: Attempt[]
  receipts: { attempt: Attempt; receipt: Receipt; counted: boolean }[]
  events: Event[]
  /** The time of the decision. */
  at: Date
  /** The provider call that led to the decision, for the timeline. */
  call?: CallRecord | undefined
  /** The notice that led to the decision, and is processed with it. */
  notice?: NoticeEnd | undefined
  /** A new attempt is written only if the integration has this version, so that a changed one is not used. */
  integration?: { provider: string; version: number } | undefined
  /** Idempotency key of the submitted form that started the attempt. */
  pageKey?: string | undefined
  /** The call with an idempotency key that started the new attempt. After a crash, a repeat of it continues with that attempt. */
  startedBy?: StartedBy | undefined
  /** Unmatched notices with this reference are processed again, because the provider has just told it. */
  rematch?: { provider: string; reference: string } | undefined
}

export interface StartedBy extends Scope {
  endpoint: string
  key: string
}

export interface CallRecord {
  attemptId: AttemptId
  call: string
  outcome: string
  detail: string | null
  tookMs: number
  /** When it ended. */
  at: Date
}

export interface NoticeEnd {
  id: number
  state: NoticeState
  note: string | null
  attemptId: AttemptId
}

/**
 * What belongs to the payments, which are of one place, `$2`. Each part expects `given` with the rows as JSON, and `written` with the ids of
 * the payments that were written: of the others, none of this is written either. A statement has only the parts that it needs: with all of
 * them it takes PostgreSQL twice as long. The arrays of ids make it use the primary keys, however many rows it expects.
 */
const NEW_ATTEMPTS = `
  new_attempts as (
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, account, channel, status, currency, amount_charged,
                          fee, order_reference, provider_reference, save_card, charged_at_once, created_at, watched_since, next_check_at, page_key)
    select $2::smallint, n.id, n.payment_id, n.merchant_id, n.mode, n.number, n.reference, n.provider, n.account, n.channel, n.status, n.currency, n.amount_charged,
           n.fee, n.order_reference, n.provider_reference, n.save_card, n.charged_at_once, n.created_at, n.watched_since, n.next_check_at, n.page_key
      from given g, jsonb_populate_recordset(null::attempts, g.doc->'newAttempts') n join written w on w.id = n.payment_id
  )`
const CHANGED_ATTEMPTS = `
  changed_attempts as (
    -- Also releases the lease of a check.
    update attempts a
       set status = n.status, amount_received = n.amount_received, amount_returned = n.amount_returned, amount_refunded = n.amount_refunded,
           amount_reversed = n.amount_reversed, provider_reference = n.provider_reference, failure = n.failure, failed_try_id = n.failed_try_id,
           instructions = n.instructions, instructions_expire_at = n.instructions_expire_at, said_paid = n.said_paid,
           needs_review = n.needs_review, reviewed = n.reviewed, asked_at = n.asked_at, charged_at_once = n.charged_at_once, resolved_at = n.resolved_at,
           next_check_at = n.next_check_at, checks = n.checks, watched_since = n.watched_since, missing_in_a_row = n.missing_in_a_row,
           active_at = n.active_at, known_to_provider = n.known_to_provider, check_leased_until = '-infinity',
           page_key = coalesce(n.page_key, a.page_key),
           reconcile_at = case when n.amount_received > a.amount_received then n.reconcile_at else a.reconcile_at end,
           reconcile_until = case when n.amount_received > a.amount_received then n.reconcile_until else a.reconcile_until end
      from given g, jsonb_populate_recordset(null::attempts, g.doc->'changedAttempts') n join written w on w.id = n.payment_id
     where a.place = $2 and a.id = any($4) and a.id = n.id
  )`
const RECEIPTS = `
  new_receipts as (
    insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, returned, taken_at, recorded_at)
    select $2::smallint, n.merchant_id, n.mode, n.provider, n.account, n.transaction_id, n.attempt_id, n.payment_id, n.amount, n.currency, n.counted, n.returned, n.taken_at, n.recorded_at
      from given g, jsonb_populate_recordset(null::receipts, g.doc->'receipts') n join written w on w.id = n.payment_id
  )`
/** Payments whose new money is on record under other keys of the merchant: a person may have returned it by hand. With one key: no search. */
const UNDER_OTHER_KEYS = `
  under_other_keys as materialized (
    select n.payment_id from given g, jsonb_populate_recordset(null::receipts, g.doc->'receipts') n
     cross join lateral (select version from provider_accounts
        where merchant_id = n.merchant_id and mode = n.mode and provider = n.provider and version <> n.account offset 0) a -- by its index
     where (select true from receipts o
             where o.place = $2 and o.merchant_id = n.merchant_id and o.mode = n.mode and o.provider = n.provider
               and o.account = a.version and o.transaction_id = n.transaction_id limit 1)
  )`
const CALLS = `
  new_calls as (
    select n.attempt_id, n.call, n.outcome, n.detail, n.took_ms, n.at,
           (select l.id from provider_calls l where l.place = $2 and l.attempt_id = n.attempt_id order by l.id desc limit 1) as last_id
      from given g, jsonb_to_recordset(g.doc->'calls')
           as n (payment_id uuid, attempt_id uuid, call text, outcome text, detail text, took_ms integer, at timestamptz)
           join written w on w.id = n.payment_id
  ), repeated_calls as (
    -- The same call with the same outcome again increases a counter.
    update provider_calls c set times = c.times + 1, at = n.at, took_ms = n.took_ms
      from new_calls n
     where c.place = $2 and c.id = n.last_id and c.call = n.call and c.outcome = n.outcome and c.detail is not distinct from n.detail
    returning n.attempt_id
  ), first_calls as (
    insert into provider_calls (place, attempt_id, call, outcome, detail, took_ms, at)
    select $2::smallint, attempt_id, call, outcome, detail, took_ms, at from new_calls
     where attempt_id not in (select attempt_id from repeated_calls)
  )`
const STARTED_BY = `
  started_calls as (
    update idempotent_calls c set began = n.began
      from given g, jsonb_to_recordset(g.doc->'startedBy')
           as n (payment_id uuid, merchant_id uuid, mode text, endpoint text, key text, began text) join written w on w.id = n.payment_id
     where c.place = $2 and c.merchant_id = n.merchant_id and c.mode = n.mode and c.endpoint = n.endpoint and c.key = n.key
  )`
const REMATCH = `
  rematched_notices as (
    update notices o set state = 'waiting', due_at = now(), note = null
      from given g, jsonb_to_recordset(g.doc->'rematch')
           as n (payment_id uuid, merchant_id uuid, mode text, provider text, reference text) join written w on w.id = n.payment_id
     where o.place = $2 and o.state = 'unmatched' and o.merchant_id = n.merchant_id and o.mode = n.mode and o.provider = n.provider and o.reference = n.reference
  )`
const NOTICES = `
  ended_notices as (
    update notices o set state = n.state, note = n.note, attempt_id = n.attempt_id, body = case when n.is_erased then '' else o.body end
      from given g, jsonb_to_recordset(g.doc->'notices')
           as n (payment_id uuid, id bigint, state text, note text, attempt_id uuid, is_erased boolean) join written w on w.id = n.payment_id
     where o.place = $2 and o.id = any($5) and o.id = n.id
  )`

const CHANGED_PAYMENTS = `
    update payments p
       set status = n.status, late = n.late, amount_paid = n.amount_paid, amount_refunded = n.amount_refunded, completed_at = n.completed_at,
           sequence = n.sequence, version = n.version
      from given g, jsonb_populate_recordset(null::payments, g.doc->'payments') n
     where p.place = $2 and p.id = any($3) and p.id = n.id and p.version = n.version - 1`
const NEW_PAYMENTS = `
    insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_id, user_email,
                          user_phone_number, user_name, redirect_url, webhook_url, metadata, link_id, sequence, version, created_at, expires_at)
    select $2::smallint, n.id, n.merchant_id, n.mode, n.reference, n.short_code, n.amount, n.currency, n.country, n.customer_bears_charge, n.user_id, n.user_email,
           n.user_phone_number, n.user_name, n.redirect_url, n.webhook_url, n.metadata, n.link_id, n.sequence, n.version, n.created_at, n.expires_at
      from given g, jsonb_populate_recordset(null::payments, g.doc->'payments') n
     where n.id = any($3)`
const UNCHANGED_INTEGRATION = `
       and exists (select from jsonb_to_recordset(g.doc->'integrations') as r (payment_id uuid, provider text, version integer)
                     join integrations i on i.provider = r.provider and i.version = r.version and i.enabled
                    where r.payment_id = n.id and i.merchant_id = n.merchant_id and i.mode = n.mode)`

/** The parts of the statement that a write needs. Writes with the same parts can share a statement. */
function partsOf(write: PaymentWrite): string {
  const { before, newAttempts, changedAttempts, receipts, events, call, startedBy, rematch, notice, integration } =
    write
  const payments = `
  written as (${before ? CHANGED_PAYMENTS : NEW_PAYMENTS}${integration ? UNCHANGED_INTEGRATION : ''}
       ${receipts.length > 0 ? 'and n.id not in (select payment_id from under_other_keys)' : ''}
    ${before ? 'returning p.id' : 'on conflict do nothing returning id'}
  )`
  const parts = [
    receipts.length > 0 && UNDER_OTHER_KEYS,
    payments,
    newAttempts.length > 0 && NEW_ATTEMPTS,
    changedAttempts.length > 0 && CHANGED_ATTEMPTS,
    receipts.length > 0 && RECEIPTS,
    call && CALLS,
    startedBy && STARTED_BY,
    rematch && REMATCH,
    notice && NOTICES,
    events.length > 0 && EVENTS,
    isSent(write) && DELIVERIES,
  ]
  return parts.filter((part) => typeof part === 'string').join(', ')
}

const isSent = ({ events }: PaymentWrite) => events.some(({ type }) => isAnnounced(type))

/**
 * Writes a decision in one statement: the payment, its attempts, receipts, events and webhook deliveries, all or nothing. Returns false,
 * and writes nothing, when the payment has changed since `before` was read (optimistic concurrency control), when the integration has
 * changed, or when the reference or the money is on record already. The caller then reads and decides again, with a lock.
 */
export async function writePayment(db: Queries, write: PaymentWrite): Promise<boolean> {
  return (await writeInOne(db, partsOf(write), write.after.place, [write]))[0] as boolean
}

/**
 * Group commit: decisions that are made while another one is being written share the next statement and its commit. Each caller gets its
 * own result after the commit. If the statement fails because of one of them, each is written alone.
 */
export function paymentWriter(db: Queries): (write: PaymentWrite) => Promise<boolean> {
  const batches = new Map<string, (write: PaymentWrite) => Promise<boolean>>()
  return (write) => {
    const parts = partsOf(write)
    const add =
      batches.get(parts) ??
      batch({ ...GROUP_COMMIT, name: 'write decisions', write: (writes) => writeAll(db, parts, writes) })
    batches.set(parts, add)
    return add(write)
  }
}

async function writeAll(db: Queries, parts: string, writes: PaymentWrite[]): Promise<(boolean | Error)[]> {
  // Of two changes of one payment, the second was decided on an old state.
  const group = [...new Map(writes.toReversed().map((write) => [write.after.id, write])).values()]
  const placeOf = ({ after }: PaymentWrite) => after.place
  const results = await writeTogether(group, placeOf, (place, some) => writeUnlocked(db, parts, place, some))
  const resultOf = new Map(group.map((write, index) => [write, results[index] as boolean | Error]))
  return writes.map((write) => resultOf.get(write) ?? false)
}

/** If a payment stays locked for `lock_timeout`, the write of that one fails, and the others are written without it. */
async function writeUnlocked(
  db: Queries,
  parts: string,
  place: Place,
  writes: PaymentWrite[],
): Promise<(boolean | Error)[]> {
  try {
    return await writeInOne(db, parts, place, writes)
  } catch (error) {
    if (writes.length === 1 || !isLockTimeout(error)) throw error
    const locked = new Set(
      await findLocked(
        db,
        place,
        writes.flatMap(({ before }) => (before ? [before.id] : [])),
      ),
    )
    const others = writes.filter(({ after }) => !locked.has(after.id))
    if (locked.size === 0 || others.length === 0) throw error
    const results = await writeInOne(db, parts, place, others)
    const resultOf = new Map(others.map((write, index) => [write, results[index] as boolean]))
    return writes.map((write) => resultOf.get(write) ?? (error as Error))
  }
}

async function writeInOne(db: Queries, parts: string, place: Place, writes: PaymentWrite[]): Promise<boolean[]> {
  const text = `
  with given as (select $1::jsonb as doc, $2::smallint as place, $3::uuid[] as ids, $4::uuid[] as attempt_ids, $5::bigint[] as notice_ids), ${parts}
  select id from written`
  const ids = writes.map(({ after }) => uuidOf(after.id))
  const changed = writes.flatMap(({ changedAttempts }) => changedAttempts.map(({ id }) => uuidOf(id)))
  const notices = writes.flatMap(({ notice }) => (notice ? [notice.id] : []))
  const rows = await db.rows<{ id: string }>(statementOf(text, [docOf(writes), place, ids, changed, notices]))
  const written = new Set(rows.map(({ id }) => id))
  const results = ids.map((id) => written.has(id))
  for (const [index, write] of writes.entries()) {
    if (results[index] && write.events.length > 0) db.notify(PAYMENTS_CHANNEL, write.after.id)
  }
  if (writes.some((write, index) => results[index] && isSent(write))) db.notify(DELIVERIES_CHANNEL)
  return results
}

function paymentRow(payment: Payment): object {
  const { user } = payment
  return {
    id: uuidOf(payment.id),
    merchant_id: uuidOf(payment.merchantId),
    mode: payment.mode,
    reference: payment.reference,
    short_code: payment.shortCode,
    status: payment.status,
    late: payment.late,
    amount: payment.amount,
    currency: payment.currency,
    country: payment.country,
    customer_bears_charge: payment.customerBearsCharge,
    amount_paid: payment.amountPaid,
    amount_refunded: payment.amountRefunded,
    user_id: user.id,
    user_email: user.email,
    user_phone_number: user.phoneNumber,
    user_name: user.name,
    redirect_url: payment.redirectURL,
    webhook_url: payment.webhook,
    metadata: payment.metadata,
    link_id: payment.link && uuidOf(payment.link),
    sequence: payment.sequence,
    version: payment.version,
    created_at: payment.createdAt,
    expires_at: payment.expiresAt,
    completed_at: payment.completedAt,
  }
}

function docOf(writes: PaymentWrite[]): string {
  const rows = writes.map(rowsOf)
  const names = Object.keys(rows[0] ?? {}) as (keyof Rows)[]
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, rows.flatMap((each) => each[name])])))
}

type Rows = ReturnType<typeof rowsOf>

function rowsOf(write: PaymentWrite) {
  const { after, newAttempts, changedAttempts, receipts, call, notice, events } = write
  const { pageKey, startedBy, rematch, integration, at } = write
  const [payment_id, merchant_id] = [uuidOf(after.id), uuidOf(after.merchantId)]
  return {
    payments: [paymentRow(after)],
    integrations: integration ? [{ payment_id, ...integration }] : [],
    newAttempts: newAttempts.map((attempt) => ({ ...attemptRow(attempt), page_key: pageKey })),
    // A form that confirms the charge of a saved card starts no new attempt.
    changedAttempts: changedAttempts.map((attempt) => ({
      ...attemptRow(attempt),
      ...reconciliationAfter(at),
      ...(newAttempts.length === 0 && { page_key: pageKey }),
    })),
    receipts: receipts.map(({ attempt, receipt, counted }) => ({
      merchant_id,
      mode: attempt.mode,
      provider: attempt.provider,
      account: attempt.account,
      transaction_id: receipt.transactionId,
      attempt_id: uuidOf(attempt.id),
      payment_id,
      amount: receipt.amount.amount,
      currency: receipt.amount.currency,
      counted,
      returned: returnedOf(receipt),
      taken_at: receipt.at,
      recorded_at: at,
    })),
    calls: call ? [{ ...call, payment_id, attempt_id: uuidOf(call.attemptId), took_ms: Math.round(call.tookMs) }] : [],
    notices: notice
      ? [{ ...notice, payment_id, attempt_id: uuidOf(notice.attemptId), is_erased: isErased(after.user) }]
      : [],
    startedBy: startedBy ? [{ ...startedBy, payment_id, merchant_id, began: newAttempts[0]?.id }] : [],
    rematch: rematch ? [{ ...rematch, payment_id, merchant_id, mode: after.mode }] : [],
    ...outboxOf(events, after.webhook),
  }
}

/** New money is reconciled once a day for a week, with jitter on the first day. */
function reconciliationAfter(at: Date): object {
  const after = (hours: number) => new Date(at.getTime() + hours * 3_600_000)
  return { reconcile_at: after(20 + Math.random() * 8), reconcile_until: after(7 * 24) }
}

function attemptRow(attempt: Attempt): object {
  const { checks } = attempt
  return {
    id: uuidOf(attempt.id),
    payment_id: uuidOf(attempt.paymentId),
    merchant_id: uuidOf(attempt.merchantId),
    mode: attempt.mode,
    number: attempt.number,
    reference: attempt.reference,
    provider: attempt.provider,
    account: attempt.account,
    channel: attempt.channel,
    status: attempt.status,
    currency: attempt.currency,
    amount_charged: attempt.amountCharged,
    fee: attempt.fee,
    amount_received: attempt.amountReceived,
    amount_returned: attempt.amountReturned,
    amount_refunded: attempt.amountRefunded,
    amount_reversed: attempt.amountReversed,
    order_reference: attempt.orderReference,
    provider_reference: attempt.providerReference,
    save_card: attempt.saveCard,
    charged_at_once: attempt.chargedAtOnce,
    failure: attempt.failure,
    failed_try_id: attempt.failedTryId,
    instructions: attempt.instructions,
    instructions_expire_at: attempt.instructionsExpireAt,
    said_paid: attempt.noticeSaidPaid,
    needs_review: attempt.needsReview,
    reviewed: attempt.reviewed,
    created_at: attempt.createdAt,
    asked_at: attempt.askedAt,
    resolved_at: attempt.resolvedAt,
    next_check_at: checks.nextAt,
    checks: checks.count,
    watched_since: checks.since,
    missing_in_a_row: checks.missingInARow,
    active_at: checks.lastActivityAt,
    known_to_provider: attempt.knownToProvider,
  }
}
