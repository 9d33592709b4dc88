import type { Queries, Transaction, Writes } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { writeEvent } from '../../events/outbox-store.ts'
import { newId, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import { type Currency, formatMoney } from '../../kernel/money.ts'
import type { Scope } from '../../kernel/scope.ts'
import {
  BOOKS,
  type Case,
  type CaseReason,
  type CaseSubject,
  type Closing,
  caseView,
  type NewCase,
  withCase,
  withoutCases,
} from '../state/case.ts'
import { CASE_COLUMNS, type CaseRow, caseOfRow, storedSubject, writeCases } from './cases.ts'

// Cases without a payment: unmatched money, and accounts at a provider as a whole. Those of a payment change with it,
// by changePayment.

/**
 * Opens the case, or gives the open one of this subject and reason the new summary. What a person has closed after
 * `since` is not opened again with the same summary. True if it says something new.
 */
async function openOther(tx: Transaction, wanted: NewCase, now: Date, since: Date | null = null): Promise<boolean> {
  const open = await openOf(tx, wanted, wanted.subject, since)
  const after = withCase(open, wanted, { now, replaces: true })
  writeOthers(tx, open, after, now)
  return after !== open
}

/** Closes the open case of this subject and reason. */
export async function closeOther(
  tx: Transaction,
  scope: Scope,
  { subject, reason }: Pick<Case, 'subject' | 'reason'>,
  closing: Closing,
): Promise<void> {
  const open = await openOf(tx, scope, subject)
  const left = withoutCases(open, (each) => each.reason === reason, closing)
  writeOthers(tx, open, left, closing.now)
}

async function openOf(
  db: Queries,
  { place, merchantId, mode }: Scope,
  subject: CaseSubject,
  since: Date | null = null,
): Promise<Case[]> {
  const rows = await db.rows<CaseRow>(sql`
    select ${CASE_COLUMNS} from cases c
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and subject_kind = ${subject.kind}
       and subject = ${storedSubject(subject)} and (closed_at is null or closed_at >= ${since}::timestamptz)
     order by id`)
  return rows.map(caseOfRow)
}

function writeOthers(tx: Writes, before: Case[], after: Case[], now: Date): void {
  writeCases(tx, before, after)
  for (const each of after) {
    if (each.news === null) continue
    const { place, merchantId, mode } = each
    const type = each.news === 'closed' ? 'case.closed' : 'case.opened'
    const data = { payment: null, case: caseView(each, null) }
    const own = { id: newId('event', now, place), type, data, cause: null, occurredAt: now } as const
    writeEvent(tx, { ...own, place, merchantId, mode, paymentId: null, sequence: null }, null)
  }
}

/** A case about a provider's account as a whole, such as a list that cannot be read. `since`: of `openOther`. */
export async function openAccountCase(
  tx: Transaction,
  scope: Scope,
  { provider, reason, summary, since }: { provider: string; reason: CaseReason; summary: string; since?: Date },
  now: Date,
): Promise<void> {
  const subject: CaseSubject = { kind: 'account', id: provider, reference: null }
  const wanted = { ...ownerOf(scope), provider, reason, subject, summary, amount: null, currency: null }
  await openOther(tx, wanted, now, since)
}

/** The books of the account agree again. */
export function closeAccountCase(
  tx: Transaction,
  scope: Scope,
  { provider, reason }: { provider: string; reason: CaseReason },
  closing: Closing,
): Promise<void> {
  return closeOther(tx, scope, { subject: { kind: 'account', id: provider, reference: null }, reason }, closing)
}

/** A settlement that does not add up. What a person has closed is not opened again with the same numbers. */
export function openSettlementCase(
  tx: Transaction,
  scope: Scope,
  found: Pick<NewCase, 'provider' | 'subject' | 'summary' | 'amount' | 'currency'>,
  now: Date,
): Promise<boolean> {
  const wanted = {
    ...ownerOf(scope),
    ...found,
    amount: found.amount && Math.abs(found.amount),
    reason: 'settlement_difference' as const,
  }
  return openOther(tx, wanted, now, new Date(0))
}

const ownerOf = ({ place, merchantId, mode }: Scope) => ({ place, merchantId, mode, paymentId: null })

export const receiptSubject = (id: number, transactionId: string | null = null): CaseSubject => ({
  kind: 'receipt',
  id: `receipt-${id}`,
  reference: transactionId,
})

/**
 * Opens a case for each of these transactions that is unmatched money, and closes it when the provider has given the
 * money back.
 */
export async function followUnmatched(
  tx: Transaction,
  scope: Scope,
  { provider, keysVersion }: { provider: string; keysVersion: number },
  transactionIds: string[],
): Promise<void> {
  const { place, merchantId, mode } = scope
  const rows = await tx.rows<{ id: number; transaction_id: string; left: number; currency: Currency; now: Date }>(sql`
    select r.id, r.transaction_id, r.amount - r.returned as left, r.currency, now() as now from receipts r
     where r.place = ${place} and r.merchant_id = ${uuidOf(merchantId)} and r.mode = ${mode} and r.provider = ${provider}
       and r.account = ${keysVersion} and r.transaction_id = any(${transactionIds}) and r.attempt_id is null
       and not exists (select from reviews v where v.place = ${place} and v.receipt_id = r.id)
     order by r.id`)
  for (const { id, transaction_id: transactionId, left: amount, currency, now } of rows) {
    const subject = receiptSubject(id, transactionId)
    if (amount === 0) {
      await closeOther(tx, scope, { subject, reason: 'unmatched_money' }, { by: BOOKS, note: null, now })
      continue
    }
    const summary = `unmatched_money: ${formatMoney({ amount, currency })} came in, and belongs to no payment.`
    const wanted = {
      ...ownerOf(scope),
      provider,
      reason: 'unmatched_money' as const,
      subject,
      summary,
      amount,
      currency,
    }
    await openOther(tx, wanted, now)
  }
}

/** The money belongs to a payment now. */
export function closeMatched(tx: Writes, open: Case, paymentId: PaymentId, now: Date): void {
  const closed = withoutCases([{ ...open, paymentId }], () => true, { by: BOOKS, note: null, now })
  writeOthers(tx, [open], closed, now)
}
