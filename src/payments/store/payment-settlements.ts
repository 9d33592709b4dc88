import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, type PaymentId, type SettlementId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { LineKind, Settlement } from '../state/settlement.ts'

/** A line about a payment, with the settlement that it is in. */
export interface LineOfPayment {
  settlement: SettlementId
  provider: string
  providerId: string
  status: Settlement['status']
  kind: LineKind
  currency: string
  gross: number
  fee: number | null
  net: number | null
  paidAt: Date | null
  expectedOn: string | null
  bankReference: string | null
  /** Of the credit on the bank statement. */
  bankDay: string | null
}

const MOST_LINES = 200

/** In which settlements the money of a payment is, oldest first. */
export async function linesOfPayment(db: Queries, { place }: Scope, payment: PaymentId): Promise<LineOfPayment[]> {
  const rows = await db.rows<LineOfPayment>(sql`
    select s.id as settlement, s.provider, s.provider_id as "providerId", s.status, l.kind, s.currency, l.gross, l.fee, l.net,
           s.paid_at as "paidAt", s.expected_on::text as "expectedOn", s.bank_reference as "bankReference", c.day::text as "bankDay"
      from settlement_lines l
      join settlements s on s.place = ${place} and s.id = l.settlement_id
      left join bank_credits c on c.place = ${place} and c.id = s.credit_id
     where l.place = ${place} and l.payment_id = ${uuidOf(payment)}
     order by s.id, l.id limit ${MOST_LINES}`)
  return rows.map((row) => ({ ...row, settlement: idOf('settlement', row.settlement, place) }))
}

/** Money of a payment that no settlement has. */
export interface UnsettledOfPayment {
  provider: string
  amount: number
  currency: string
  takenAt: Date
}

export function unsettledOfPayment(db: Queries, { place }: Scope, payment: PaymentId): Promise<UnsettledOfPayment[]> {
  return db.rows(sql`
    select provider, amount, currency, taken_at as "takenAt" from receipts
     where place = ${place} and payment_id = ${uuidOf(payment)} and settled_in is null
     order by taken_at limit ${MOST_LINES}`)
}
