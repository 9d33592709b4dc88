import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, LAST_UUID, type PaymentId, placeOf, type RefundId, uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES, groupByPlace } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { Postponed } from '../../outbound/account-limits.ts'
import type { BankAccount, ListedRefund } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { PaymentState } from '../state/payment-state.ts'
import type { Refund, RefundKind } from '../state/refund.ts'

const COLUMNS =
  new Fixed(`r.place, r.id, r.payment_id, r.attempt_id, r.amount, r.currency, r.kind, r.counted, r.status, r.reason, r.failure,
  r.provider_refund_id, r.transaction_ids, r.tries, r.needs_review, r.created_at, r.resolved_at`)

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
  tries: number
  needs_review: string | null
  created_at: Date
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
    tries: row.tries,
    needsReview: row.needs_review,
    createdAt: row.created_at,
    resolvedAt: row.resolved_at,
  }
}

export interface NewRefund {
  id: RefundId
  state: PaymentState
  attemptId: AttemptId
  amount: number
  kind: RefundKind
  counted: boolean
  reason: string | null
  transactionIds: string[]
  callReference?: string | undefined
  sealedAccount?: Buffer | undefined
  /** Set for a refund that was made at the provider. It is complete. */
  providerRefundId?: string
  /** Made at the provider before we first saw the transaction, with an unknown refund id. */
  isDone?: true
}

/** Written before the provider is called, and due at once: after a crash the worker sends it with the same reference. */
export async function insertRefund(tx: Transaction, refund: NewRefund): Promise<Refund | undefined> {
  const { payment } = refund.state
  const done = refund.isDone ?? refund.providerRefundId !== undefined
  // 'now' is the time of the transaction for PostgreSQL.
  const row = await tx.row<RefundRow>(sql`
    insert into refunds as r (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status, reason,
                              transaction_ids, provider_refund_id, call_reference, sealed_account, due_at, resolved_at)
    values (${payment.place}, ${uuidOf(refund.id)}, ${uuidOf(payment.id)}, ${uuidOf(refund.attemptId)}, ${uuidOf(payment.merchantId)},
            ${payment.mode}, ${refund.amount}, ${payment.currency}, ${refund.kind}, ${refund.counted}, ${done ? 'successful' : 'pending'},
            ${refund.reason}, ${refund.transactionIds}, ${refund.providerRefundId ?? null}, ${refund.callReference ?? null},
            ${refund.sealedAccount ?? null}, ${done ? null : 'now'}::timestamptz, ${done ? 'now' : null}::timestamptz)
    on conflict do nothing
    returning ${COLUMNS}`)
  return row && refundOf(row)
}

export async function refundsOf(db: Queries, id: PaymentId): Promise<Refund[]> {
  const rows = await db.rows<RefundRow>(sql`
    select ${COLUMNS} from refunds r where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} order by created_at, id`)
  return rows.map(refundOf)
}

/**
 * The provider's ids of listed refunds that are on record for another attempt of the merchant: those that we asked for, by our reference, and
 * those made at the provider, of money that a person matched.
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
    select r.id, r.provider_refund_id, r.amount, r.currency from refunds r join attempts a on a.place = r.place and a.id = r.attempt_id
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode}
       and r.provider_refund_id = any(${listed.map(({ refundId }) => refundId)})
       and r.attempt_id <> ${uuidOf(id)} and r.kind <> 'chargeback' and a.provider = ${provider}
       and exists (select from receipts m join reviews v on v.place = m.place and v.receipt_id = m.id and v.act = 'matched'
                    where m.place = r.place and m.attempt_id = r.attempt_id)`)
  const isOnRecord = ({ refundId, reference, amount }: ListedRefund) =>
    rows.some((row) =>
      row.provider_refund_id === null
        ? row.id.replaceAll('-', '') === reference
        : row.provider_refund_id === refundId && row.amount === amount.amount && row.currency === amount.currency,
    )
  return new Set(listed.filter(isOnRecord).map(({ refundId }) => refundId))
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
export async function uncountRefunds(tx: Transaction, attemptId: AttemptId): Promise<void> {
  await tx.rows(sql`
    update refunds set counted = false where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} and counted`)
}

export async function lockRefund(tx: Transaction, id: RefundId): Promise<Refund | undefined> {
  const row = await tx.row<RefundRow>(
    sql`select ${COLUMNS} from refunds r where place = ${placeOf(id)} and id = ${uuidOf(id)} for update`,
  )
  return row && refundOf(row)
}

/** Saves a final status, releases the lease, and forgets the customer's bank account. */
export async function saveResolved(tx: Transaction, refund: Refund): Promise<void> {
  await tx.rows(sql`
    update refunds set status = ${refund.status}, failure = ${refund.failure}, provider_refund_id = ${refund.providerRefundId},
           amount = ${refund.amount}, counted = ${refund.counted}, needs_review = ${refund.needsReview}, due_at = null, leased_until = '-infinity',
           resolved_at = ${refund.resolvedAt}, sealed_account = null
     where place = ${placeOf(refund.id)} and id = ${uuidOf(refund.id)}`)
}

/** Associated data of the sealed bank account. */
export const refundAccountContext = (id: RefundId): string => `bank account of refund ${id}`

export async function findRefundAccount(
  db: Queries,
  secrets: SecretBox,
  id: RefundId,
): Promise<{ account: BankAccount; sealed: Buffer } | undefined> {
  const row = await db.row<{ sealed_account: Buffer | null }>(
    sql`select sealed_account from refunds where place = ${placeOf(id)} and id = ${uuidOf(id)}`,
  )
  const sealed = row?.sealed_account
  return sealed ? { account: JSON.parse(secrets.open(sealed, refundAccountContext(id))), sealed } : undefined
}

export function sealAccount(secrets: SecretBox, id: RefundId, account: BankAccount): Buffer {
  return secrets.seal(JSON.stringify(account), refundAccountContext(id))
}

/** The refund is due at once, so that the worker sends it if this process dies. */
export async function saveRefundAccount(tx: Transaction, id: RefundId, sealed: Buffer): Promise<void> {
  await tx.rows(sql`
    update refunds set sealed_account = ${sealed}, due_at = now() where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending'`)
}

/**
 * Schedules the retry of a refund without a final answer. Returns false and changes nothing if the lease was lost. `sealed`: the
 * bank account of this try, which is forgotten when the provider has answered (`isTaken`). Another one, that came meanwhile, is sent at once.
 */
export async function saveUnanswered(
  tx: Transaction,
  refund: Refund,
  lease: RefundLease,
  { now, dueAt, sealed, isTaken }: { now: Date; dueAt: Date; sealed: Buffer | null; isTaken: boolean },
): Promise<boolean> {
  const row = await tx.row(sql`
    update refunds set provider_refund_id = ${refund.providerRefundId}, tries = ${refund.tries}, needs_review = ${refund.needsReview},
           due_at = case when sealed_account is not null and sealed_account is distinct from ${sealed}::bytea then ${now}::timestamptz else ${dueAt}::timestamptz end,
           sealed_account = case when ${isTaken} and sealed_account = ${sealed}::bytea then null else sealed_account end, leased_until = '-infinity'
     where place = ${placeOf(refund.id)} and id = ${uuidOf(refund.id)} and status = 'pending' and lease = ${lease.token}
    returning id`)
  return row !== undefined
}

export async function saveProviderRefundId(tx: Transaction, id: RefundId, providerRefundId: string): Promise<void> {
  await tx.rows(sql`
    update refunds set provider_refund_id = ${providerRefundId} where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/** Reduces a row that stands for several refunds. The caller inserts a row for the part. */
export async function reduceRefund(tx: Transaction, id: RefundId, amount: number): Promise<void> {
  await tx.rows(sql`update refunds set amount = amount - ${amount} where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

/** A lease: the exclusive right to send one refund to the provider. */
export interface RefundLease {
  token: string
  /** On this process's monotonic clock, read before the statement, so that it never ends after the lease in the database. */
  heldUntilMs: number
}

export const REFUND_LEASE_MS = 60_000
const leaseEnd = () => performance.now() + REFUND_LEASE_MS

export interface ClaimedRefund {
  refund: Refund
  lease: RefundLease
  /** The provider account whose rate limit applies. */
  account: string
}

/** Claims due refunds, each with a lease. Found without a lock: the lease guards the update. */
export async function claimDueRefunds(db: Queries, limit: number): Promise<ClaimedRefund[]> {
  const heldUntilMs = leaseEnd()
  const rows = await db.rows<RefundRow & { lease: string; account: string }>(sql`
    with due as materialized (
      select d.place, d.id, d.due_at, d.leased_until, d.status, gen_random_uuid() as lease, concat_ws(' ', a.merchant_id, a.mode, a.provider) as account
        from refunds d join attempts a on a.place = d.place and a.id = d.attempt_id
       where d.status = 'pending' and d.due_at <= now() and d.leased_until <= now() and d.place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by d.due_at limit ${limit}
    )
    update refunds r set lease = due.lease, leased_until = now() + make_interval(secs => ${REFUND_LEASE_MS / 1_000})
      from due
     where r.place = due.place and r.id = due.id and r.status = due.status and r.due_at = due.due_at and r.leased_until = due.leased_until
    returning ${COLUMNS}, r.lease, due.account`)
  return rows.map((row) => ({
    refund: refundOf(row),
    lease: { token: row.lease, heldUntilMs },
    account: row.account,
  }))
}

/** Postpones refunds that exceed the rate limit of their provider account, and releases their leases. One that has ended has no `due_at`. */
export async function postponeRefunds(db: Queries, late: Postponed<ClaimedRefund>[]): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => placeOf(item.refund.id))) {
    const ids = group.map(({ item }) => uuidOf(item.refund.id))
    const leases = group.map(({ item }) => item.lease.token)
    await db.rows(sql`
      update refunds r set due_at = now() + make_interval(secs => l.wait_ms / 1000), leased_until = now()
        from unnest(${ids}::uuid[], ${leases}::uuid[], ${group.map(({ waitMs }) => waitMs)}::float8[]) as l (id, lease, wait_ms)
       where r.place = ${place} and r.id = l.id and r.lease = l.lease and r.due_at is not null`)
  }
}

/** Undefined if another process holds the lease, or the refund has ended. */
export async function leaseRefund(db: Queries, id: RefundId): Promise<RefundLease | undefined> {
  const heldUntilMs = leaseEnd()
  // Not `now()`: it is the start of the transaction, which may have waited for the payment's lock.
  const row = await db.row<{ lease: string }>(sql`
    update refunds set lease = gen_random_uuid(), leased_until = clock_timestamp() + make_interval(secs => ${REFUND_LEASE_MS / 1_000})
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending' and leased_until <= now()
    returning lease`)
  return row && { token: row.lease, heldUntilMs }
}

/** Undefined if the lease expired or was lost. It must not be used any more. */
export async function renewRefundLease(
  db: Queries,
  id: RefundId,
  { token }: RefundLease,
): Promise<RefundLease | undefined> {
  const heldUntilMs = leaseEnd()
  const row = await db.row(sql`
    update refunds set leased_until = now() + make_interval(secs => ${REFUND_LEASE_MS / 1_000})
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and status = 'pending' and lease = ${token} and leased_until > now()
    returning id`)
  return row === undefined ? undefined : { token, heldUntilMs }
}

/** A refund with what a list of refunds shows of its payment. */
export type RefundOfPayment = Refund & { paymentReference: string; email: string; provider: string }

/** Newest first. One statement per index. The page is limited before the joins, which PostgreSQL would make with all refunds. */
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
            join payments p on p.place = r.place and p.id = r.payment_id
            join attempts a on a.place = r.place and a.id = r.attempt_id
           order by r.id desc`
      : sql`
          select ${COLUMNS}, p.reference, p.user_email, a.provider from (
            select * from refunds
             where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and id < ${below}::uuid
             order by id desc limit ${limit}) r
            join payments p on p.place = r.place and p.id = r.payment_id
            join attempts a on a.place = r.place and a.id = r.attempt_id
           order by r.id desc`,
  )
  return rows.map((row) => ({
    ...refundOf(row),
    paymentReference: row.reference,
    email: row.user_email,
    provider: row.provider,
  }))
}
