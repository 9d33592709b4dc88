import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { idOf, type SettlementId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { ListedSettlementLine } from '../../providers/provider.ts'
import type { LineKind, LineSums, OddLine, Settlement, SettlementLine } from '../state/settlement.ts'
import type { AuditScope } from './provider-audit.ts'

/** A line, and what of ours it is about. UUIDs are without prefix: lines are written in pages. */
export interface MatchedLine extends ListedSettlementLine {
  key: string
  receiptId: number | null
  paymentUuid: string | null
  attemptUuid: string | null
  refundUuid: string | null
}

export interface MoneyOfLine {
  receiptId: number
  transactionId: string
  keysVersion: number
  attemptUuid: string | null
  paymentUuid: string | null
  amount: number
  currency: string
  settledIn: string | null
  feeCharged: number | null
}

/** Receipts of the account by the provider's transaction ids. */
export function receiptsOfTransactions(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  keysVersions: number[],
  transactionIds: string[],
): Promise<MoneyOfLine[]> {
  return db.rows(sql`
    select id as "receiptId", transaction_id as "transactionId", account as "keysVersion", attempt_id as "attemptUuid", payment_id as "paymentUuid",
           amount, currency, settled_in as "settledIn", fee_charged as "feeCharged"
      from receipts
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and account = any(${keysVersions}::integer[]) and transaction_id = any(${transactionIds})`)
}

export function receiptsOfAttempts(db: Queries, { place }: Scope, attemptUuids: string[]): Promise<MoneyOfLine[]> {
  return db.rows(sql`
    select id as "receiptId", transaction_id as "transactionId", account as "keysVersion", attempt_id as "attemptUuid", payment_id as "paymentUuid",
           amount, currency, settled_in as "settledIn", fee_charged as "feeCharged"
      from receipts where place = ${place} and attempt_id = any(${attemptUuids}::uuid[]) order by id`)
}

export interface RefundOfLine {
  uuid: string
  attemptUuid: string
  paymentUuid: string
  amount: number
  providerRefundId: string | null
  settledIn: string | null
}

export function refundsOfAttempts(db: Queries, { place }: Scope, attemptUuids: string[]): Promise<RefundOfLine[]> {
  return db.rows(sql`
    select f.id as uuid, f.attempt_id as "attemptUuid", f.payment_id as "paymentUuid", f.amount, f.provider_refund_id as "providerRefundId",
           f.settled_in as "settledIn"
      from refunds f
     where f.place = ${place} and f.payment_id = any(array(select a.payment_id from attempts a where a.place = ${place} and a.id = any(${attemptUuids}::uuid[])))
       and f.attempt_id = any(${attemptUuids}::uuid[])
     order by (f.status = 'failed'), f.id`)
}

/** The payments of attempts, by the attempts' UUIDs. */
export async function paymentsOfAttempts(
  db: Queries,
  { place }: Scope,
  attemptUuids: string[],
): Promise<Map<string, string>> {
  const rows = await db.rows<{ id: string; payment_id: string }>(sql`
    select id, payment_id from attempts where place = ${place} and id = any(${attemptUuids}::uuid[])`)
  return new Map(rows.map((row) => [row.id, row.payment_id]))
}

/**
 * Writes a page of lines, and marks what they are for as settled. A line that is read again is replaced. Payments are
 * locked first, in the order of their ids: another change of theirs reads the fee and writes it back.
 */
export async function writeLines(tx: Transaction, of: Settlement, listed: MatchedLine[]): Promise<void> {
  if (listed.length === 0) return
  // One that a page lists twice counts once, as on two pages.
  const lines = [...new Map(listed.map((line) => [line.key, line])).values()]
  const { place, mode } = of
  const [id, merchant] = [uuidOf(of.id), uuidOf(of.merchantId)]
  const column = <T>(read: (line: MatchedLine) => T): T[] => lines.map(read)
  // A line without an id has its number in the list, which may be of another payment now.
  const replaced =
    of.reading === 0
      ? []
      : await tx.rows<OfOurs>(sql`
          select receipt_id, refund_id from settlement_lines
           where place = ${place} and settlement_id = ${id}::uuid and line_key = any(${column(({ key }) => key)}::text[])`)
  await tx.rows(sql`
    insert into settlement_lines (place, merchant_id, mode, settlement_id, line_key, kind, transaction_id, order_reference, gross, fee, net,
                                  payment_id, receipt_id, refund_id, reading)
    select ${place}::smallint, ${merchant}::uuid, ${mode}::text, ${id}::uuid, l.line_key, l.kind, l.transaction_id, l.order_reference, l.gross, l.fee, l.net,
           l.payment_id, l.receipt_id, l.refund_id, ${of.reading}::integer
      from unnest(${column(({ key }) => key)}::text[], ${column(({ kind }) => kind)}::text[],
                  ${column(({ transactionId }) => transactionId)}::text[], ${column(({ orderReference }) => orderReference)}::text[],
                  ${column(({ gross }) => gross)}::bigint[], ${column(({ fee }) => fee)}::bigint[], ${column(({ net }) => net)}::bigint[],
                  ${column(({ paymentUuid }) => paymentUuid)}::uuid[], ${column(({ receiptId }) => receiptId)}::bigint[],
                  ${column(({ refundUuid }) => refundUuid)}::uuid[])
           as l (line_key, kind, transaction_id, order_reference, gross, fee, net, payment_id, receipt_id, refund_id)
        on conflict (settlement_id, line_key, place) do update
       set kind = excluded.kind, transaction_id = excluded.transaction_id, order_reference = excluded.order_reference, gross = excluded.gross,
           fee = excluded.fee, net = excluded.net, payment_id = excluded.payment_id, receipt_id = excluded.receipt_id,
           refund_id = excluded.refund_id, reading = excluded.reading`)
  await release(tx, of, replaced)
  const payments = [...new Set(lines.flatMap(({ paymentUuid }) => paymentUuid ?? []))]
  await tx.rows(sql`
    select id from payments where place = ${place} and id = any(${payments}::uuid[]) order by id for no key update`)
  const ofReceipts = lines.filter(({ kind, receiptId }) => kind === 'payment' && receiptId !== null)
  const receiptIds = ofReceipts.map(({ receiptId }) => receiptId)
  await tx.rows(sql`
    update receipts set settled_in = ${id}::uuid
     where place = ${place} and id = any(${receiptIds}::bigint[]) and settled_in is null`)
  const refundIds = lines.flatMap(({ refundUuid }) => refundUuid ?? [])
  await tx.rows(sql`
    update refunds set settled_in = ${id}::uuid
     where place = ${place} and id = any(${refundIds}::uuid[]) and settled_in is null`)
}

/** What the provider really charged, by receipt; the fee of an attempt is the sum of its receipts. */
export async function writeFees(
  tx: Transaction,
  { place }: Scope,
  fees: { receiptId: number; attemptUuid: string | null; fee: number }[],
): Promise<void> {
  if (fees.length === 0) return
  await tx.rows(sql`
    update receipts r set fee_charged = l.fee
      from unnest(${fees.map(({ receiptId }) => receiptId)}::bigint[], ${fees.map(({ fee }) => fee)}::bigint[]) as l (id, fee)
     where r.place = ${place} and r.id = l.id`)
  await tx.rows(sql`
    update attempts a set fee_charged = f.fee
      from (select r.attempt_id, sum(r.fee_charged)::bigint as fee from receipts r
             where r.place = ${place} and r.attempt_id = any(${fees.flatMap(({ attemptUuid }) => attemptUuid ?? [])}::uuid[])
             group by r.attempt_id) f
     where a.place = ${place} and a.id = f.attempt_id`)
}

/** Lines of an earlier reading that the provider does not list any more. */
export async function deleteStaleLines(tx: Transaction, { place, id, reading }: Settlement): Promise<void> {
  const gone = await tx.rows<OfOurs>(sql`
    delete from settlement_lines where place = ${place} and settlement_id = ${uuidOf(id)} and reading < ${reading}
    returning receipt_id, refund_id`)
  await release(tx, { place, id }, gone)
}

/** The payout failed: what it was for is not settled, and may be paid out by another one. */
export async function releaseLines(tx: Transaction, { place, id }: Settlement): Promise<void> {
  const lines = await tx.rows<OfOurs>(sql`
    select receipt_id, refund_id from settlement_lines where place = ${place} and settlement_id = ${uuidOf(id)}`)
  await release(tx, { place, id }, lines)
}

interface OfOurs {
  receipt_id: number | null
  refund_id: string | null
}

/** To the line of another reading or settlement that has it, too, or to none. */
async function release(
  tx: Transaction,
  { place, id }: Pick<Settlement, 'place' | 'id'>,
  lines: OfOurs[],
): Promise<void> {
  if (lines.length === 0) return
  await tx.rows(sql`
    update receipts r set settled_in = (
             select l.settlement_id from settlement_lines l join settlements s on s.place = ${place} and s.id = l.settlement_id
              where l.place = ${place} and l.payment_id = r.payment_id and l.receipt_id = r.id and l.kind = 'payment' and s.status = 'paid'
              order by l.id limit 1)
     where place = ${place} and id = any(${lines.flatMap((line) => line.receipt_id ?? [])}::bigint[]) and settled_in = ${uuidOf(id)}::uuid`)
  await tx.rows(sql`
    update refunds f set settled_in = (
             select l.settlement_id from settlement_lines l join settlements s on s.place = ${place} and s.id = l.settlement_id
              where l.place = ${place} and l.payment_id = f.payment_id and l.refund_id = f.id and s.status = 'paid'
              order by l.id limit 1)
     where place = ${place} and id = any(${lines.flatMap((line) => line.refund_id ?? [])}::uuid[]) and settled_in = ${uuidOf(id)}::uuid`)
}

interface SumsRow {
  count: number
  gross: number
  fees: number
  net: number
  unknown: number
  foreign: number
}

export async function sumLines(db: Queries, { place, id }: Settlement): Promise<LineSums> {
  const row = await db.row<SumsRow>(sql`
    select count(*)::integer as count, coalesce(sum(gross), 0)::bigint as gross, coalesce(sum(fee), 0)::bigint as fees,
           coalesce(sum(net), 0)::bigint as net, (count(*) filter (where net is null))::integer as unknown,
           (count(*) filter (where payment_id is null and receipt_id is null and kind in ('payment', 'refund', 'dispute')))::integer as foreign
      from settlement_lines where place = ${place} and settlement_id = ${uuidOf(id)}`)
  const { count = 0, gross = 0, fees = 0, net = 0, unknown = 0, foreign = 0 } = row ?? {}
  return { count, gross, fees, net: unknown > 0 ? null : net, foreign }
}

const MOST_ODD = 50

/** Of our payment, and its money or refund is not on record, or not yet. A dispute may take money before it is lost. */
const IS_OPEN = new Fixed(`l.payment_id is not null and (l.kind = 'payment' and l.receipt_id is null
  or l.kind in ('refund', 'dispute') and l.gross < 0 and l.refund_id is null)`)

/** Lines that contradict themselves, or our records of the money. */
export function oddLines(db: Queries, { place, id, currency }: Settlement): Promise<OddLine[]> {
  return db.rows(sql`
    select l.line_key as key, l.kind, (select p.reference from payments p where p.place = ${place} and p.id = l.payment_id) as payment,
           l.gross, l.fee, l.net, case when l.kind = 'payment' then r.amount else -f.amount end as received, r.fee_charged as "feeCharged",
           r.settled_in <> l.settlement_id as "isInAnother", ${IS_OPEN} as "isMissing"
      from settlement_lines l
      left join receipts r on r.place = ${place} and r.id = l.receipt_id and r.currency = ${currency} and l.kind = 'payment'
      left join refunds f on f.place = ${place} and f.id = l.refund_id and f.currency = ${currency}
     where l.place = ${place} and l.settlement_id = ${uuidOf(id)}
       and (l.gross - l.fee <> l.net or r.amount <> l.gross or r.fee_charged <> l.fee or r.settled_in <> l.settlement_id or -f.amount <> l.gross
            or l.kind <> 'dispute' and ${IS_OPEN})
     order by l.id limit ${MOST_ODD}`)
}

/** Whether reading the lines again may find what is on record by now. */
export async function hasOpenLines(db: Queries, { place, id }: Settlement): Promise<boolean> {
  const row = await db.row(sql`
    select l.id from settlement_lines l where l.place = ${place} and l.settlement_id = ${uuidOf(id)} and ${IS_OPEN} limit 1`)
  return row !== undefined
}

interface LineRow {
  id: number
  kind: LineKind
  transaction_id: string | null
  order_reference: string | null
  gross: number
  fee: number | null
  net: number | null
  payment_id: string | null
  payment: string | null
}

export interface LineFilter {
  /** Only lines that name no payment of ours. */
  foreign: boolean
  after: number
  limit: number
}

/** In the order of the provider's list. */
export async function listLines(
  db: Queries,
  { place, merchantId, mode }: Scope,
  id: SettlementId,
  { foreign, after, limit }: LineFilter,
): Promise<SettlementLine[]> {
  const rows = await db.rows<LineRow>(sql`
    select l.id, l.kind, l.transaction_id, l.order_reference, l.gross, l.fee, l.net, l.payment_id,
           (select p.reference from payments p where p.place = ${place} and p.id = l.payment_id) as payment
      from (select * from settlement_lines
             where place = ${place} and settlement_id = ${uuidOf(id)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and id > ${after}
               and (not ${foreign}::boolean or (payment_id is null and receipt_id is null and kind in ('payment', 'refund', 'dispute')))
             order by id limit ${limit}) l
     order by l.id`)
  return rows.map((row) => ({
    ...{ id: row.id, kind: row.kind, transactionId: row.transaction_id, orderReference: row.order_reference },
    ...{ gross: row.gross, fee: row.fee, net: row.net, payment: row.payment },
    paymentId: row.payment_id === null ? null : idOf('payment', row.payment_id, place),
  }))
}

export interface KindSums {
  kind: LineKind
  count: number
  gross: number
  fees: number
  net: number
}

/** The sums of a settlement by what its lines are about. */
export function sumsByKind(db: Queries, { place, id }: Settlement): Promise<KindSums[]> {
  return db.rows(sql`
    select kind, count(*)::integer as count, sum(gross)::bigint as gross, coalesce(sum(fee), 0)::bigint as fees, coalesce(sum(net), 0)::bigint as net
      from settlement_lines where place = ${place} and settlement_id = ${uuidOf(id)} group by kind order by kind`)
}
