import type { Transaction as DatabaseTransaction, Queries } from '../../../database/database.ts'
import { Fixed, sql } from '../../../database/sql.ts'
import type { PageRange } from './dispute-store.ts'
import { placeOfMerchant } from './place.ts'
import type { Channel, TransactionKind } from './record.ts'

/** What is paid out for a day, in one currency. */
export interface Settlement {
  id: number
  currency: string
  /** On which it should be paid. */
  day: string
  gross: number
  fees: number
  deductions: number
  net: number
  madeAt: Date
  paidAt: Date
}

const COLUMNS = new Fixed(
  `id, currency, day::text as day, gross, fees, deductions, net, made_at as "madeAt", paid_at as "paidAt"`,
)

export interface SettledTransaction {
  id: number
  kind: TransactionKind
  amount: number
  currency: string
  at: Date
  reference: string
  channel: Channel
  /** Shows a lost dispute as a refund, and moves no money. */
  isOfDispute: boolean
}

const TRANSACTION = new Fixed(`t.id, t.kind, t.amount, t.currency, t.at, p.reference, p.channel,
  exists (select from gateway_disputes d where d.place = $1 and d.settled_by = t.id) as "isOfDispute"`)

/** When the oldest transaction was made that no settlement has. */
export async function oldestUnsettled(db: Queries, merchantUuid: string): Promise<Date | null> {
  const row = await db.row<{ at: Date }>(sql`
    select at from gateway_transactions
     where place = ${placeOfMerchant(merchantUuid)} and merchant_id = ${merchantUuid} and settlement_id is null and status = 'paid'
     order by at limit 1`)
  return row?.at ?? null
}

/** Locks what was taken and given back before that time, and is in no settlement. */
export async function lockUnsettled(
  tx: DatabaseTransaction,
  merchantUuid: string,
  before: Date,
): Promise<SettledTransaction[]> {
  const place = placeOfMerchant(merchantUuid)
  const locked = await tx.rows<{ id: number }>(sql`
    select id from gateway_transactions
     where place = ${place} and merchant_id = ${merchantUuid} and settlement_id is null and status = 'paid' and at < ${before}
       and (settles_at is null or settles_at < ${before})
     order by id for update`)
  return tx.rows<SettledTransaction>(sql`
    select ${TRANSACTION} from gateway_transactions t join gateway_payments p on p.place = ${place} and p.id = t.payment_id
     where t.place = ${place} and t.id = any(${locked.map(({ id }) => id)}::bigint[]) and t.settlement_id is null order by t.id`)
}

export async function insertSettlement(
  tx: DatabaseTransaction,
  merchantUuid: string,
  of: Omit<Settlement, 'id'>,
  transactionIds: number[],
): Promise<Settlement> {
  const place = placeOfMerchant(merchantUuid)
  const made = await tx.row<Settlement>(sql`
    insert into gateway_settlements (place, merchant_id, currency, day, gross, fees, deductions, net, made_at, paid_at)
    values (${place}, ${merchantUuid}, ${of.currency}, ${of.day}, ${of.gross}, ${of.fees}, ${of.deductions}, ${of.net}, ${of.madeAt}, ${of.paidAt})
    returning ${COLUMNS}`)
  const settlement = made as Settlement
  await tx.rows(sql`
    update gateway_transactions set settlement_id = ${settlement.id} where place = ${place} and id = any(${transactionIds}::bigint[])`)
  return settlement
}

export function findSettlements(
  db: Queries,
  merchantUuid: string,
  { from, to, after, limit }: PageRange,
): Promise<Settlement[]> {
  const place = placeOfMerchant(merchantUuid)
  return db.rows(sql`
    select ${COLUMNS} from gateway_settlements
     where place = ${place} and merchant_id = ${merchantUuid} and made_at >= ${from} and made_at < ${to} and id > ${after}::bigint
     order by id limit ${limit}`)
}

/** Undefined when the merchant has no such settlement. */
export async function findLines(
  db: Queries,
  merchantUuid: string,
  id: number,
  { after, limit }: Pick<PageRange, 'after' | 'limit'>,
): Promise<SettledTransaction[] | undefined> {
  const place = placeOfMerchant(merchantUuid)
  const found = await db.row(sql`
    select id from gateway_settlements where place = ${place} and id = ${id}::bigint and merchant_id = ${merchantUuid}`)
  if (!found) return undefined
  return db.rows(sql`
    select ${TRANSACTION} from (
      select * from gateway_transactions where place = ${place} and settlement_id = ${id}::bigint and id > ${after}::bigint
       order by id limit ${limit}) t
      join gateway_payments p on p.place = ${place} and p.id = t.payment_id
     order by t.id`)
}
