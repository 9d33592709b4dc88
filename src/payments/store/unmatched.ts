import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

/** Money at a provider of a merchant that belongs to no known attempt and is not handled yet. */
export interface UnmatchedMoney {
  id: number
  provider: string
  transactionId: string
  /** Without what the provider had given back. */
  amount: number
  currency: string
  takenAt: Date
  recordedAt: Date
}

interface Page {
  before: number | undefined
  limit: number
}

/** Newest first. */
export async function listUnmatchedMoney(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { before, limit }: Page,
): Promise<UnmatchedMoney[]> {
  return db.rows<UnmatchedMoney>(sql`
    select id, provider, transaction_id as "transactionId", amount - returned as amount, currency, taken_at as "takenAt",
           recorded_at as "recordedAt"
      from receipts r
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and attempt_id is null and amount > returned
       and id < ${before ?? Number.MAX_SAFE_INTEGER}
       and not exists (select from reviews v where v.place = ${place} and v.receipt_id = r.id)
     order by id desc limit ${limit}`)
}

/** A notice of a provider about an order that we do not know. */
export interface UnmatchedNoticeOfMerchant {
  id: number
  provider: string
  reference: string | null
  says: string
  note: string | null
  times: number
  receivedAt: Date
}

/** Newest first. */
export async function listUnmatchedNotices(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { before, limit }: Page,
): Promise<UnmatchedNoticeOfMerchant[]> {
  return db.rows<UnmatchedNoticeOfMerchant>(sql`
    select id, provider, reference, says, note, times, received_at as "receivedAt" from notices
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and state = 'unmatched'
       and id < ${before ?? Number.MAX_SAFE_INTEGER}
     order by id desc limit ${limit}`)
}
