import type { Queries, Writes } from '../../database/database.ts'
import { readTime } from '../../database/database-clock.ts'
import { Fixed, type Statement, sql } from '../../database/sql.ts'
import type { Channel } from '../../kernel/channel.ts'
import { type AttemptId, idOf, type PaymentId, placeOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import { ALL_PLACES, groupByPlace, type Place, rowsOfEachPlace } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Language } from '../../merchants/brand.ts'
import { dueTimes, type Postponed } from '../../outbound/call-limits.ts'
import type { Failure } from '../../providers/provider.ts'
import type { Attempt, AttemptStatus, Instructions, StoredInput } from '../state/attempt.ts'

/** With a prefix, so that one row can hold a payment and an attempt. */
export const ATTEMPT_COLUMNS = new Fixed(`
  a.place as a_place, a.id as a_id, a.payment_id as a_payment_id, a.merchant_id as a_merchant_id, a.mode as a_mode, a.number as a_number,
  a.reference as a_reference, a.provider as a_provider, a.account as a_account, a.channel as a_channel, a.input as a_input, a.status as a_status,
  a.currency as a_currency, a.amount_charged as a_amount_charged, a.fee as a_fee, a.fee_charged as a_fee_charged, a.amount_received as a_amount_received,
  a.amount_returned as a_amount_returned, a.amount_refunded as a_amount_refunded, a.amount_reversed as a_amount_reversed,
  a.ids_are_providers as a_ids_are_providers, a.order_reference as a_order_reference, a.provider_reference as a_provider_reference, a.save_card as a_save_card,
  a.charged_at_once as a_charged_at_once, a.failure as a_failure, a.failed_try_id as a_failed_try_id, a.instructions as a_instructions,
  a.instructions_expire_at as a_instructions_expire_at, a.said_paid as a_said_paid,
  a.created_at as a_created_at, a.asked_at as a_asked_at, a.resolved_at as a_resolved_at, a.answered_at as a_answered_at, a.next_check_at as a_next_check_at,
  a.checks as a_checks, a.watched_since as a_watched_since, a.missing_in_a_row as a_missing_in_a_row, a.active_at as a_active_at,
  a.known_to_provider as a_known_to_provider, a.page_key as a_page_key, a.language as a_language, a.by_reference as a_by_reference`)

export interface AttemptRow {
  a_place: number
  a_id: string
  a_payment_id: string
  a_merchant_id: string
  a_mode: Mode
  a_number: number
  a_reference: string
  a_provider: string
  a_account: number
  a_channel: Channel
  a_input: StoredInput | null
  a_status: AttemptStatus
  a_currency: string
  a_amount_charged: number
  a_fee: number
  a_fee_charged: number | null
  a_amount_received: number
  a_amount_returned: number
  a_amount_refunded: number
  a_amount_reversed: number
  a_ids_are_providers: boolean
  a_order_reference: string
  a_provider_reference: string
  a_save_card: boolean
  a_charged_at_once: boolean
  a_failure: Failure | null
  a_failed_try_id: string | null
  a_instructions: Instructions | null
  a_instructions_expire_at: Date | null
  a_said_paid: boolean
  a_created_at: Date
  a_asked_at: Date | null
  a_resolved_at: Date | null
  a_answered_at: Date | null
  a_next_check_at: Date | null
  a_checks: number
  a_watched_since: Date
  a_missing_in_a_row: number
  a_active_at: Date | null
  a_known_to_provider: boolean
  a_page_key: string | null
  a_language: Language | null
  a_by_reference: boolean
}

export function attemptOf(row: AttemptRow): Attempt {
  return {
    id: idOf('attempt', row.a_id, row.a_place),
    place: row.a_place,
    paymentId: idOf('payment', row.a_payment_id, row.a_place),
    merchantId: idOf('merchant', row.a_merchant_id),
    mode: row.a_mode,
    number: row.a_number,
    reference: row.a_reference,
    provider: row.a_provider,
    keysVersion: row.a_account,
    channel: row.a_channel,
    input: row.a_input,
    status: row.a_status,
    currency: row.a_currency as Currency,
    amountCharged: row.a_amount_charged,
    fee: row.a_fee,
    feeCharged: row.a_fee_charged,
    amountReceived: row.a_amount_received,
    amountReturned: row.a_amount_returned,
    amountRefunded: row.a_amount_refunded,
    amountReversed: row.a_amount_reversed,
    idsAreProviders: row.a_ids_are_providers,
    orderReference: row.a_order_reference,
    providerReference: row.a_provider_reference,
    saveCard: row.a_save_card,
    chargedAtOnce: row.a_charged_at_once,
    knownToProvider: row.a_known_to_provider,
    pageKey: row.a_page_key,
    language: row.a_language,
    byReference: row.a_by_reference,
    failure: row.a_failure,
    failedTryId: row.a_failed_try_id,
    instructions: row.a_instructions,
    instructionsExpireAt: row.a_instructions_expire_at,
    // Older column names: said_paid, watched_since (checks.since) and active_at (checks.lastActivityAt).
    noticeSaidPaid: row.a_said_paid,
    createdAt: row.a_created_at,
    askedAt: row.a_asked_at ?? row.a_created_at,
    resolvedAt: row.a_resolved_at,
    answeredAt: row.a_answered_at,
    checks: {
      since: row.a_watched_since,
      count: row.a_checks,
      missingInARow: row.a_missing_in_a_row,
      lastActivityAt: row.a_active_at,
      nextAt: row.a_next_check_at,
    },
  }
}

export async function findAttempt(db: Queries, id: AttemptId): Promise<Attempt | undefined> {
  const row = await db.row<AttemptRow>(
    sql`select ${ATTEMPT_COLUMNS} from attempts a where place = ${placeOf(id)} and id = ${uuidOf(id)}`,
  )
  return row && attemptOf(row)
}

/** The rest of the row has its defaults until the provider has answered. */
export function insertAttempt(tx: Writes, attempt: Attempt): void {
  tx.write(sql`
    insert into attempts (place, id, payment_id, merchant_id, mode, number, reference, provider, account, channel, input, status, currency,
                          amount_charged, fee, order_reference, provider_reference, save_card, charged_at_once, page_key, language, by_reference,
                          created_at, watched_since, next_check_at)
    values (${attempt.place}, ${uuidOf(attempt.id)}, ${uuidOf(attempt.paymentId)}, ${uuidOf(attempt.merchantId)}, ${attempt.mode},
            ${attempt.number}, ${attempt.reference}, ${attempt.provider}, ${attempt.keysVersion}, ${attempt.channel}, ${attempt.input}, ${attempt.status},
            ${attempt.currency}, ${attempt.amountCharged}, ${attempt.fee}, ${attempt.orderReference}, ${attempt.providerReference},
            ${attempt.saveCard}, ${attempt.chargedAtOnce}, ${attempt.pageKey}, ${attempt.language}, ${attempt.byReference}, ${attempt.createdAt},
            ${attempt.checks.since}, ${attempt.checks.nextAt})`)
}

/** Also releases the lease of a check. */
export function updateAttempt(tx: Writes, attempt: Attempt): void {
  const { checks } = attempt
  tx.write(sql`
    update attempts
       set status = ${attempt.status}, fee_charged = ${attempt.feeCharged}, amount_received = ${attempt.amountReceived}, amount_returned = ${attempt.amountReturned},
           amount_refunded = ${attempt.amountRefunded}, amount_reversed = ${attempt.amountReversed},
           ids_are_providers = ${attempt.idsAreProviders}, provider_reference = ${attempt.providerReference}, known_to_provider = ${attempt.knownToProvider},
           charged_at_once = ${attempt.chargedAtOnce}, page_key = ${attempt.pageKey}, failure = ${attempt.failure},
           failed_try_id = ${attempt.failedTryId}, instructions = ${attempt.instructions},
           instructions_expire_at = ${attempt.instructionsExpireAt}, said_paid = ${attempt.noticeSaidPaid},
           asked_at = ${attempt.askedAt},
           resolved_at = ${attempt.resolvedAt}, answered_at = ${attempt.answeredAt}, next_check_at = ${checks.nextAt}, checks = ${checks.count}, watched_since = ${checks.since},
           missing_in_a_row = ${checks.missingInARow}, active_at = ${checks.lastActivityAt}, check_leased_until = '-infinity'
     where place = ${attempt.place} and id = ${uuidOf(attempt.id)}`)
}

/**
 * Claims attempts whose check is due, with a lease of one minute. They are found without a lock, over all places. Then
 * an update of each place takes those that are still due, so that of two processes one gets the attempt. Both use the
 * same time of the database. `is true` uses no index: with few due at the last analyze, PostgreSQL would read every due
 * attempt to find those of this claim.
 */
export async function claimDueChecks(db: Queries, limit: number): Promise<DueCheck[]> {
  const due = await db.rows<{ place: Place; id: string; now: string }>(sql`
    select place, id, now()::text as now from attempts
     where next_check_at <= now() and check_leased_until < now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by next_check_at limit ${limit}`)
  const now = due[0]?.now
  const rows = await rowsOfEachPlace(due, (place, group) =>
    db.rows<AttemptRow & { resync_at: Date | null }>(sql`
      update attempts a set check_leased_until = ${now}::timestamptz + interval '1 minute'
       where a.place = ${place} and a.id = any(${group.map(({ id }) => id)}::uuid[])
         and (a.next_check_at <= ${now}::timestamptz) is true and a.check_leased_until < ${now}::timestamptz
      returning ${ATTEMPT_COLUMNS}, a.resync_at`),
  )
  return rows.map((row) => ({ ...attemptOf(row), resyncAt: row.resync_at }))
}

/** `resyncAt`: when a person asked for it. */
export type DueCheck = Attempt & { resyncAt: Date | null }

/** SQL of `isUnasked`. */
export const UNASKED = new Fixed(
  "(instructions->>'kind' is not distinct from 'confirm' and status <> 'processing' and not said_paid)",
)

/**
 * Makes the checks of a payment's attempts due now. The worker makes them. Attempts that await confirmation have no
 * provider order.
 */
export async function makeChecksDue(db: Queries, id: PaymentId): Promise<number> {
  const now = await readTime(db)
  const rows = await db.rows(sql`
    update attempts set next_check_at = ${now}::timestamptz, check_leased_until = '-infinity'
     where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} and not ${UNASKED} returning id`)
  return rows.length
}

/** The same for a person, who wants to know of refunds and disputes, too. */
export async function askForPerson(db: Queries, id: PaymentId): Promise<number> {
  const now = await readTime(db)
  await db.rows(sql`
    update attempts set resync_at = ${now}::timestamptz
     where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} and not ${UNASKED}`)
  return makeChecksDue(db, id)
}

/** What a person asked for was done. One who has asked again meanwhile still waits. */
export async function endResync(db: Queries, { place, id }: Attempt, resyncAt: Date): Promise<void> {
  await db.rows(sql`
    update attempts set resync_at = null
     where place = ${place} and id = ${uuidOf(id)} and date_trunc('milliseconds', resync_at) = ${resyncAt}`)
}

/**
 * The merchant set other keys: attempts that wait for a clear answer are asked about in a minute, when every process
 * has read the keys.
 */
export async function askUnansweredSoon(
  db: Queries,
  { place, merchantId, mode }: Scope,
  provider: string,
): Promise<void> {
  const now = await readTime(db)
  await db.rows(sql`
    update attempts set next_check_at = ${now}::timestamptz + interval '1 minute'
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and next_check_at > ${now}::timestamptz + interval '1 minute'
       and (status = 'processing' or answered_at is null or answered_at < instructions_expire_at)
       and (status = 'processing' or coalesce(instructions_expire_at, watched_since) <= now()) and not ${UNASKED}`)
}

/**
 * Rate limit for checks on a customer's return: one in 3 seconds per payment, over all processes. When it is exceeded,
 * a scheduled check becomes due after the 3 seconds.
 */
export async function claimProviderCheck(db: Queries, { id, place, paymentId }: Attempt, now: Date): Promise<boolean> {
  const claimed = await db.row(sql`
    update payments set provider_asked_at = ${now}
     where place = ${place} and id = ${uuidOf(paymentId)}
       and (provider_asked_at is null or provider_asked_at <= now() - interval '3 seconds') returning id`)
  if (claimed) return true
  await db.rows(sql`
    update attempts a set next_check_at = least(a.next_check_at, p.provider_asked_at + interval '3 seconds') from payments p
     where a.place = ${place} and a.id = ${uuidOf(id)} and p.place = ${place} and p.id = a.payment_id and a.next_check_at is not null`)
  return false
}

/** `isDue`: a check of the payment is due and not made yet. `isAsked`: a person asked, and not all was done. */
export async function openChecks(db: Queries, id: PaymentId): Promise<{ isDue: boolean; isAsked: boolean }> {
  const row = await db.row<{ isDue: boolean; isAsked: boolean }>(sql`
    select coalesce(bool_or(next_check_at <= now()), false) as "isDue", coalesce(bool_or(resync_at is not null), false) as "isAsked"
      from attempts where place = ${placeOf(id)} and payment_id = ${uuidOf(id)}`)
  return row ?? { isDue: false, isAsked: false }
}

/** Shortens the lease after a failed check, so that it is retried in 5 seconds. */
export async function releaseCheck(db: Queries, id: AttemptId, now: Date): Promise<void> {
  await db.rows(sql`
    update attempts set check_leased_until = ${now}::timestamptz + interval '5 seconds' where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/**
 * Postpones checks that exceed the rate limit of their integration, and releases their leases. An attempt that has
 * changed since it was claimed stays as it is. `is true` uses no index either, see claimDueChecks.
 */
export async function postponeChecks(db: Queries, late: Postponed<Attempt>[], now: Date): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => item.place)) {
    await db.rows(sql`
      update attempts a set next_check_at = l.due_at, check_leased_until = '-infinity'
        from unnest(${group.map(({ item }) => uuidOf(item.id))}::uuid[], ${dueTimes(group, now)}::timestamptz[]) as l (id, due_at)
       where a.place = ${place} and a.id = l.id and (a.next_check_at <= now()) is true and a.check_leased_until > now()`)
  }
}

/** A call to a provider, for the timeline. */
export interface CallRecord {
  attemptId: AttemptId
  call: string
  outcome: string
  detail: string | null
  tookMs: number
  /** When it ended. */
  at: Date
}

/**
 * A repeated call with the same outcome increases a counter. The calls of the attempt are read first, and then sorted:
 * PostgreSQL would otherwise read the table by id, newest first, until it has met one of this attempt (7 ms for each
 * payment of a fresh database, measured). The last one is compared by its id, not joined: for a young table the plan of
 * a join read all ids (2 ms, measured).
 */
export function callRecorded({ attemptId, call, outcome, detail, at, ...rest }: CallRecord): Statement {
  const [place, tookMs] = [placeOf(attemptId), Math.round(rest.tookMs)]
  return sql`
    with calls as materialized (
      select id from provider_calls where place = ${place} and attempt_id = ${uuidOf(attemptId)}
    ), again as (
      update provider_calls set times = times + 1, at = ${at}, took_ms = ${tookMs}
       where place = ${place} and id = (select id from calls order by id desc limit 1)
         and call = ${call} and outcome = ${outcome} and detail is not distinct from ${detail}
      returning id
    )
    insert into provider_calls (place, attempt_id, call, outcome, detail, took_ms, at)
    select ${place}::smallint, ${uuidOf(attemptId)}::uuid, ${call}, ${outcome}, ${detail}, ${tookMs}::integer, ${at}::timestamptz
     where not exists (select from again)`
}
