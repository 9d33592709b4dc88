import type { Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { idOf, type MerchantId, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'

export interface AuditScope {
  merchantId: MerchantId
  mode: Mode
  provider: string
  /** The current account version; older ones have lower numbers. */
  account: number
}

/** One recorded receipt, with the returns of its attempt. */
export interface RecordedTransaction {
  receiptId: string
  transactionId: string
  amount: number
  currency: string
  takenAt: Date
  attemptId: string | null
  orderReference: string | null
  providerReference: string | null
  /** Of the whole attempt: returned, and pending refunds. */
  returned: number
  returning: number
  receiptsOfAttempt: number
}

const COLUMNS = new Fixed(`r.id::text as receipt_id, r.transaction_id, r.amount, r.currency, r.taken_at, r.attempt_id,
  a.order_reference, a.provider_reference, coalesce(a.amount_returned, 0) - pending.amount as returned,
  pending.amount as returning, (select count(*)::integer from receipts o where o.attempt_id = r.attempt_id) as receipts_of_attempt`)
const SOURCES = new Fixed(`receipts r left join attempts a on a.id = r.attempt_id
  cross join lateral (select coalesce(sum(f.amount), 0)::bigint as amount from refunds f
                       where f.payment_id = r.payment_id and f.attempt_id = r.attempt_id and f.status = 'pending') as pending`)

interface RecordedRow {
  receipt_id: string
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

function recordedOf(row: RecordedRow): RecordedTransaction {
  return {
    receiptId: row.receipt_id,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    takenAt: row.taken_at,
    attemptId: row.attempt_id,
    orderReference: row.order_reference,
    providerReference: row.provider_reference,
    returned: row.returned,
    returning: row.returning,
    receiptsOfAttempt: row.receipts_of_attempt,
  }
}

export async function findRecorded(
  db: Queries,
  { merchantId, mode, provider, account }: AuditScope,
  transactionIds: string[],
): Promise<RecordedTransaction[]> {
  const accounts = Array.from({ length: account + 1 }, (_, version) => version)
  const rows = await db.rows<RecordedRow>(sql`
    select ${COLUMNS} from ${SOURCES}
     where r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = any(${accounts}::integer[]) and r.transaction_id = any(${transactionIds})`)
  return rows.map(recordedOf)
}

const PAGE = 1_000

/** All receipts of a provider, ordered by account and transaction id (keyset pagination). */
export async function pageOfRecorded(
  db: Queries,
  { merchantId, mode, provider }: AuditScope,
  after: { account: number; transactionId: string } | undefined,
): Promise<(RecordedTransaction & { account: number })[]> {
  const { account, transactionId } = after ?? { account: -1, transactionId: '' }
  const rows = await db.rows<RecordedRow & { account: number }>(sql`
    select ${COLUMNS}, r.account from ${SOURCES}
     where r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and (r.account, r.transaction_id) > (${account}, ${transactionId})
     order by r.account, r.transaction_id limit ${PAGE}`)
  return rows.map((row) => ({ ...recordedOf(row), account: row.account }))
}

/** All providers of all merchants, including removed integrations, whose money is still on record. */
export async function listAuditScopes(db: Queries): Promise<AuditScope[]> {
  const rows = await db.rows<{ merchant_id: string; mode: Mode; provider: string; account: number }>(sql`
    select merchant_id, mode, provider, account from integrations order by merchant_id, mode, provider`)
  return rows.map((row) => ({
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    provider: row.provider,
    account: row.account,
  }))
}
