import type { Database } from '../../../../src/database/database.ts'
import { sql } from '../../../../src/database/sql.ts'
import { saveFaults } from '../../../../src/providers/gateway/simulator/fault-store.ts'
import { NO_FAULTS } from '../../../../src/providers/gateway/simulator/faults.ts'

/** Some settlements of the sandbox provider are a week late, and some pay out too little. */
export const setSettlementFaults = (database: Database, merchantUuid: string, seed: number) =>
  saveFaults(database, merchantUuid, { ...NO_FAULTS, seed, shortSettlement: 0.3, lateSettlement: 0.3 })

export interface SettlementBooks {
  settlements: number
  lines: number
  openCases: number
  found: string[]
}

/** After two weeks everything that was taken is settled and read. */
const SETTLED_AFTER_DAYS = 14

/**
 * The provider's settlements beside ours: each is on record, and its lines sum up to what is paid out, or a case names
 * it. All settlements with what is not settled yet are what was paid less refunds.
 */
export async function compareSettlements(database: Database): Promise<SettlementBooks> {
  const ledger = await database.rows<{
    id: string
    net: number
    ours: number | null
    status: string | null
    sums: number | null
    expected: number
    summary: string | null
    isOld: boolean
  }>(sql`
    select 'gst_' || g.id as id, g.net, s.net as ours, s.status,
           (select sum(l.net) from settlement_lines l where l.settlement_id = s.id)::bigint - s.deductions as sums,
           g.gross - g.fees - g.deductions as expected,
           (select c.summary from cases c where c.subject = s.id::text and c.closed_at is null limit 1) as summary,
           g.paid_at < now() - make_interval(days => ${SETTLED_AFTER_DAYS}) as "isOld"
      from gateway_settlements g left join settlements s on s.provider_id = 'gst_' || g.id`)
  const found: string[] = []
  for (const { id, net, ours, status, sums, expected, summary, isOld } of ledger) {
    if (!isOld) continue
    if (ours !== net || status !== 'paid')
      found.push(`settlement ${id} of ${net} is ${ours} and ${status} in the books`)
    else if (sums !== net && !summary) found.push(`the lines of ${id} sum up to ${sums}, and it pays ${net}`)
    else if (expected !== net && !summary) found.push(`${id} is short, and no case names it`)
  }
  const sums = await database.rows<{ currency: string; lines: number; open: number; kept: number; named: number }>(sql`
    select c.currency,
           (select coalesce(sum(l.gross), 0) from settlement_lines l join settlements s on s.id = l.settlement_id
             where s.currency = c.currency and (l.receipt_id is not null or l.refund_id is not null))::bigint as lines,
           ((select coalesce(sum(amount), 0) from receipts where currency = c.currency and settled_in is null) -
            (select coalesce(sum(amount), 0) from refunds where currency = c.currency and settled_in is null and status = 'successful'))::bigint as open,
           ((select coalesce(sum(amount), 0) from receipts where currency = c.currency) -
            (select coalesce(sum(amount), 0) from refunds where currency = c.currency and status = 'successful'))::bigint as kept,
           -- A refund that failed after it was settled comes back by no line of this provider: a case names it.
           (select coalesce(sum(f.amount), 0) from refunds f where f.currency = c.currency and f.settled_in is not null and f.status <> 'successful')::bigint as named
      from (select distinct currency from receipts) c`)
  for (const { currency, lines, open, kept, named } of sums)
    if (lines + open !== kept - named)
      found.push(
        `settled ${lines} and not yet ${open} ${currency}, and paid less refunds is ${kept} (${named} of them failed later)`,
      )
  const counts = await database.row<{ settlements: number; lines: number; cases: number }>(sql`
    select (select count(*) from settlements)::integer as settlements, (select count(*) from settlement_lines)::integer as lines,
           (select count(*) from cases where subject_kind = 'settlement' and closed_at is null)::integer as cases`)
  const { settlements = 0, lines = 0, cases = 0 } = counts ?? {}
  if (ledger.length > 0 && settlements < 5) found.push(`${settlements} settlements show nothing`)
  return { settlements, lines, openCases: cases, found }
}
