import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { firstUuidAt, idOf, LAST_UUID, newId, type SettlementId, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import { ALL_PLACES, type Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { ListedSettlement as Listed } from '../../providers/provider.ts'
import { NO_LINES, type Settlement } from '../state/settlement.ts'
import type { AuditScope } from './provider-audit.ts'

interface SettlementRow {
  place: Place
  id: string
  merchant_id: string
  mode: Mode
  provider: string
  account: number
  provider_id: string
  currency: Currency
  status: Settlement['status']
  because: string | null
  made_at: Date
  expected_on: string | null
  paid_at: Date | null
  gross: number | null
  fees: number | null
  deductions: number | null
  net: number | null
  bank_reference: string | null
  has_lines: boolean
  difference: string | null
  changed: string | null
  lines_state: Settlement['linesState']
  lines_cursor: string | null
  reading: number
  line_count: number
  lines_gross: number | null
  lines_fees: number | null
  lines_net: number | null
  foreign_count: number
  announced_at: Date | null
  credit_id: number | null
  credit_day: string | null
  credit_amount: number | null
}

const OWN_COLUMNS = `
  s.place, s.id, s.merchant_id, s.mode, s.provider, s.account, s.provider_id, s.currency, s.status, s.because, s.made_at,
  s.expected_on::text as expected_on, s.paid_at, s.gross, s.fees, s.deductions, s.net, s.bank_reference, s.has_lines, s.difference, s.changed,
  s.lines_state, s.lines_cursor, s.reading, s.line_count, s.lines_gross, s.lines_fees, s.lines_net, s.foreign_count, s.announced_at,
  s.credit_id`
const COLUMNS = new Fixed(`${OWN_COLUMNS}, c.day::text as credit_day, c.amount as credit_amount`)
const COLUMNS_ALONE = new Fixed(`${OWN_COLUMNS}, null as credit_day, null::bigint as credit_amount`)
// The place is the first parameter of the statement.
const SOURCE = new Fixed('settlements s left join bank_credits c on c.place = $1 and c.id = s.credit_id')

function settlementOf(row: SettlementRow): Settlement {
  return {
    id: idOf('settlement', row.id, row.place),
    ...{ place: row.place, merchantId: idOf('merchant', row.merchant_id), mode: row.mode },
    ...{ provider: row.provider, keysVersion: row.account, providerId: row.provider_id },
    ...{ currency: row.currency, status: row.status, because: row.because },
    ...{ madeAt: row.made_at, expectedOn: row.expected_on, paidAt: row.paid_at },
    ...{ gross: row.gross, fees: row.fees, deductions: row.deductions, net: row.net },
    ...{ bankReference: row.bank_reference, hasLines: row.has_lines },
    ...{ difference: row.difference, changed: row.changed },
    ...{ linesState: row.lines_state, linesCursor: row.lines_cursor, reading: row.reading },
    lines: {
      ...{ count: row.line_count, gross: row.lines_gross ?? 0, fees: row.lines_fees ?? 0, net: row.lines_net },
      foreign: row.foreign_count,
    },
    announcedAt: row.announced_at,
    credit:
      row.credit_id === null || row.credit_day === null || row.credit_amount === null
        ? null
        : { id: row.credit_id, day: row.credit_day, amount: row.credit_amount },
  }
}

/** Those of the account that the provider calls so, locked, so that two processes record one after the other. */
export async function lockByProvider(
  tx: Transaction,
  { place, merchantId, mode, provider }: AuditScope,
  providerIds: string[],
): Promise<Map<string, Settlement>> {
  const merchant = uuidOf(merchantId)
  await tx.rows(sql`
    select id from settlements
     where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and provider = ${provider} and provider_id = any(${providerIds})
     order by id for update`)
  const rows = await tx.rows<SettlementRow>(sql`
    select ${COLUMNS} from ${SOURCE}
     where s.place = ${place} and s.merchant_id = ${merchant} and s.mode = ${mode} and s.provider = ${provider}
       and s.provider_id = any(${providerIds})`)
  return new Map(rows.map((row) => [row.provider_id, settlementOf(row)]))
}

export async function lockSettlement(tx: Transaction, scope: Scope, id: SettlementId): Promise<Settlement | undefined> {
  await tx.rows(sql`select id from settlements where place = ${scope.place} and id = ${uuidOf(id)} for update`)
  return findSettlement(tx, scope, id)
}

export async function findSettlement(
  db: Queries,
  { place, merchantId, mode }: Scope,
  id: SettlementId,
): Promise<Settlement | undefined> {
  const row = await db.row<SettlementRow>(sql`
    select ${COLUMNS} from ${SOURCE}
     where s.place = ${place} and s.id = ${uuidOf(id)} and s.merchant_id = ${uuidOf(merchantId)} and s.mode = ${mode}`)
  return row && settlementOf(row)
}

/** One that is not on record yet. */
export function newSettlement(scope: AuditScope, listed: Listed, now: Date): Settlement {
  const { id: providerId, ...facts } = listed
  const { place, merchantId, mode, provider, keysVersion } = scope
  const wantsLines = listed.status === 'paid' && listed.hasLines
  return {
    // A clock of the provider that is ahead must not make it the newest for ever.
    id: newId('settlement', new Date(Math.min(listed.madeAt.getTime(), now.getTime())), place),
    ...{ place, merchantId, mode, provider, keysVersion, providerId },
    ...facts,
    ...{ changed: null, linesState: wantsLines ? 'wanted' : 'none', linesCursor: null, reading: 0 },
    ...{ lines: NO_LINES, announcedAt: null, credit: null },
  }
}

/** Of two processes that list a new one at once, the second waits, and writes nothing. */
export async function insertSettlement(tx: Transaction, of: Settlement, now: Date): Promise<void> {
  await tx.rows(sql`
    insert into settlements (place, id, merchant_id, mode, provider, account, provider_id, currency, status, because, made_at,
                             expected_on, paid_at, gross, fees, deductions, net, bank_reference, has_lines, difference, lines_state,
                             recorded_at)
    values (${of.place}, ${uuidOf(of.id)}, ${uuidOf(of.merchantId)}, ${of.mode}, ${of.provider}, ${of.keysVersion}, ${of.providerId},
            ${of.currency}, ${of.status}, ${of.because}, ${of.madeAt}, ${of.expectedOn}, ${of.paidAt}, ${of.gross}, ${of.fees},
            ${of.deductions}, ${of.net}, ${of.bankReference}, ${of.hasLines}, ${of.difference}, ${of.linesState}, ${now})
    on conflict (merchant_id, mode, provider, provider_id, place) do nothing`)
}

export async function updateSettlement(tx: Transaction, of: Settlement): Promise<void> {
  await tx.rows(sql`
    update settlements
       set account = ${of.keysVersion}, currency = ${of.currency}, status = ${of.status}, because = ${of.because},
           expected_on = ${of.expectedOn}, paid_at = ${of.paidAt}, gross = ${of.gross}, fees = ${of.fees}, deductions = ${of.deductions},
           net = ${of.net}, bank_reference = ${of.bankReference}, has_lines = ${of.hasLines}, difference = ${of.difference},
           changed = ${of.changed}, lines_state = ${of.linesState}, lines_cursor = ${of.linesCursor}, reading = ${of.reading},
           line_count = ${of.lines.count}, lines_gross = ${of.lines.gross}, lines_fees = ${of.lines.fees}, lines_net = ${of.lines.net},
           foreign_count = ${of.lines.foreign}, announced_at = ${of.announcedAt}
     where place = ${of.place} and id = ${uuidOf(of.id)}`)
}

/** For a reading from the first page. */
export async function wantLinesAgain(tx: Transaction, { place, id, reading }: Settlement): Promise<void> {
  await tx.rows(sql`
    update settlements set lines_state = 'wanted', lines_cursor = null, reading = ${reading + 1}
     where place = ${place} and id = ${uuidOf(id)}`)
}

/** The next settlement of the account whose lines are to be read. `after`: a UUID. */
export async function nextToRead(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  after: string | null,
): Promise<Settlement | undefined> {
  const row = await db.row<SettlementRow>(sql`
    select ${COLUMNS} from ${SOURCE}
     where s.place = ${place} and s.merchant_id = ${uuidOf(merchantId)} and s.mode = ${mode} and s.provider = ${provider}
       and s.lines_state = 'wanted' and (${after}::uuid is null or s.id > ${after}::uuid)
     order by s.id limit 1`)
  return row && settlementOf(row)
}

/** When the oldest of those that are not paid yet was made: a list must be read from there on. */
export async function oldestPending(
  db: Queries,
  { place, merchantId, mode, provider }: AuditScope,
  since: Date,
): Promise<Date | null> {
  const row = await db.row<{ at: Date | null }>(sql`
    select min(made_at) as at from settlements
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider} and status = 'pending'
       and made_at >= ${since}`)
  return row?.at ?? null
}

export interface SettlementFilter {
  status: Settlement['status'] | undefined
  provider: string | undefined
  currency: string | undefined
  from: Date | undefined
  to: Date | undefined
  /** Only paid ones that no bank statement shows. */
  withoutCredit: boolean
  /** Only this one. */
  id: SettlementId | undefined
  before: SettlementId | undefined
  limit: number
}

export type ListedSettlement = Settlement & { openCase: string | null }

/** Newest first. `openCase`: what its open case says. */
export async function listSettlements(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { status, provider, currency, from, to, withoutCredit, id, before, limit }: SettlementFilter,
): Promise<ListedSettlement[]> {
  const merchant = uuidOf(merchantId)
  const rows = await db.rows<SettlementRow & { open_case: string | null }>(sql`
    select ${COLUMNS}, (select k.summary from cases k
                         where k.place = ${place} and k.merchant_id = ${merchant} and k.mode = ${mode} and k.subject_kind = 'settlement'
                           and k.subject = s.id::text and k.closed_at is null limit 1) as open_case
      from ${SOURCE}
     where s.place = ${place} and s.merchant_id = ${merchant} and s.mode = ${mode}
       and s.id < ${before ? uuidOf(before) : LAST_UUID}::uuid
       and (${id ? uuidOf(id) : null}::uuid is null or s.id = ${id ? uuidOf(id) : null})
       and (not ${withoutCredit}::boolean or (s.status = 'paid' and s.credit_id is null))
       and (${status ?? null}::text is null or s.status = ${status ?? null})
       and (${provider ?? null}::text is null or s.provider = ${provider ?? null})
       and (${currency ?? null}::text is null or s.currency = ${currency ?? null})
       and (${from ?? null}::timestamptz is null or s.made_at >= ${from ?? null})
       and (${to ?? null}::timestamptz is null or s.made_at < ${to ?? null})
     order by s.id desc limit ${limit}`)
  return rows.map((row) => ({ ...settlementOf(row), openCase: row.open_case }))
}

/** What its open case says. */
export async function openCaseOf(db: Queries, { place, merchantId, mode, id }: Settlement): Promise<string | null> {
  const row = await db.row<{ summary: string }>(sql`
    select summary from cases
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and subject_kind = 'settlement'
       and subject = ${uuidOf(id)}::text and closed_at is null limit 1`)
  return row?.summary ?? null
}

/** Makes the reading of what the providers pay out due, unless one was made a minute ago or is under way. */
export async function readListsNow(db: Queries, { merchantId, mode }: Scope): Promise<number> {
  const rows = await db.rows(sql`
    update reconciliation_runs set due_at = now()
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and kind = 'settlements' and time_window = '10 days' and started_at is null
       and due_at > now() and (finished_at is null or finished_at < now() - interval '1 minute')
    returning provider`)
  return rows.length
}

/** Of all merchants, in the order of ids, after that one. For the audit. */
export async function settlementsAfter(
  db: Queries,
  after: Pick<Settlement, 'id' | 'place'> | undefined,
  limit: number,
): Promise<Settlement[]> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<SettlementRow>(sql`
    select ${COLUMNS_ALONE} from settlements s
     where s.place between ${first} and ${last} and (s.id, s.place) > (${after ? uuidOf(after.id) : firstUuidAt(new Date(0))}::uuid, ${after?.place ?? 0}::smallint)
     order by s.id, s.place limit ${limit}`)
  return rows.map(settlementOf)
}

/** Whether a case, open or closed, says so of the settlement. */
export async function hasCase(
  db: Queries,
  { place, merchantId, mode, id }: Settlement,
  summary: string,
): Promise<boolean> {
  const row = await db.row(sql`
    select id from cases
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and subject_kind = 'settlement'
       and subject = ${uuidOf(id)}::text and summary = ${summary} limit 1`)
  return row !== undefined
}
