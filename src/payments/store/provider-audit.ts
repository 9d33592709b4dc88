import type { Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'

export interface AuditScope extends Scope {
  provider: string
  /** The current version of the keys; older ones have lower numbers. */
  keysVersion: number
}

/** One recorded receipt, with the reversals of its attempt. */
export interface RecordedTransaction {
  receiptId: string
  keysVersion: number
  transactionId: string
  amount: number
  currency: string
  takenAt: Date
  attemptId: AttemptId | null
  orderReference: string | null
  providerReference: string | null
  /**
   * Of the whole attempt, or of unmatched money: returned, and refunds that the provider may not have made: pending,
   * and by hand.
   */
  returned: number
  returning: number
  receiptsOfAttempt: number
}

// The place is the first parameter of the statement.
const COLUMNS =
  new Fixed(`r.id::text as receipt_id, r.account, r.transaction_id, r.amount, r.currency, r.taken_at, r.attempt_id,
  -- The provider lists money that a person matched under the order that it names, not under ours.
  case when not exists (select from reviews v where v.place = $1 and v.receipt_id = r.id and v.act = 'matched')
       then a.order_reference end as order_reference, a.provider_reference, coalesce(a.amount_returned, r.returned) - pending.amount as returned,
  -- A person has returned unmatched money.
  pending.amount + case when r.attempt_id is null and exists (
      select from reviews v where v.place = $1 and v.receipt_id = r.id and v.act = 'returned_by_hand')
    then r.amount - r.returned else 0 end as returning, (select count(*)::integer from receipts o where o.place = $1 and o.attempt_id = r.attempt_id) as receipts_of_attempt`)
const SOURCES = new Fixed(`receipts r left join attempts a on a.place = $1 and a.id = r.attempt_id
  cross join lateral (select coalesce(sum(f.amount), 0)::bigint as amount from refunds f
                       where f.place = $1 and f.payment_id = r.payment_id and f.attempt_id = r.attempt_id and (
                         f.status = 'pending'
                         -- Returned by hand: in the provider's dashboard, or outside of the provider.
                         or (f.status = 'successful' and f.provider_refund_id is null
                             and exists (select from reviews v where v.place = $1 and v.payment_id = f.payment_id and v.refund_id = f.id
                                            and v.act = 'returned_by_hand')))) as pending`)

interface RecordedRow {
  receipt_id: string
  account: number
  transaction_id: string
  amount: number
  currency: string
  taken_at: Date
  attempt_id: string | null
  order_reference: string | null
  provider_reference: string | null
  returned: number
  returning: number
  receipts_of_attempt: number
}

function recordedOf({ place }: AuditScope, row: RecordedRow): RecordedTransaction {
  return {
    receiptId: row.receipt_id,
    keysVersion: row.account,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    takenAt: row.taken_at,
    attemptId: row.attempt_id === null ? null : idOf('attempt', row.attempt_id, place),
    orderReference: row.order_reference,
    providerReference: row.provider_reference,
    returned: row.returned,
    returning: row.returning,
    receiptsOfAttempt: row.receipts_of_attempt,
  }
}

export async function findRecorded(
  db: Queries,
  scope: AuditScope,
  transactionIds: string[],
): Promise<RecordedTransaction[]> {
  const { place, merchantId, mode, provider, keysVersion } = scope
  const keysVersions = Array.from({ length: keysVersion + 1 }, (_, version) => version)
  const rows = await db.rows<RecordedRow>(sql`
    select ${COLUMNS} from ${SOURCES}
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = any(${keysVersions}::integer[]) and r.transaction_id = any(${transactionIds})`)
  return rows.map((row) => recordedOf(scope, row))
}

const PAGE = 1_000

/** All receipts of a provider, ordered by version of the keys and transaction id (keyset pagination). */
export async function pageOfRecorded(
  db: Queries,
  scope: AuditScope,
  after: { keysVersion: number; transactionId: string } | undefined,
): Promise<RecordedTransaction[]> {
  const { place, merchantId, mode, provider } = scope
  const { keysVersion, transactionId } = after ?? { keysVersion: -1, transactionId: '' }
  const rows = await db.rows<RecordedRow>(sql`
    select ${COLUMNS} from ${SOURCES}
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and (r.account, r.transaction_id) > (${keysVersion}, ${transactionId})
     order by r.account, r.transaction_id limit ${PAGE}`)
  return rows.map((row) => recordedOf(scope, row))
}

/**
 * Whether another merchant has this order, named by us or by the provider. Two merchants may use one provider account:
 * its list and its notices have the money of both.
 */
export async function isOrderOfAnother(
  db: Queries,
  { merchantId, mode, provider }: Scope & { provider: string },
  reference: string,
): Promise<boolean> {
  const merchant = uuidOf(merchantId)
  const { first, last } = ALL_PLACES
  const row = await db.row(sql`
    select a.id from merchants m join attempts a on a.place = m.place and a.place between ${first} and ${last} and a.merchant_id = m.id
     where m.id <> ${merchant} and a.mode = ${mode} and a.provider = ${provider} and a.order_reference = ${reference}
    union all
    select a.id from merchants m join attempts a on a.place = m.place and a.place between ${first} and ${last} and a.merchant_id = m.id
     where m.id <> ${merchant} and a.mode = ${mode} and a.provider = ${provider} and a.provider_reference = ${reference}
    limit 1`)
  return row !== undefined
}

/** All providers of all merchants, including removed integrations, whose money is still on record. */
export async function listAuditScopes(db: Queries): Promise<AuditScope[]> {
  const rows = await db.rows<{ merchant_id: string; place: number; mode: Mode; provider: string; account: number }>(sql`
    select i.merchant_id, m.place, i.mode, i.provider, i.account from integrations i join merchants m on m.id = i.merchant_id
     order by i.merchant_id, i.mode, i.provider`)
  return rows.map((row) => ({
    merchantId: idOf('merchant', row.merchant_id),
    place: row.place,
    mode: row.mode,
    provider: row.provider,
    keysVersion: row.account,
  }))
}
