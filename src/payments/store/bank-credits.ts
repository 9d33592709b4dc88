import type { Queries, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, type SettlementId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import { certainPairs, type StatementColumns, type StatementCredit } from '../state/bank-statement.ts'

/** Days by which a bank may book a payout earlier or later than its provider says. */
const [DAYS_EARLIER, DAYS_LATER] = [1, 4]

/**
 * Gives each payout its credit on the bank statement: equal amounts, days close to each other, and no other payout or
 * credit that would fit as well. Returns how many were matched.
 */
export async function matchCredits(tx: Transaction, { place, merchantId, mode }: Scope): Promise<number> {
  const merchant = uuidOf(merchantId)
  const candidates = await tx.rows<{ settlement: string; credit: number }>(sql`
    select s.id as settlement, c.id as credit
      from settlements s
      join bank_credits c on c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.currency = s.currency and c.amount = s.net
       and c.day between coalesce((s.paid_at at time zone 'UTC')::date, s.expected_on) - ${DAYS_EARLIER}::integer
                     and coalesce((s.paid_at at time zone 'UTC')::date, s.expected_on) + ${DAYS_LATER}::integer
     where s.place = ${place} and s.merchant_id = ${merchant} and s.mode = ${mode} and s.status = 'paid' and s.credit_id is null
       and not exists (select from settlements o where o.place = ${place} and o.credit_id = c.id)`)
  const pairs = certainPairs(candidates)
  if (pairs.length > 0)
    await tx.rows(sql`
      update settlements s set credit_id = l.credit
        from unnest(${pairs.map(({ settlement }) => settlement)}::uuid[], ${pairs.map(({ credit }) => credit)}::bigint[]) as l (settlement, credit)
       where s.place = ${place} and s.id = l.settlement and s.credit_id is null`)
  return pairs.length
}

/** Adds the credits that are not on record. Returns how many. */
export async function insertCredits(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  { currency, credits, now }: { currency: string; credits: (StatementCredit & { number: number })[]; now: Date },
): Promise<number> {
  const added = await tx.rows(sql`
    insert into bank_credits (place, merchant_id, mode, currency, day, amount, number, line, recorded_at)
    select ${place}::smallint, ${uuidOf(merchantId)}::uuid, ${mode}::text, ${currency}::text, c.day, c.amount, c.number, c.line, ${now}::timestamptz
      from unnest(${credits.map(({ day }) => day)}::date[], ${credits.map(({ amount }) => amount)}::bigint[],
                  ${credits.map(({ number }) => number)}::integer[], ${credits.map(({ line }) => line)}::integer[])
           as c (day, amount, number, line)
        on conflict (merchant_id, mode, currency, day, amount, number, place) do nothing
    returning id`)
  return added.length
}

export interface BankCredit {
  id: number
  day: string
  amount: number
  currency: string
  line: number
  settlementId: SettlementId | null
}

/** The newest days first. `unmatched`: only those of no settlement. */
export async function listCredits(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { unmatched, before, limit }: { unmatched: boolean; before: { day: string; id: number } | undefined; limit: number },
): Promise<BankCredit[]> {
  const rows = await db.rows<Omit<BankCredit, 'settlementId'> & { settlement: string | null }>(sql`
    select c.id, c.day::text as day, c.amount, c.currency, c.line, s.id as settlement
      from bank_credits c left join settlements s on s.place = ${place} and s.credit_id = c.id
     where c.place = ${place} and c.merchant_id = ${uuidOf(merchantId)} and c.mode = ${mode}
       and (${before?.day ?? null}::date is null or (c.day, c.id) < (${before?.day ?? null}::date, ${before?.id ?? 0}::bigint))
       and (not ${unmatched}::boolean or s.id is null)
     order by c.day desc, c.id desc limit ${limit}`)
  return rows.map(({ settlement, ...row }) => ({
    ...row,
    settlementId: settlement === null ? null : idOf('settlement', settlement, place),
  }))
}

/** A person says which settlement the credit is; null: none. False if there is no such credit. */
export async function assignCredit(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  id: number,
  settlementId: SettlementId | null,
): Promise<boolean> {
  const merchant = uuidOf(merchantId)
  const found = await tx.row(sql`
    select id from bank_credits where place = ${place} and id = ${id} and merchant_id = ${merchant} and mode = ${mode} for update`)
  if (!found) return false
  await tx.rows(sql`
    update settlements set credit_id = null where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and credit_id = ${id}`)
  if (settlementId)
    await tx.rows(sql`
      update settlements set credit_id = ${id}
       where place = ${place} and id = ${uuidOf(settlementId)} and merchant_id = ${merchant} and mode = ${mode}`)
  return true
}

export async function findColumns(db: Queries, { merchantId, mode }: Scope): Promise<StatementColumns | undefined> {
  const row = await db.row<{ columns: StatementColumns }>(sql`
    select columns from bank_columns where merchant_id = ${uuidOf(merchantId)} and mode = ${mode}`)
  return row?.columns
}

export async function saveColumns(
  tx: Transaction,
  { merchantId, mode }: Scope,
  columns: StatementColumns,
): Promise<void> {
  await tx.rows(sql`
    insert into bank_columns (merchant_id, mode, columns) values (${uuidOf(merchantId)}, ${mode}, ${JSON.stringify(columns)}::jsonb)
        on conflict (merchant_id, mode) do update set columns = excluded.columns`)
}
