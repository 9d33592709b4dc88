import { randomUUID } from 'node:crypto'
import type { Queries, Writes } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, LAST_UUID, type PaymentId, placeOf, type RefundId, uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES, groupByPlace, type Place, rowsOfEachPlace } from '../../kernel/place.ts'
import type { Owner, Scope } from '../../kernel/scope.ts'
import { dueTimes, type Postponed } from '../../outbound/call-limits.ts'
import type { ListedRefund } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { PaymentState } from '../state/payment-state.ts'
import { isWaitingForAccount, type Refund, type RefundKind } from '../state/refund.ts'

const OWN_COLUMNS = `r.place, r.id, r.payment_id, r.attempt_id, r.amount, r.currency, r.kind, r.counted, r.status, r.reason, r.failure,
  r.provider_refund_id, r.transaction_ids, r.asked_at, r.tries, r.account_needed, r.created_at, r.account_taken_at, r.resolved_at,
  r.account_taken_at is not null or r.sealed_account is not null as has_account`
/** The place is the first parameter of the statement. */
const COLUMNS = new Fixed(`${OWN_COLUMNS}, (
  select c.summary from cases c
   where c.place = $1 and c.payment_id = r.payment_id and c.subject_kind = 'refund' and c.subject = r.id::text
     and c.reason = 'unanswered' and r.status = 'pending' and (c.closed_at is null or c.closed_by <> 'books')
   order by c.id desc limit 1) as unanswered`)
/** Of a claimed refund, which is read again before it changes. */
const CLAIMED_COLUMNS = new Fixed(`${OWN_COLUMNS}, null as unanswered`)

interface RefundRow {
  place: number
  id: string
  payment_id: string
  attempt_id: string
  amount: number
  currency: string
  kind: RefundKind
  counted: boolean
  status: Refund['status']
  reason: string | null
  failure: string | null
  provider_refund_id: string | null
  transaction_ids: string[]
  asked_at: Date | null
  tries: number
  account_needed: string | null
  unanswered: string | null
  created_at: Date
  has_account: boolean
  account_taken_at: Date | null
  resolved_at: Date | null
}

function refundOf(row: RefundRow): Refund {
  const { place } = row
  return {
    id: idOf('refund', row.id, place),
    paymentId: idOf('payment', row.payment_id, place),
    attemptId: idOf('attempt', row.attempt_id, place),
    amount: row.amount,
    currency: row.currency,
    kind: row.kind,
    counted: row.counted,
    status: row.status,
    reason: row.reason,
    failure: row.failure,
    providerRefundId: row.provider_refund_id,
    transactionIds: row.transaction_ids,
    askedAt: row.asked_at,
    tries: row.tries,
    needsReview: row.account_needed ?? row.unanswered,
    createdAt: row.created_at,
    hasAccount: row.has_account,
    accountTakenAt: row.account_taken_at,
    resolvedAt: row.resolved_at,
  }
}

interface With {
  callReference?: string | null | undefined
  lease?: RefundLease | null
  /** Absent: at once. */
  dueAt?: Date
  sealedAccount?: Buffer | null | undefined
}

/**
 * The refund is written before the provider is called. `lease`: this process calls it now; after a crash the worker
 * does, with the same reference.
 */
export function insertRefund(
  tx: Writes,
  { merchantId, mode }: Owner,
  refund: Refund,
  { callReference = null, lease = null, dueAt = refund.createdAt, sealedAccount = null }: With = {},
): void {
  const isPending = refund.status === 'pending'
  const leasedUntil = lease ? new Date(refund.createdAt.getTime() + REFUND_LEASE_MS) : '-infinity'
  tx.write(sql`
    insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status, reason,
                         transaction_ids, provider_refund_id, call_reference, sealed_account, due_at, lease, leased_until, created_at, resolved_at)
    values (${placeOf(refund.id)}, ${uuidOf(refund.id)}, ${uuidOf(refund.paymentId)}, ${uuidOf(refund.attemptId)}, ${uuidOf(merchantId)},
            ${mode}, ${refund.amount}, ${refund.currency}, ${refund.kind}, ${refund.counted}, ${refund.status}, ${refund.reason},
            ${refund.transactionIds}, ${refund.providerRefundId}, ${callReference}, ${sealedAccount}, ${isPending ? dueAt : null},
            ${lease?.token ?? null}, ${leasedUntil}, ${refund.createdAt}, ${refund.resolvedAt})`)
}

export async function refundsOf(db: Queries, id: PaymentId): Promise<Refund[]> {
  const rows = await db.rows<RefundRow>(sql`
    select ${COLUMNS} from refunds r where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} order by created_at, id`)
  return rows.map(refundOf)
}

/**
 * The provider's ids of listed refunds that are on record for another attempt of the merchant: those that we asked for,
 * by our reference, and those made at the provider, of money that a person matched.
 */
export async function refundsOfOthers(
  db: Queries,
  { place, id, merchantId, mode, provider }: Attempt,
  listed: ListedRefund[],
): Promise<Set<string>> {
  const asked = listed.filter(({ reference }) => /^[0-9a-f]{32}$/.test(reference ?? ''))
  const rows = await db.rows<{ id: string; provider_refund_id: string | null; amount: number; currency: string }>(sql`
    select r.id, null as provider_refund_id, r.amount, r.currency from refunds r
     where r.place = ${place} and r.id = any(${asked.map(({ reference }) => reference)}::uuid[])
       and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.attempt_id <> ${uuidOf(id)}
    union all
    select r.id, r.provider_refund_id, r.amount, r.currency from refunds r join attempts a on a.place = ${place} and a.id = r.attempt_id
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode}
       and r.provider_refund_id = any(${listed.map(({ refundId }) => refundId)})
       and r.attempt_id <> ${uuidOf(id)} and r.kind <> 'chargeback' and a.provider = ${provider}
       and exists (select from receipts m join reviews v on v.place = ${place} and v.receipt_id = m.id and v.act = 'matched'
                    where m.place = ${place} and m.attempt_id = r.attempt_id)`)
  const isOnRecord = ({ refundId, reference, amount }: ListedRefund) =>
    rows.some((row) =>
      row.provider_refund_id === null
        ? row.id.replaceAll('-', '') === reference
        : row.provider_refund_id === refundId && row.amount === amount.amount && row.currency === amount.currency,
    )
  return new Set(listed.filter(isOnRecord).map(({ refundId }) => refundId))
}

/** The refunds on record that a provider lists, by its id or by our reference, of all attempts with that provider. */
export async function findListedRefunds(
  db: Queries,
  { place, merchantId, mode, provider }: Scope & { provider: string },
  listed: Pick<ListedRefund, 'refundId' | 'reference'>[],
): Promise<Refund[]> {
  const asked = listed.filter(({ reference }) => /^[0-9a-f]{32}$/.test(reference ?? ''))
  const rows = await db.rows<RefundRow>(sql`
    select ${COLUMNS} from refunds r
     where r.place = ${place} and r.id = any(${asked.map(({ reference }) => reference)}::uuid[])
       and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode}
    union all
    select ${COLUMNS} from refunds r join attempts a on a.place = ${place} and a.id = r.attempt_id
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode}
       and r.provider_refund_id = any(${listed.map(({ refundId }) => refundId)}) and r.kind <> 'chargeback' and a.provider = ${provider}`)
  return rows.map(refundOf)
}

export async function findRefund(db: Queries, scope: Scope, id: RefundId): Promise<Refund | undefined> {
  const row = await db.row<RefundRow>(sql`
    select ${COLUMNS} from refunds r
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}`)
  return row && refundOf(row)
}

/** The refunds of several payments, by payment. */
export async function refundsOfAll(db: Queries, states: PaymentState[]): Promise<Map<PaymentId, Refund[]>> {
  // Payments without received money have no refunds.
  const refunds: Refund[] = []
  for (const [place, group] of groupByPlace(states.filter(hasMoney), ({ payment }) => payment.place)) {
    const rows = await db.rows<RefundRow>(sql`
      select ${COLUMNS} from refunds r
       where place = ${place} and payment_id = any(${group.map(({ payment }) => uuidOf(payment.id))}::uuid[]) order by created_at, id`)
    refunds.push(...rows.map(refundOf))
  }
  return Map.groupBy(refunds, ({ paymentId }) => paymentId)
}

const hasMoney = ({ attempts }: PaymentState) => attempts.some(({ amountReceived }) => amountReceived > 0)

/** The refund that an earlier run of the same idempotent call created. */
export async function findRefundOfCall(db: Queries, id: PaymentId, callReference: string): Promise<Refund | undefined> {
  const row = await db.row<RefundRow>(sql`
    select ${COLUMNS} from refunds r where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} and call_reference = ${callReference}`)
  return row && refundOf(row)
}

/** The refunds of an attempt whose money stops counting towards the payment stop counting, too. */
export function uncountRefunds(tx: Writes, attemptId: AttemptId): void {
  tx.write(sql`
    update refunds set counted = false where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} and counted`)
}

/** What other processes change of a refund without the payment's lock. They cannot until the end of the transaction. */
export async function lockRefund(
  tx: Queries,
  id: RefundId,
): Promise<{ lease: string | null; sealedAccount: Buffer | null } | undefined> {
  return tx.row(sql`
    select lease, sealed_account as "sealedAccount" from refunds
     where place = ${placeOf(id)} and id = ${uuidOf(id)} for no key update`)
}

/** Saves a final status, releases the lease, and forgets the customer's bank account. */
export function saveResolved(tx: Writes, refund: Refund): void {
  const takenAt = refund.accountTakenAt ?? (refund.hasAccount ? refund.resolvedAt : null) // `hasAccount` stays true
  tx.write(sql`
    update refunds set status = ${refund.status}, failure = ${refund.failure}, provider_refund_id = ${refund.providerRefundId},
           amount = ${refund.amount}, counted = ${refund.counted}, account_needed = null, due_at = null, leased_until = '-infinity',
           resolved_at = ${refund.resolvedAt}, sealed_account = null,
           account_taken_at = ${takenAt}
     where place = ${placeOf(refund.id)} and id = ${uuidOf(refund.id)}`)
}

/** Schedules the retry of a refund without a final answer. The caller has locked it, and it is pending. */
export function saveUnanswered(tx: Writes, refund: Refund, dueAt: Date): void {
  tx.write(sql`
    update refunds set provider_refund_id = ${refund.providerRefundId}, asked_at = ${refund.askedAt}, tries = ${refund.tries},
           account_needed = ${isWaitingForAccount(refund) ? refund.needsReview : null},
           account_taken_at = ${refund.accountTakenAt}, due_at = ${dueAt}, leased_until = '-infinity'
     where place = ${placeOf(refund.id)} and id = ${uuidOf(refund.id)}`)
}

/** The provider is asked for the pending refunds of an attempt now: a notice says that one has changed. */
export async function refundsDueNow(
  db: Queries,
  { id, place }: Pick<Attempt, 'id' | 'place'>,
  now: Date,
): Promise<void> {
  await db.rows(sql`
    update refunds set due_at = ${now}
     where place = ${place} and attempt_id = ${uuidOf(id)} and status = 'pending' and due_at > ${now}::timestamptz`)
}

/** True once for each refund. The process that holds the lease asks the provider next. */
export async function markAsked(db: Queries, id: RefundId, { token }: RefundLease, now: Date): Promise<boolean> {
  const row = await db.row(sql`
    update refunds set asked_at = ${now}
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending' and lease = ${token} and asked_at is null
    returning id`)
  return row !== undefined
}

export function saveProviderRefundId(tx: Writes, id: RefundId, providerRefundId: string): void {
  tx.write(sql`
    update refunds set provider_refund_id = ${providerRefundId} where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/** Reduces a row that stands for several refunds. The caller inserts a row for the part. */
export function reduceRefund(tx: Writes, id: RefundId, amount: number): void {
  tx.write(sql`update refunds set amount = ${amount} where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/** A lease: the exclusive right to send one refund to the provider. */
export interface RefundLease {
  token: string
  /**
   * On this process's monotonic clock, read before the statement, so that it never ends after the lease in the
   * database.
   */
  heldUntilMs: number
}

export const REFUND_LEASE_MS = 60_000
/** A lease whose end in the database this process sets ends earlier here, because the clocks may differ. */
const CLOCKS_MAY_DIFFER_MS = 10_000
const leaseEnd = () => performance.now() + REFUND_LEASE_MS
const leasedUntil = (now: Date) => new Date(now.getTime() + REFUND_LEASE_MS)

export const newRefundLease = (): RefundLease => ({
  token: randomUUID(),
  heldUntilMs: leaseEnd() - CLOCKS_MAY_DIFFER_MS,
})

export interface ClaimedRefund {
  refund: Refund
  lease: RefundLease
  /** The integration whose rate limit applies. */
  integration: string
}

/** Claims due refunds, each with a lease. Found without a lock, as in claimDueChecks. */
export async function claimDueRefunds(db: Queries, limit: number): Promise<ClaimedRefund[]> {
  const lease = { token: randomUUID(), heldUntilMs: leaseEnd() }
  const { first, last } = ALL_PLACES
  const due = await db.rows<{ place: Place; id: string; integration: string; now: string }>(sql`
    select d.place, d.id, now()::text as now, concat_ws(' ', d.merchant_id, d.mode, (
             select a.provider from attempts a
              where a.place = d.place and a.place between ${first} and ${last} and a.id = d.attempt_id)) as integration
      from refunds d
     where d.status = 'pending' and d.due_at <= now() and d.leased_until <= now() and d.place between ${first} and ${last}
     order by d.due_at limit ${limit}`)
  const now = due[0]?.now
  const rows = await rowsOfEachPlace(due, (place, group) =>
    db.rows<RefundRow>(sql`
      update refunds r set lease = ${lease.token}, leased_until = ${now}::timestamptz + make_interval(secs => ${REFUND_LEASE_MS / 1_000})
       where r.place = ${place} and r.id = any(${group.map(({ id }) => id)}::uuid[]) and (r.status = 'pending') is true
         and (r.due_at <= ${now}::timestamptz) is true and r.leased_until <= ${now}::timestamptz
      returning ${CLAIMED_COLUMNS}`),
  )
  const integrations = new Map(due.map(({ id, integration }) => [id, integration]))
  return rows.map((row) => ({ refund: refundOf(row), lease, integration: integrations.get(row.id) ?? '' }))
}

/**
 * Postpones refunds that exceed the rate limit of their integration, and releases their leases. One that has ended has
 * no `due_at`.
 */
export async function postponeRefunds(db: Queries, late: Postponed<ClaimedRefund>[], now: Date): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => placeOf(item.refund.id))) {
    const ids = group.map(({ item }) => uuidOf(item.refund.id))
    const leases = group.map(({ item }) => item.lease.token)
    await db.rows(sql`
      update refunds r set due_at = l.due_at, leased_until = ${now}
        from unnest(${ids}::uuid[], ${leases}::uuid[], ${dueTimes(group, now)}::timestamptz[]) as l (id, lease, due_at)
       where r.place = ${place} and r.id = any(${ids}::uuid[]) and r.id = l.id and r.lease = l.lease and r.due_at is not null`)
  }
}

/** Undefined if another process holds the lease, or the refund has ended. */
export async function leaseRefund(db: Queries, id: RefundId, now: Date): Promise<RefundLease | undefined> {
  const lease = newRefundLease()
  const row = await db.row(sql`
    update refunds set lease = ${lease.token}, leased_until = ${leasedUntil(now)}
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending' and leased_until <= now()
    returning id`)
  return row === undefined ? undefined : lease
}

/** Undefined if the lease expired or was lost. It must not be used any more. */
export async function renewRefundLease(
  db: Queries,
  id: RefundId,
  { token }: RefundLease,
  now: Date,
): Promise<RefundLease | undefined> {
  const { heldUntilMs } = newRefundLease()
  const row = await db.row(sql`
    update refunds set leased_until = ${leasedUntil(now)}
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending' and lease = ${token} and leased_until > now()
    returning id`)
  return row === undefined ? undefined : { token, heldUntilMs }
}

/** A refund with what a list of refunds shows of its payment. */
export type RefundOfPayment = Refund & { paymentReference: string; email: string; provider: string }

/**
 * Newest first. One statement per index. The page is limited before the joins, which PostgreSQL would make with all
 * refunds.
 */
export async function listRefunds(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { status, before, limit }: { status: Refund['status'] | undefined; before: RefundId | undefined; limit: number },
): Promise<RefundOfPayment[]> {
  const [merchant, below] = [uuidOf(merchantId), before ? uuidOf(before) : LAST_UUID]
  const rows = await db.rows<RefundRow & { reference: string; user_email: string; provider: string }>(
    status
      ? sql`
          select ${COLUMNS}, p.reference, p.user_email, a.provider from (
            select * from refunds
             where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and status = ${status} and id < ${below}::uuid
             order by id desc limit ${limit}) r
            join payments p on p.place = ${place} and p.id = r.payment_id
            join attempts a on a.place = ${place} and a.id = r.attempt_id
           order by r.id desc`
      : sql`
          select ${COLUMNS}, p.reference, p.user_email, a.provider from (
            select * from refunds
             where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and id < ${below}::uuid
             order by id desc limit ${limit}) r
            join payments p on p.place = ${place} and p.id = r.payment_id
            join attempts a on a.place = ${place} and a.id = r.attempt_id
           order by r.id desc`,
  )
  return rows.map((row) => ({
    ...refundOf(row),
    paymentReference: row.reference,
    email: row.user_email,
    provider: row.provider,
  }))
}
