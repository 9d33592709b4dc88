import { batch } from '../../database/batch.ts'
import type { Queries } from '../../database/database.ts'
import { isLockTimeout } from '../../database/failure.ts'
import { jsonColumns, statementOf } from '../../database/sql.ts'
import { type Event, isAnnounced } from '../../events/event.ts'
import { PAYMENTS_CHANNEL } from '../../events/event-store.ts'
import { DELIVERIES, DELIVERIES_CHANNEL, EVENTS } from '../../events/outbox-store.ts'
import { type AttemptId, uuidOf } from '../../kernel/ids.ts'
import type { Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { NoticeState } from '../state/notice.ts'
import type { Payment } from '../state/payment.ts'
import { GROUP_COMMIT, writeTogether } from './group-commit.ts'
import { docOf } from './payment-rows.ts'
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
  /** Written without a look at the last call on record, which it does not repeat. */
  isNew?: boolean
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
 * What belongs to the payments, which are of one place, `$2`. Each part expects the rows as JSON in `$1`, and `written` with the ids of the
 * payments that were written: of the others, none of this is written either. A statement has only the parts that it needs: with all of
 * them it takes PostgreSQL twice as long. The arrays of ids make it use the primary keys of large tables, however many rows it expects.
 */
const NEW_ATTEMPT =
  jsonColumns(`id uuid, payment_id uuid, merchant_id uuid, mode text, number integer, reference text, provider text, account integer,
  channel text, status text, currency text, amount_charged bigint, fee bigint, order_reference text, provider_reference text, save_card boolean,
  charged_at_once boolean, created_at timestamptz, watched_since timestamptz, next_check_at timestamptz, page_key text`)
const NEW_ATTEMPTS = `
  new_attempts as (
    insert into attempts (place, ${NEW_ATTEMPT.names})
    select $2::smallint, ${NEW_ATTEMPT.values}
      from jsonb_to_recordset($1::jsonb->'newAttempts') n (${NEW_ATTEMPT.typed}) join written w on w.id = n.payment_id
  )`
const CHANGED_ATTEMPTS = `
  changed_attempts as (
    -- Also releases the lease of a check.
    update attempts a
       set status = n.status, amount_received = n.amount_received, amount_returned = n.amount_returned, amount_refunded = n.amount_refunded,
           amount_reversed = n.amount_reversed, ids_are_providers = n.ids_are_providers, provider_reference = n.provider_reference, failure = n.failure, failed_try_id = n.failed_try_id,
           instructions = n.instructions, instructions_expire_at = n.instructions_expire_at, said_paid = n.said_paid,
           needs_review = n.needs_review, reviewed = n.reviewed, asked_at = n.asked_at, charged_at_once = n.charged_at_once, resolved_at = n.resolved_at,
           next_check_at = n.next_check_at, checks = n.checks, watched_since = n.watched_since, missing_in_a_row = n.missing_in_a_row,
           active_at = n.active_at, known_to_provider = n.known_to_provider, check_leased_until = '-infinity',
           page_key = coalesce(n.page_key, a.page_key),
           reconcile_at = case when n.amount_received > a.amount_received then n.reconcile_at else a.reconcile_at end,
           reconcile_until = case when n.amount_received > a.amount_received then n.reconcile_until else a.reconcile_until end
      from jsonb_to_recordset($1::jsonb->'changedAttempts')
           n (id uuid, payment_id uuid, status text, amount_received bigint, amount_returned bigint, amount_refunded bigint, amount_reversed bigint,
              ids_are_providers boolean,
              provider_reference text, failure jsonb, failed_try_id text, instructions jsonb, instructions_expire_at timestamptz, said_paid boolean,
              needs_review text, reviewed text, asked_at timestamptz, charged_at_once boolean, resolved_at timestamptz, next_check_at timestamptz,
              checks integer, watched_since timestamptz, missing_in_a_row integer, active_at timestamptz, known_to_provider boolean, page_key text,
              reconcile_at timestamptz, reconcile_until timestamptz) join written w on w.id = n.payment_id
     where a.place = $2 and a.id = any($4) and a.id = n.id
  )`
const RECEIPT =
  jsonColumns(`merchant_id uuid, mode text, provider text, account integer, transaction_id text, attempt_id uuid, payment_id uuid,
  amount bigint, currency text, counted boolean, returned bigint, taken_at timestamptz, recorded_at timestamptz`)
const RECEIPTS = `
  new_receipts as (
    insert into receipts (place, ${RECEIPT.names})
    select $2::smallint, ${RECEIPT.values}
      from jsonb_to_recordset($1::jsonb->'receipts') n (${RECEIPT.typed}) join written w on w.id = n.payment_id
  )`
/** Payments whose new money is on record under other keys of the merchant: a person may have returned it by hand. With one key: no search. */
const UNDER_OTHER_KEYS = `
  under_other_keys as materialized (
    select n.payment_id from jsonb_to_recordset($1::jsonb->'receipts')
           n (payment_id uuid, merchant_id uuid, mode text, provider text, account integer, transaction_id text)
     cross join lateral (select version from provider_accounts
        where merchant_id = n.merchant_id and mode = n.mode and provider = n.provider and version <> n.account offset 0) a -- by its index
     where (select true from receipts o
             where o.place = $2 and o.merchant_id = n.merchant_id and o.mode = n.mode and o.provider = n.provider
               and o.account = a.version and o.transaction_id = n.transaction_id limit 1)
  )`
const CALL = `payment_id uuid, attempt_id uuid, call text, outcome text, detail text, took_ms integer, at timestamptz`
const NEW_CALLS = `
  first_calls as (
    insert into provider_calls (place, attempt_id, call, outcome, detail, took_ms, at)
    select $2::smallint, n.attempt_id, n.call, n.outcome, n.detail, n.took_ms, n.at
      from jsonb_to_recordset($1::jsonb->'calls') n (${CALL}) join written w on w.id = n.payment_id
  )`
const CALLS = `
  new_calls as (
    select n.attempt_id, n.call, n.outcome, n.detail, n.took_ms, n.at,
           (select l.id from provider_calls l where l.place = $2 and l.attempt_id = n.attempt_id order by l.id desc limit 1) as last_id
      from jsonb_to_recordset($1::jsonb->'calls') n (${CALL}) join written w on w.id = n.payment_id
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
      from jsonb_to_recordset($1::jsonb->'startedBy')
           as n (payment_id uuid, merchant_id uuid, mode text, endpoint text, key text, began text) join written w on w.id = n.payment_id
     where c.place = $2 and c.merchant_id = n.merchant_id and c.mode = n.mode and c.endpoint = n.endpoint and c.key = n.key
  )`
const REMATCH = `
  rematched_notices as (
    update notices o set state = 'waiting', due_at = now(), note = null
      from jsonb_to_recordset($1::jsonb->'rematch')
           as n (payment_id uuid, merchant_id uuid, mode text, provider text, reference text) join written w on w.id = n.payment_id
     cross join lateral (select place, id, state from notices
        where place = $2 and state = 'unmatched' and merchant_id = n.merchant_id and mode = n.mode and provider = n.provider
          and reference = n.reference offset 0) f -- by its index
     where o.place = f.place and o.id = f.id and o.state = f.state
  )`
const NOTICES = `
  ended_notices as (
    update notices o set state = n.state, note = n.note, attempt_id = n.attempt_id, body = case when n.is_erased then '' else o.body end
      from jsonb_to_recordset($1::jsonb->'notices')
           as n (payment_id uuid, id bigint, state text, note text, attempt_id uuid, is_erased boolean) join written w on w.id = n.payment_id
     where o.place = $2 and o.id = any($5) and o.id = n.id
  )`

const CHANGED_PAYMENTS = `
    update payments p
       set status = n.status, late = n.late, amount_paid = n.amount_paid, amount_refunded = n.amount_refunded, completed_at = n.completed_at,
           sequence = n.sequence, version = n.version
      from jsonb_to_recordset($1::jsonb->'payments')
           n (id uuid, status text, late boolean, amount_paid bigint, amount_refunded bigint, completed_at timestamptz,
              sequence integer, version bigint)
     where p.place = $2 and p.id = any($3) and p.id = n.id and p.version = n.version - 1`
const NEW_PAYMENT =
  jsonColumns(`id uuid, merchant_id uuid, mode text, reference text, short_code text, amount bigint, currency text, country text,
  customer_bears_charge boolean, user_id text, user_email text, user_phone_number text, user_name text, redirect_url text, webhook_url text,
  metadata jsonb, link_id uuid, sequence integer, version bigint, created_at timestamptz, expires_at timestamptz`)
const NEW_PAYMENTS = `
    insert into payments (place, ${NEW_PAYMENT.names})
    select $2::smallint, ${NEW_PAYMENT.values}
      from jsonb_to_recordset($1::jsonb->'payments') n (${NEW_PAYMENT.typed})
     where n.id = any($3)`
/** Payments whose integration is the one that their new attempt was decided with. */
const UNCHANGED_INTEGRATIONS = `
  unchanged_integrations as materialized (
    select n.payment_id from jsonb_to_recordset($1::jsonb->'integrations')
           n (payment_id uuid, merchant_id uuid, mode text, provider text, version integer)
      join integrations i on i.merchant_id = n.merchant_id and i.mode = n.mode and i.provider = n.provider and i.version = n.version
     where i.enabled
  )`

/** The names of the parts that the statement of a write needs. Writes of the same shape can share a statement. */
function shapeOf(write: PaymentWrite): string {
  const { before, newAttempts, changedAttempts, receipts, events, call, startedBy, rematch, notice, integration } =
    write
  const names = [
    before ? 'changed' : 'new',
    integration && 'integration',
    receipts.length > 0 && 'receipts',
    newAttempts.length > 0 && 'newAttempts',
    changedAttempts.length > 0 && 'changedAttempts',
    call && (call.isNew ? 'newCall' : 'call'),
    startedBy && 'startedBy',
    rematch && 'rematch',
    notice && 'notice',
    events.length > 0 && 'events',
    isSent(write) && 'deliveries',
  ]
  return names.filter((name) => typeof name === 'string').join(' ')
}

/** By shape, and whether it is for one row. */
const texts = new Map<string, string>()

function textOf(shape: string, isForOne: boolean): string {
  const key = `${shape}, ${isForOne}`
  const text = texts.get(key) ?? buildText(new Set(shape.split(' ')), isForOne)
  texts.set(key, text)
  return text
}

function buildText(has: Set<string>, isForOne: boolean): string {
  const written = `
  written as (${has.has('changed') ? CHANGED_PAYMENTS : NEW_PAYMENTS}
       ${has.has('integration') ? 'and n.id in (select payment_id from unchanged_integrations)' : ''}
       ${has.has('receipts') ? 'and n.id not in (select payment_id from under_other_keys)' : ''}
    ${has.has('changed') ? 'returning p.id' : 'on conflict do nothing returning id'}
  )`
  const parts = [
    has.has('integration') && UNCHANGED_INTEGRATIONS,
    has.has('receipts') && UNDER_OTHER_KEYS,
    written,
    has.has('newAttempts') && NEW_ATTEMPTS,
    has.has('changedAttempts') && CHANGED_ATTEMPTS,
    has.has('receipts') && RECEIPTS,
    has.has('newCall') && NEW_CALLS,
    has.has('call') && CALLS,
    has.has('startedBy') && STARTED_BY,
    has.has('rematch') && REMATCH,
    has.has('notice') && NOTICES,
    has.has('events') && EVENTS,
    has.has('deliveries') && DELIVERIES,
  ]
  const all = parts.filter((part) => typeof part === 'string').join(', ')
  // The first part is never run. It names the types of parameters, which not every shape uses.
  return `
  with types as (select $1::jsonb, $2::smallint, $3::uuid[], $4::uuid[], $5::bigint[]),
  ${isForOne ? textForOne(all) : all}
  select id as payment_id from written`
}

/**
 * Each array has one id at most. Compared with that one, PostgreSQL uses the primary key. For `any(…)` it expects ten rows, and while the
 * table is small it reads all rows of the place instead. The rows of each part are compared with the one payment, too, which takes less
 * than a join.
 */
function textForOne(text: string): string {
  return text.replaceAll(/any\((\$\d)\)/g, '$1[1]').replaceAll('w.id = n.payment_id', 'n.payment_id = $3[1]')
}

const isSent = ({ events }: PaymentWrite) => events.some(({ type }) => isAnnounced(type))

/**
 * Writes a decision in one statement: the payment, its attempts, receipts, events and webhook deliveries, all or nothing. Returns false,
 * and writes nothing, when the payment has changed since `before` was read (optimistic concurrency control), when the integration has
 * changed, or when the reference or the money is on record already. The caller then reads and decides again, with a lock.
 */
export async function writePayment(db: Queries, write: PaymentWrite): Promise<boolean> {
  return (await writeInOne(db, shapeOf(write), write.after.place, [write]))[0] as boolean
}

/**
 * Group commit: decisions that are made while another one is being written share the next statement and its commit. Each caller gets its
 * own result after the commit. If the statement fails because of one of them, each is written alone.
 */
export function paymentWriter(db: Queries): (write: PaymentWrite) => Promise<boolean> {
  const batches = new Map<string, (write: PaymentWrite) => Promise<boolean>>()
  return (write) => {
    const shape = shapeOf(write)
    const add =
      batches.get(shape) ??
      batch({ ...GROUP_COMMIT, name: 'write decisions', write: (writes) => writeAll(db, shape, writes) })
    batches.set(shape, add)
    return add(write)
  }
}

async function writeAll(db: Queries, shape: string, writes: PaymentWrite[]): Promise<(boolean | Error)[]> {
  // Of two changes of one payment, the second was decided on an old state.
  const group = [...new Map(writes.toReversed().map((write) => [write.after.id, write])).values()]
  const placeOf = ({ after }: PaymentWrite) => after.place
  const results = await writeTogether(group, placeOf, (place, some) => writeUnlocked(db, shape, place, some))
  const resultOf = new Map(group.map((write, index) => [write, results[index] as boolean | Error]))
  return writes.map((write) => resultOf.get(write) ?? false)
}

/** If a payment stays locked for `lock_timeout`, the write of that one fails, and the others are written without it. */
async function writeUnlocked(
  db: Queries,
  shape: string,
  place: Place,
  writes: PaymentWrite[],
): Promise<(boolean | Error)[]> {
  try {
    return await writeInOne(db, shape, place, writes)
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
    const results = await writeInOne(db, shape, place, others)
    const resultOf = new Map(others.map((write, index) => [write, results[index] as boolean]))
    return writes.map((write) => resultOf.get(write) ?? (error as Error))
  }
}

/** Whether each array of ids has one id at most, so that `textForOne` applies. */
function isOneRow([write, ...others]: PaymentWrite[]): boolean {
  return others.length === 0 && (write?.changedAttempts.length ?? 0) <= 1
}

async function writeInOne(db: Queries, shape: string, place: Place, writes: PaymentWrite[]): Promise<boolean[]> {
  const ids = writes.map(({ after }) => uuidOf(after.id))
  const changed = writes.flatMap(({ changedAttempts }) => changedAttempts.map(({ id }) => uuidOf(id)))
  const notices = writes.flatMap(({ notice }) => (notice ? [notice.id] : []))
  const rows = await db.rows<{ payment_id: string }>(
    statementOf(textOf(shape, isOneRow(writes)), [docOf(writes), place, ids, changed, notices]),
  )
  const written = new Set(rows.map(({ payment_id }) => payment_id))
  const results = ids.map((id) => written.has(id))
  const events = writes.flatMap((write, index) => (results[index] ? write.events : []))
  if (events.some(({ type }) => isAnnounced(type))) db.notify(DELIVERIES_CHANNEL)
  for (const paymentId of new Set(events.map((event) => event.paymentId))) db.notify(PAYMENTS_CHANNEL, paymentId)
  return results
}
