import type { Queries, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { type AttemptId, idOf, type MerchantId, placeOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { type Currency, money } from '../../kernel/money.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { Receipt } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { NewReceipt } from '../state/new-receipt.ts'
import { isReversed, returnedOf, sharesOf, totalsOf } from '../state/returned-money.ts'

/**
 * The receipts that are not recorded for an attempt yet. The caller holds the payment's lock. What a person has returned by hand of
 * unmatched money is returned. Other keys of the merchant may be of the same account at the provider, or of another one with an equal id: a
 * record under them counts if it has the same amount, and a person is asked. Where the provider names one sum for an order, `receipts` are
 * all of that order, and each new one has its share.
 */
export async function findNewReceipts(tx: Transaction, attempt: Attempt, receipts: Receipt[]): Promise<NewReceipt[]> {
  if (receipts.length === 0) return []
  const { place, mode, provider, account } = attempt
  const merchant = uuidOf(attempt.merchantId)
  const known = await tx.rows<{ id: number; transaction_id: string; account: number; is_unmatched: boolean }>(sql`
    select id, transaction_id, account, attempt_id is null as is_unmatched from receipts
     where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}
       and account = any(array(select version from provider_accounts
                                where merchant_id = ${merchant} and mode = ${mode} and provider = ${provider}) || ${account}::integer)
       and transaction_id = any(${receipts.map(({ transactionId }) => transactionId)})`)
  const assigned = new Set(
    known.filter((each) => each.account === account && !each.is_unmatched).map(({ transaction_id }) => transaction_id),
  )
  const all = [...new Map(receipts.map((receipt) => [receipt.transactionId, receipt])).values()] // one that occurs twice counts once
  const fresh = all.filter(({ transactionId }) => !assigned.has(transactionId))
  if (fresh.length === 0) return []
  const isPartOfOrder = all.some(isShareOfOrder) && totalsOf(all).returned > 0
  const shares = isPartOfOrder ? await readShares(tx, attempt, attempt, all) : undefined
  const byHand = await lockReturnedByHand(
    tx,
    place,
    known.filter(({ is_unmatched }) => is_unmatched).map(({ id }) => id),
  )
  return fresh.map((receipt) => {
    const { returned: _, returnedIsOfOrder: __, ...alone } = receipt
    const { transactionId, amount } = receipt
    const same = byHand.filter((each) => each.transaction_id === transactionId && each.currency === amount.currency)
    const own = most(same.filter((each) => each.account === account))
    const other = most(same.filter((each) => each.account !== account && each.amount === amount.amount))
    const certain = Math.max(shares?.get(transactionId) ?? returnedOf(receipt), Math.min(own, amount.amount))
    const returned = Math.max(certain, other)
    if (returned === 0) return alone
    return { ...alone, returned, ...(other > certain && { isReturnedUnderOtherKeys: true as const }) }
  })
}

interface ReturnedByHand {
  transaction_id: string
  account: number
  amount: number
  currency: string
  /** By hand and by the provider. */
  returned: number
}

const most = (some: ReturnedByHand[]) => some.reduce((sum, { returned }) => Math.max(sum, returned), 0)

/** Locks unmatched money, because a person may be returning it at this moment. Returns what a person has returned by hand. */
async function lockReturnedByHand(tx: Transaction, place: Place, ids: number[]): Promise<ReturnedByHand[]> {
  if (ids.length === 0) return []
  await tx.rows(
    sql`select id from receipts where place = ${place} and id = any(${ids}::bigint[]) order by id for update`,
  )
  return tx.rows(sql`
    select r.transaction_id, r.account, r.amount, r.currency, least(r.amount, r.returned + v.amount) as returned
      from reviews v join receipts r on r.place = v.place and r.id = v.receipt_id
     where v.place = ${place} and v.receipt_id = any(${ids}::bigint[]) and v.act = 'returned_by_hand'`)
}

/** Records new receipts. A receipt that was unmatched before is assigned to the attempt. */
export async function insertReceipts(
  tx: Transaction,
  attempt: Attempt,
  newReceipts: Receipt[],
  counted: boolean,
): Promise<void> {
  for (const receipt of newReceipts) {
    const { transactionId, amount, at } = receipt
    const counts = counted && amount.currency === attempt.currency && !isReversed(receipt)
    const row = await tx.row(sql`
      insert into receipts (place, merchant_id, mode, provider, account, transaction_id, attempt_id, payment_id, amount, currency, counted, returned, taken_at)
      values (${attempt.place}, ${uuidOf(attempt.merchantId)}, ${attempt.mode}, ${attempt.provider}, ${attempt.account}, ${transactionId},
              ${uuidOf(attempt.id)}, ${uuidOf(attempt.paymentId)}, ${amount.amount}, ${amount.currency}, ${counts}, ${returnedOf(receipt)}, ${at})
      on conflict (place, merchant_id, mode, provider, account, transaction_id) do update
         set attempt_id = excluded.attempt_id, payment_id = excluded.payment_id, counted = excluded.counted,
             amount = excluded.amount, currency = excluded.currency, returned = excluded.returned, taken_at = excluded.taken_at
       where receipts.attempt_id is null
      returning id`)
    if (!row) throw new Error(`transaction ${transactionId} was recorded for another attempt at the same moment`)
  }
}

/**
 * Records money that matches no attempt. It is listed for the operator and counts towards no payment. Of unmatched money that is on record,
 * only what the provider has given back since is updated. Where the provider names one sum for an order, `receipts` are all of that order.
 */
export async function insertUnmatched(
  tx: Transaction,
  scope: Scope,
  at: { provider: string; account: number },
  receipts: Receipt[],
): Promise<void> {
  const isOfOrder = receipts.some(isShareOfOrder)
  // On record first: of two notices at once, the second one waits here, and then reads the shares that the first one has written.
  for (const { transactionId, amount, at: takenAt } of isOfOrder ? receipts : [])
    await tx.rows(sql`
      insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, returned, taken_at)
      values (${scope.place}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${at.provider}, ${at.account}, ${transactionId}, ${amount.amount},
              ${amount.currency}, false, 0, ${takenAt})
      on conflict (place, merchant_id, mode, provider, account, transaction_id) do update set returned = receipts.returned where false -- only locks it`)
  const shares = isOfOrder ? await readShares(tx, scope, at, receipts) : undefined
  for (const receipt of receipts) {
    const { transactionId, amount } = receipt
    const returned = shares ? (shares.get(transactionId) ?? 0) : returnedOf(receipt)
    await tx.rows(sql`
      insert into receipts (place, merchant_id, mode, provider, account, transaction_id, amount, currency, counted, returned, taken_at)
      values (${scope.place}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${at.provider}, ${at.account}, ${transactionId}, ${amount.amount},
              ${amount.currency}, false, ${returned}, ${receipt.at})
      on conflict (place, merchant_id, mode, provider, account, transaction_id) do update set returned = excluded.returned
       where receipts.attempt_id is null and receipts.returned < excluded.returned`)
  }
}

/** A refund of unmatched money failed. False if the money was handled, or what is `recorded` of it has changed, meanwhile. */
export async function lowerReturned(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  { provider, account }: { provider: string; account: number },
  { transactionId, recorded, returned }: { transactionId: string; recorded: number; returned: number },
): Promise<boolean> {
  const row = await tx.row(sql`
    update receipts r set returned = ${returned}
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = ${account} and r.transaction_id = ${transactionId} and r.attempt_id is null and r.returned = ${recorded}
       and not exists (select from reviews v where v.place = r.place and v.receipt_id = r.id)
    returning r.id`)
  return row !== undefined
}

const isShareOfOrder = ({ returnedIsOfOrder }: Receipt) => returnedIsOfOrder === true

/** The share of each transaction of an order that is not money of a payment, see `sharesOf`. Locks what is on record of the order. */
export async function readShares(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  { provider, account }: { provider: string; account: number },
  receipts: Receipt[],
): Promise<Map<string, number>> {
  const rows = await tx.rows<{
    id: number
    transaction_id: string
    amount: number
    returned: number
    attempt_id: string | null
    payment_id: string | null
  }>(sql`
    select r.id, r.transaction_id, r.amount, r.returned, r.attempt_id, r.payment_id
      from receipts r
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = any(array(select version from provider_accounts
                                  where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}) || ${account}::integer)
       and r.transaction_id = any(${receipts.map(({ transactionId }) => transactionId)})
     order by r.id for update`)
  // After the lock: a person may have returned some of it by hand meanwhile.
  const reviews = await tx.rows<{ receipt_id: number }>(sql`
    select receipt_id from reviews
     where place = ${place} and receipt_id = any(${rows.map(({ id }) => id)}::bigint[]) and act = 'returned_by_hand'`)
  const byHand = new Set(reviews.map(({ receipt_id }) => receipt_id))
  const assigned = rows.filter(({ attempt_id }) => attempt_id !== null)
  const refunds = await tx.row<{ amount: number }>(sql`
    select coalesce(sum(amount), 0)::bigint as amount from refunds
     where place = ${place} and payment_id = any(${assigned.map(({ payment_id }) => payment_id)}::uuid[])
       and attempt_id = any(${assigned.map(({ attempt_id }) => attempt_id)}::uuid[]) and kind <> 'chargeback' and status <> 'failed'`)
  const taken = assigned.reduce((sum, { amount }) => sum + amount, 0)
  const known = rows.map((row) => ({
    transactionId: row.transaction_id,
    returned: row.returned,
    isAssigned: row.attempt_id !== null,
    isReturnedByHand: byHand.has(row.id),
  }))
  return sharesOf(receipts, known, Math.min(refunds?.amount ?? 0, taken))
}

/** Another attempt paid the payment, so the receipts of this attempt stop counting. Returns them. */
export async function uncountReceipts(tx: Transaction, attemptId: AttemptId): Promise<Uncounted[]> {
  const rows = await tx.rows<{ transaction_id: string; amount: number }>(sql`
    update receipts set counted = false
     where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} and counted returning transaction_id, amount`)
  return rows.map(({ transaction_id, amount }) => ({ transactionId: transaction_id, amount }))
}

export interface Uncounted {
  transactionId: string
  amount: number
}

export async function transactionsOf(tx: Transaction, attemptId: AttemptId): Promise<string[]> {
  const rows = await tx.rows<{ transaction_id: string }>(sql`
    select transaction_id from receipts where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} and counted order by id`)
  return rows.map(({ transaction_id }) => transaction_id)
}

/** All transactions of an attempt, including those that do not count towards the payment. */
export async function allTransactionsOf(db: Queries, attemptId: AttemptId): Promise<string[]> {
  const rows = await db.rows<{ transaction_id: string }>(sql`
    select transaction_id from receipts where place = ${placeOf(attemptId)} and attempt_id = ${uuidOf(attemptId)} order by id`)
  return rows.map(({ transaction_id }) => transaction_id)
}

/** These transactions of an attempt, if a person matched all of them with its payment. */
export async function matchedReceipts(
  db: Queries,
  attemptId: AttemptId,
  transactionIds: string[],
): Promise<Receipt[] | undefined> {
  const rows = await db.rows<{ transaction_id: string; amount: number; currency: Currency; taken_at: Date }>(sql`
    select r.transaction_id, r.amount, r.currency, r.taken_at
      from receipts r join reviews v on v.place = r.place and v.receipt_id = r.id and v.act = 'matched'
     where r.place = ${placeOf(attemptId)} and r.attempt_id = ${uuidOf(attemptId)} and r.transaction_id = any(${transactionIds})`)
  if (rows.length === 0 || rows.length < new Set(transactionIds).size) return undefined
  return rows.map(({ transaction_id, amount, currency, taken_at }) => ({
    transactionId: transaction_id,
    amount: money(amount, currency),
    at: taken_at,
  }))
}

export interface UnmatchedReceipt {
  /** `receipt-12`, as in the dashboard's list of transfers. */
  id: string
  provider: string
  merchantId: MerchantId
  mode: Mode
  transactionId: string
  amount: number
  currency: string
  recordedAt: Date
}

/** Newest first. */
export async function listUnmatchedReceipts(db: Queries, limit: number): Promise<UnmatchedReceipt[]> {
  const rows = await db.rows<{
    id: number
    provider: string
    merchant_id: string
    mode: Mode
    transaction_id: string
    amount: number
    currency: string
    recorded_at: Date
  }>(sql`
    select id, provider, merchant_id, mode, transaction_id, amount - returned as amount, currency, recorded_at from receipts r
     where attempt_id is null and amount > returned and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       and not exists (select from reviews v where v.place = r.place and v.receipt_id = r.id)
     order by recorded_at desc limit ${limit}`)
  return rows.map((row) => ({
    id: `receipt-${row.id}`,
    provider: row.provider,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    recordedAt: row.recorded_at,
  }))
}
