import type { Queries, Transaction, Writes } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { idOf, newReceiptCode, type PaymentId, placeOf, placeOfReceiptCode, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, type Place, rowsOfEachPlace } from '../../kernel/place.ts'
import type { Owner, Scope } from '../../kernel/scope.ts'
import type { Language } from '../../merchants/brand.ts'
import type { ReceiptSends } from '../../merchants/receipt-sends.ts'
import type { Payment } from '../state/payment.ts'

/** A customer has one mail of each kind for a payment at most. */
export type ReceiptKind = 'success' | 'partial_refund' | 'refund'
type ReceiptState = 'offered' | 'waiting' | 'sent' | 'refused' | 'dropped'

export async function readReceiptSends(db: Queries, { merchantId, mode }: Owner): Promise<ReceiptSends> {
  const row = await db.row<{ sends: ReceiptSends }>(
    sql`select sends from receipt_settings where merchant_id = ${uuidOf(merchantId)} and mode = ${mode}`,
  )
  return row?.sends ?? 'never'
}

export async function saveReceiptSends(
  tx: Transaction,
  { merchantId, mode }: Owner,
  sends: ReceiptSends,
): Promise<void> {
  await tx.rows(sql`
    insert into receipt_settings (merchant_id, mode, sends) values (${uuidOf(merchantId)}, ${mode}, ${sends})
    on conflict (merchant_id, mode) do update set sends = excluded.sends`)
}

// ---- The outbox: written in the transaction of the change ----

/** The receipt of a payment that has just become successful. It writes no row while the merchant wants no receipts. */
export function writeReceipt(tx: Writes, payment: Payment, language: Language | null, now: Date): void {
  const { place, id, merchantId, mode } = payment
  tx.write(sql`
    insert into customer_receipts (place, payment_id, kind, merchant_id, mode, code, language, state, due_at, created_at)
    select ${place}::smallint, ${uuidOf(id)}::uuid, 'success', s.merchant_id, s.mode, ${newReceiptCode(now, place)}, ${language},
           case s.sends when 'always' then 'waiting' else 'offered' end, ${now}::timestamptz, ${now}::timestamptz
      from receipt_settings s
     where s.merchant_id = ${uuidOf(merchantId)} and s.mode = ${mode} and s.sends <> 'never'
    on conflict (payment_id, kind, place) do nothing`)
}

/** To the address that got the receipt of the payment, if one did. */
export function writeRefundReceipt(
  tx: Writes,
  { place, id }: Payment,
  kind: Exclude<ReceiptKind, 'success'>,
  now: Date,
): void {
  tx.write(sql`
    insert into customer_receipts (place, payment_id, kind, merchant_id, mode, address, language, state, due_at, created_at)
    select ${place}::smallint, r.payment_id, ${kind}, r.merchant_id, r.mode, r.address, r.language, 'waiting', ${now}::timestamptz, ${now}::timestamptz
      from customer_receipts r
     where r.place = ${place} and r.payment_id = ${uuidOf(id)} and r.kind = 'success' and r.state in ('waiting', 'sent')
    on conflict (payment_id, kind, place) do nothing`)
}

// ---- On the payment page ----

export interface OfferedReceipt {
  code: string
  /** The customer may ask for it by e-mail. */
  isOffered: boolean
  /** It was sent, or will be. */
  isSent: boolean
}

export async function findReceiptOf(db: Queries, id: PaymentId): Promise<OfferedReceipt | undefined> {
  const row = await db.row<{ code: string; state: ReceiptState }>(sql`
    select code, state from customer_receipts where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} and kind = 'success'`)
  return row && { code: row.code, isOffered: row.state === 'offered', isSent: ['waiting', 'sent'].includes(row.state) }
}

/** The customer asks for the mail. Null: to the address of the payment. Nothing happens after the first time. */
export async function askForReceipt(
  db: Queries,
  id: PaymentId,
  { address, language, now }: { address: string | null; language: Language; now: Date },
): Promise<void> {
  await db.rows(sql`
    update customer_receipts set state = 'waiting', address = ${address}, language = ${language}, due_at = ${now}
     where place = ${placeOf(id)} and payment_id = ${uuidOf(id)} and kind = 'success' and state = 'offered'`)
}

export async function findPaymentOfReceipt(
  db: Queries,
  code: string,
): Promise<{ paymentId: PaymentId; language: Language | null } | undefined> {
  const place = placeOfReceiptCode(code)
  if (place === undefined) return undefined
  const row = await db.row<{ payment_id: string; language: Language | null }>(
    sql`select payment_id, language from customer_receipts where place = ${place} and code = ${code}`,
  )
  return row && { paymentId: idOf('payment', row.payment_id, place), language: row.language }
}

// ---- The queue ----

export interface DueReceipt extends Scope {
  paymentId: PaymentId
  kind: ReceiptKind
  address: string | null
  language: Language | null
  /** This one included. It also marks the claim: a process whose lease has ended records nothing. */
  tries: number
}

interface DueRow {
  place: Place
  payment_id: string
  kind: ReceiptKind
  merchant_id: string
  mode: Mode
  address: string | null
  language: Language | null
  tries: number
}

const COLUMNS = new Fixed('r.place, r.payment_id, r.kind, r.merchant_id, r.mode, r.address, r.language, r.tries')

/** For this process alone, for as long as the lease lasts. Found without a lock, over all places. */
export async function claimDueReceipts(db: Queries, limit: number, leaseMinutes: number): Promise<DueReceipt[]> {
  const due = await db.rows<{ place: Place; payment_id: string; now: string }>(sql`
    select place, payment_id, now()::text as now from customer_receipts
     where state = 'waiting' and due_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by due_at limit ${limit}`)
  const now = due[0]?.now
  const rows = await rowsOfEachPlace(due, (place, group) =>
    db.rows<DueRow>(sql`
      update customer_receipts r
         set due_at = ${now}::timestamptz + ${leaseMinutes}::integer * interval '1 minute', tries = r.tries + 1
       where r.place = ${place} and r.payment_id = any(${group.map(({ payment_id: id }) => id)}::uuid[])
         and r.state = 'waiting' and (r.due_at <= ${now}::timestamptz) is true
      returning ${COLUMNS}`),
  )
  return rows.map((row) => ({
    place: row.place,
    paymentId: idOf('payment', row.payment_id, row.place),
    merchantId: idOf('merchant', row.merchant_id),
    ...{ mode: row.mode, kind: row.kind, address: row.address, language: row.language, tries: row.tries },
  }))
}

export type ReceiptEnd =
  | { state: 'sent'; at: Date }
  | { state: 'refused' | 'dropped'; note: string }
  /** `wasTried`: it counts as a try. */
  | { state: 'waiting'; dueAt: Date; wasTried: boolean }

export async function recordReceipt(db: Queries, receipt: DueReceipt, end: ReceiptEnd): Promise<void> {
  const { place, paymentId, kind, tries } = receipt
  const triesAfter = end.state === 'waiting' && !end.wasTried ? tries - 1 : tries
  await db.rows(sql`
    update customer_receipts
       set state = ${end.state}, note = ${'note' in end ? end.note : null}, sent_at = ${'at' in end ? end.at : null},
           due_at = ${end.state === 'waiting' ? end.dueAt : new Date(0)}, tries = ${triesAfter}
     where place = ${place} and payment_id = ${uuidOf(paymentId)} and kind = ${kind} and state = 'waiting' and tries = ${tries}`)
}

// ---- Erasure ----

/** Of these payments: their receipt pages are gone, and they get no mail any more. */
export async function deleteReceiptsOf(tx: Transaction, place: Place, paymentIds: string[]): Promise<void> {
  await tx.rows(sql`delete from customer_receipts where place = ${place} and payment_id = any(${paymentIds}::uuid[])`)
}

/** Receipts that were asked for with this address, for payments of others. */
export async function forgetReceiptAddress(tx: Transaction, scope: Scope, email: string): Promise<void> {
  await tx.rows(sql`
    delete from customer_receipts
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(address) = lower(${email})`)
}

export async function hasReceiptAddress(db: Queries, scope: Scope, email: string): Promise<boolean> {
  const rows = await db.rows(sql`
    select from customer_receipts
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(address) = lower(${email}) limit 1`)
  return rows.length > 0
}
