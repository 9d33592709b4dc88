import type { Queries, Writes } from '../../database/database.ts'
import { Fixed, freshStatementOf, sql } from '../../database/sql.ts'
import {
  type CaseId,
  firstUuidAt,
  idOf,
  LAST_UUID,
  type PaymentId,
  type PlacedKind,
  parseId,
  placeOf,
  uuidOf,
} from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { groupByPlace, type Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import { BOOKS, type Case, type CaseReason, type CaseSubject } from '../state/case.ts'

export interface CaseRow {
  place: Place
  id: string
  merchant_id: string
  mode: Mode
  payment_id: string | null
  provider: string | null
  reason: CaseReason
  subject_kind: CaseSubject['kind']
  subject: string
  subject_reference: string | null
  amount: number | null
  currency: string | null
  summary: string
  /** A text in JSON. */
  opened_at: Date | string
  closed_at: Date | string | null
  closed_by: string | null
  note: string | null
}

export const CASE_COLUMNS = new Fixed(`
  c.place, c.id, c.merchant_id, c.mode, c.payment_id, c.provider, c.reason, c.subject_kind, c.subject, c.subject_reference, c.amount,
  c.currency, c.summary, c.opened_at, c.closed_at, c.closed_by, c.note`)

/** What a decision about a payment depends on: its open cases, and those that a person closed. */
const COUNTS_FOR_DECISION = `(c.closed_at is null or c.closed_by <> '${BOOKS}')`

/**
 * The cases of the payment of the attempt `a`, in its row: a payment without attempts has none. A statement of its own
 * would be one more for each change. The place is the first parameter of the statement.
 */
export const CASES_OF_PAYMENT = new Fixed(`
  (select jsonb_agg(to_jsonb(c) order by c.id) from cases c
    where c.place = $1 and c.payment_id = a.payment_id and ${COUNTS_FOR_DECISION}) as a_cases`)

export interface WithCases {
  a_cases: CaseRow[] | null
}

export function casesIn([first]: WithCases[]): Case[] {
  return (first?.a_cases ?? []).map(caseOfRow)
}

export function caseOfRow(row: CaseRow): Case {
  const { place, subject_kind: kind, closed_at: closedAt } = row
  return {
    id: idOf('case', row.id, place),
    place,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    paymentId: row.payment_id === null ? null : idOf('payment', row.payment_id, place),
    provider: row.provider,
    reason: row.reason,
    subject: { kind, id: publicSubject(kind, row.subject, place), reference: row.subject_reference },
    amount: row.amount,
    currency: row.currency,
    summary: row.summary,
    openedAt: new Date(row.opened_at),
    closedAt: closedAt === null ? null : new Date(closedAt),
    closedBy: row.closed_by,
    note: row.note,
    news: null,
  }
}

/** Subjects whose ids are UUIDs in their tables. */
const WITH_UUID: ReadonlySet<string> = new Set<PlacedKind>(['attempt', 'refund', 'dispute', 'settlement'])

function publicSubject(kind: CaseSubject['kind'], subject: string, place: Place): string {
  if (WITH_UUID.has(kind)) return idOf(kind as 'attempt', subject, place)
  return kind === 'receipt' ? `receipt-${subject}` : subject
}

export function storedSubject({ kind, id }: CaseSubject): string {
  const parsed = WITH_UUID.has(kind) ? parseId(kind as 'attempt', id) : undefined
  return parsed ? uuidOf(parsed) : id.replace(/^receipt-/, '')
}

export async function casesOfAll(db: Queries, ids: PaymentId[]): Promise<Map<PaymentId | null, Case[]>> {
  const cases: Case[] = []
  for (const [place, group] of groupByPlace(ids, placeOf)) {
    const rows = await db.rows<CaseRow>(sql`
      select ${CASE_COLUMNS} from cases c
       where place = ${place} and payment_id = any(${group.map(uuidOf)}::uuid[]) and ${new Fixed(COUNTS_FOR_DECISION)} order by id`)
    cases.push(...rows.map(caseOfRow))
  }
  return Map.groupBy(cases, ({ paymentId }) => paymentId)
}

/** Writes what has changed. Of two processes that open the same case, the second one violates `one_open_case`. */
export function writeCases(tx: Writes, before: Case[], after: Case[]): void {
  const known = new Map(before.map((each) => [each.id, each]))
  for (const each of after) {
    const old = known.get(each.id)
    if (!old) insertCase(tx, each)
    else if (old !== each) updateCase(tx, each)
  }
}

export function insertCase(tx: Writes, from: Case): void {
  const { place, id, merchantId, mode, paymentId, subject } = from
  tx.write(sql`
    insert into cases (place, id, merchant_id, mode, payment_id, provider, reason, subject_kind, subject, subject_reference, amount, currency,
                       summary, opened_at)
    values (${place}, ${uuidOf(id)}, ${uuidOf(merchantId)}, ${mode}, ${paymentId && uuidOf(paymentId)}, ${from.provider}, ${from.reason},
            ${subject.kind}, ${storedSubject(subject)}, ${subject.reference}, ${from.amount}, ${from.currency}, ${from.summary},
            ${from.openedAt})`)
}

export function updateCase(tx: Writes, from: Case): void {
  tx.write(sql`
    update cases
       set payment_id = ${from.paymentId && uuidOf(from.paymentId)}, amount = ${from.amount}, currency = ${from.currency}, summary = ${from.summary}, closed_at = ${from.closedAt},
           closed_by = ${from.closedBy}, note = ${from.note}
     where place = ${from.place} and id = ${uuidOf(from.id)}`)
}

export type ListedCase = Case & { paymentReference: string | null }

export interface CaseFilter {
  status: 'open' | 'closed' | undefined
  reason: CaseReason | undefined
  paymentId: PaymentId | undefined
  from: Date | undefined
  to: Date | undefined
  before: CaseId | undefined
  limit: number
}

const LISTED = `
  select ${CASE_COLUMNS.text}, p.reference as payment_reference from cases c left join payments p on p.place = $1 and p.id = c.payment_id
   where c.place = $1 and c.merchant_id = $2 and c.mode = $3`

/** Where the rows are read from, each by an index of its own. */
const SOURCES = {
  payment: `${LISTED} and c.payment_id = $8`,
  open: `${LISTED} and c.closed_at is null`,
  reason: `${LISTED} and c.reason = $7`,
  all: LISTED,
}

/** Newest first. */
export async function listCases(db: Queries, scope: Scope, filter: CaseFilter): Promise<ListedCase[]> {
  const { place, merchantId, mode } = scope
  const { status, reason, paymentId, from, to, before, limit } = filter
  const end = to ? firstUuidAt(to) : LAST_UUID
  const cursor = before ? uuidOf(before) : LAST_UUID
  const source = paymentId ? 'payment' : status === 'open' ? 'open' : reason ? 'reason' : 'all'
  const text = `${SOURCES[source]}
     and c.id >= $4::uuid and c.id < $5::uuid and ($6::text is null or (c.closed_at is null) = ($6::text = 'open'))
     and ($7::text is null or c.reason = $7) and ($8::uuid is null or c.payment_id = $8) order by c.id desc limit $9`
  const range = [firstUuidAt(from ?? new Date(0)), cursor < end ? cursor : end]
  const wanted = [status ?? null, reason ?? null, paymentId ? uuidOf(paymentId) : null, limit]
  const rows = await db.rows<ListedRow>(freshStatementOf(text, [place, uuidOf(merchantId), mode, ...range, ...wanted]))
  return rows.map(listedOf)
}

export async function findCase(db: Queries, { merchantId, mode }: Scope, id: CaseId): Promise<ListedCase | undefined> {
  const place = placeOf(id)
  const row = await db.row<ListedRow>(sql`
    select ${CASE_COLUMNS}, p.reference as payment_reference
      from cases c left join payments p on p.place = ${place} and p.id = c.payment_id
     where c.place = ${place} and c.id = ${uuidOf(id)} and c.merchant_id = ${uuidOf(merchantId)} and c.mode = ${mode}`)
  return row && listedOf(row)
}

type ListedRow = CaseRow & { payment_reference: string | null }

const listedOf = (row: ListedRow): ListedCase => ({ ...caseOfRow(row), paymentReference: row.payment_reference })
