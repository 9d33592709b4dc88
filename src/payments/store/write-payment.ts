import type { Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import type { Event } from '../../events/event.ts'
import { PAYMENTS_CHANNEL } from '../../events/event-store.ts'
import { DELIVERIES_CHANNEL, OUTBOX, outboxOf } from '../../events/outbox-store.ts'
import { type AttemptId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { NoticeState } from '../state/notice.ts'
import type { Payment } from '../state/payment.ts'
import { returnedOf } from '../state/returned-money.ts'

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
 * What belongs to the payment. It expects `given`, and `written` with the payment's id if the payment was written: without it, none of
 * this is written either.
 */
const PARTS = new Fixed(`
  new_attempts as (
    insert into attempts (id, payment_id, merchant_id, mode, number, reference, provider, account, channel, status, currency, amount_charged,
                          fee, order_reference, provider_reference, save_card, charged_at_once, created_at, watched_since, next_check_at, page_key)
    select n.id, n.payment_id, n.merchant_id, n.mode, n.number, n.reference, n.provider, n.account, n.channel, n.status, n.currency, n.amount_charged,
           n.fee, n.order_reference, n.provider_reference, n.save_card, n.charged_at_once, n.created_at, n.watched_since, n.next_check_at, n.page_key
      from written w, given g, jsonb_populate_recordset(null::attempts, g.doc->'newAttempts') n
  ), changed_attempts as (
    -- Also releases the lease of a check. New money is reconciled once a day for a week, with jitter on the first day.
    update attempts a
       set status = n.status, amount_received = n.amount_received, amount_returned = n.amount_returned, amount_refunded = n.amount_refunded,
           amount_reversed = n.amount_reversed, provider_reference = n.provider_reference, failure = n.failure, failed_try_id = n.failed_try_id,
           instructions = n.instructions, instructions_expire_at = n.instructions_expire_at, said_paid = n.said_paid,
           needs_review = n.needs_review, asked_at = n.asked_at, charged_at_once = n.charged_at_once, resolved_at = n.resolved_at,
           next_check_at = n.next_check_at, checks = n.checks, watched_since = n.watched_since, missing_in_a_row = n.missing_in_a_row,
           active_at = n.active_at, known_to_provider = n.known_to_provider, check_leased_until = '-infinity',
           page_key = coalesce(n.page_key, a.page_key),
           reconcile_at = case when n.amount_received > a.amount_received
                               then now() + interval '20 hours' + random() * interval '8 hours' else a.reconcile_at end,
           reconcile_until = case when n.amount_received > a.amount_received then now() + interval '7 days' else a.reconcile_until end
      from written w, given g, jsonb_populate_recordset(null::attempts, g.doc->'changedAttempts') n
     where a.payment_id = w.id and a.id = n.id
  ), new_receipts as (
    insert into receipts (merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, returned, taken_at, recorded_at)
    select n.merchant_id, n.mode, n.provider, n.account, n.transaction_id, n.attempt_id, n.payment_id, n.amount, n.currency, n.counted, n.returned, n.taken_at, n.recorded_at
      from written w, given g, jsonb_populate_recordset(null::receipts, g.doc->'receipts') n
  ), new_calls as (
    select n.attempt_id, n.call, n.outcome, n.detail, n.took_ms, n.at
      from written w, given g, jsonb_populate_recordset(null::provider_calls, g.doc->'calls') n
  ), repeated_calls as (
    -- The same call with the same outcome again increases a counter.
    update provider_calls c set times = c.times + 1, at = n.at, took_ms = n.took_ms
      from new_calls n
     where c.id = (select l.id from provider_calls l where l.attempt_id = n.attempt_id order by l.id desc limit 1)
       and c.call = n.call and c.outcome = n.outcome and c.detail is not distinct from n.detail
    returning c.id
  ), first_calls as (
    insert into provider_calls (attempt_id, call, outcome, detail, took_ms, at)
    select attempt_id, call, outcome, detail, took_ms, at from new_calls where not exists (select from repeated_calls)
  ), started_calls as (
    update idempotent_calls c set began = n.began
      from written w, given g, jsonb_populate_record(null::idempotent_calls, g.doc->'startedBy') n
     where c.merchant_id = n.merchant_id and c.mode = n.mode and c.endpoint = n.endpoint and c.key = n.key
  ), rematched_notices as (
    update notices o set state = 'waiting', due_at = now(), note = null
      from written w, given g, jsonb_populate_record(null::notices, g.doc->'rematch') n
     where o.state = 'unmatched' and o.merchant_id = n.merchant_id and o.mode = n.mode and o.provider = n.provider and o.reference = n.reference
  ), ended_notices as (
    update notices o set state = n.state, note = n.note, attempt_id = n.attempt_id
      from written w, given g, jsonb_populate_record(null::notices, g.doc->'notice') n
     where o.id = n.id
  )`)

/**
 * Writes a decision in one statement: the payment, its attempts, receipts, events and webhook deliveries, all or nothing. Returns false,
 * and writes nothing, when the payment has changed since `before` was read (optimistic concurrency control), when the integration has
 * changed, or when the reference of a new payment is in use. The caller then reads and decides again, with a lock.
 */
export async function writePayment(db: Queries, write: PaymentWrite): Promise<boolean> {
  const row = await db.row<{ is_written: boolean; has_deliveries: boolean }>(
    write.before ? changeStatement(write, write.before) : insertStatement(write),
  )
  if (!row?.is_written) return false
  if (write.events.length > 0) db.notify(PAYMENTS_CHANNEL, uuidOf(write.after.id))
  if (row.has_deliveries) db.notify(DELIVERIES_CHANNEL)
  return true
}

function changeStatement(write: PaymentWrite, before: Payment) {
  const { after, integration } = write
  return sql`
    with given as (select ${docOf(write)}::jsonb as doc), written as (
      update payments p
         set status = ${after.status}, late = ${after.late}, amount_paid = ${after.amountPaid}, amount_refunded = ${after.amountRefunded},
             completed_at = ${after.completedAt}, sequence = ${after.sequence}, version = ${after.version}
       where p.id = ${uuidOf(after.id)} and p.version = ${before.version}
         and (${integration?.provider ?? null}::text is null or exists (
               select from integrations i
                where i.merchant_id = p.merchant_id and i.mode = p.mode and i.provider = ${integration?.provider ?? null}
                  and i.version = ${integration?.version ?? null} and i.enabled))
      returning p.id
    ),${PARTS},${OUTBOX}
    select exists (select from written) as is_written, exists (select from new_deliveries) as has_deliveries`
}

function insertStatement(write: PaymentWrite) {
  const { after, integration } = write
  return sql`
    with given as (select ${docOf(write)}::jsonb as doc), written as (
      insert into payments (id, merchant_id, mode, reference, short_code, amount, currency, country, customer_bears_charge, user_id, user_email,
                            user_phone_number, user_name, redirect_url, webhook_url, metadata, sequence, version, created_at, expires_at)
      select ${uuidOf(after.id)}::uuid, ${uuidOf(after.merchantId)}::uuid, ${after.mode}, ${after.reference}, ${after.shortCode},
             ${after.amount}::bigint, ${after.currency}, ${after.country}, ${after.customerBearsCharge}::boolean, ${after.user.id}, ${after.user.email},
             ${after.user.phoneNumber}, ${after.user.name}, ${after.redirectURL}, ${after.webhook}, ${after.metadata}::jsonb,
             ${after.sequence}::integer, ${after.version}::bigint, ${after.createdAt}::timestamptz, ${after.expiresAt}::timestamptz
       where exists (select from integrations i
                      where i.merchant_id = ${uuidOf(after.merchantId)} and i.mode = ${after.mode} and i.provider = ${integration?.provider ?? null}
                        and i.version = ${integration?.version ?? null} and i.enabled)
      on conflict do nothing
      returning id
    ),${PARTS},${OUTBOX}
    select exists (select from written) as is_written, exists (select from new_deliveries) as has_deliveries`
}

function docOf(write: PaymentWrite): string {
  const { newAttempts, changedAttempts, receipts, call, notice, events, after, pageKey, startedBy, rematch, at } = write
  return JSON.stringify({
    newAttempts: newAttempts.map((attempt) => ({ ...rowOf(attempt), page_key: pageKey })),
    // A form that confirms the charge of a saved card starts no new attempt.
    changedAttempts: changedAttempts.map((attempt) => ({
      ...rowOf(attempt),
      ...(newAttempts.length === 0 && { page_key: pageKey }),
    })),
    receipts: receipts.map(({ attempt, receipt, counted }) => ({
      merchant_id: uuidOf(attempt.merchantId),
      mode: attempt.mode,
      provider: attempt.provider,
      account: attempt.account,
      transaction_id: receipt.transactionId,
      attempt_id: uuidOf(attempt.id),
      payment_id: uuidOf(attempt.paymentId),
      amount: receipt.amount.amount,
      currency: receipt.amount.currency,
      counted,
      returned: returnedOf(receipt),
      taken_at: receipt.at,
      recorded_at: at,
    })),
    calls: call
      ? [
          {
            attempt_id: uuidOf(call.attemptId),
            call: call.call,
            outcome: call.outcome,
            detail: call.detail,
            took_ms: Math.round(call.tookMs),
            at: call.at,
          },
        ]
      : [],
    notice: notice ? { ...notice, attempt_id: uuidOf(notice.attemptId) } : {},
    startedBy: startedBy ? { ...startedBy, merchant_id: uuidOf(startedBy.merchantId), began: newAttempts[0]?.id } : {},
    rematch: rematch ? { ...rematch, merchant_id: uuidOf(after.merchantId), mode: after.mode } : {},
    ...outboxOf(events, after.webhook),
  })
}

function rowOf(attempt: Attempt): object {
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
