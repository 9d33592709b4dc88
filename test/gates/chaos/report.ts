import type { Database } from '../../../src/database/database.ts'
import { sql } from '../../../src/database/sql.ts'
import type { Comparison } from './check.ts'
import type { CallOutcome } from './door.ts'

/** The injected faults that can be counted. */
export interface Injected {
  noticesLost: number
  noticesDoubled: number
  noticesSentLate: number
  wrongAmounts: number
  calls: number
  callsUnanswered: number
  callsFailed: number
  callsNotMade: number
}

export interface ChaosOutcome {
  seed: number
  payments: number
  kills: number
  /** Of simulated time. */
  hours: number
  tookSeconds: { paying: number; settling: number }
  calls: Map<string, Record<CallOutcome, number>>
  injected: Injected
  records: Comparison
}

export async function readInjected(database: Database): Promise<Injected> {
  const row = await database.row<Injected>(sql`
    select (select count(*) from gateway_notices where state = 'lost') as "noticesLost",
           (select count(*) - count(distinct body) from gateway_notices) as "noticesDoubled",
           (select count(*) from gateway_notices where tries > 1) as "noticesSentLate",
           (select count(*) from gateway_transactions t join gateway_payments p on p.id = t.payment_id
             where t.kind = 'charge' and t.status = 'paid' and t.amount <> p.requested) as "wrongAmounts",
           (select coalesce(sum(times), 0)::integer from provider_calls) as calls,
           (select coalesce(sum(times), 0)::integer from provider_calls where detail = 'no whole answer before the deadline') as "callsUnanswered",
           (select coalesce(sum(times), 0)::integer from provider_calls where detail like 'it answered 5%') as "callsFailed",
           (select coalesce(sum(times), 0)::integer from provider_calls where detail like '%not being asked%') as "callsNotMade"`)
  return row as Injected
}

export function differencesOf({ differences, refundDifferences }: Comparison): string[] {
  return [...differences, ...refundDifferences]
}

export function figuresOf({ payments, kills, hours, injected, records }: ChaosOutcome): Record<string, number> {
  return {
    payments,
    'simulated hours': hours,
    'kill -9': kills,
    'notices lost, doubled or late': injected.noticesLost + injected.noticesDoubled + injected.noticesSentLate,
    'provider calls that failed': injected.callsUnanswered + injected.callsFailed,
    'records in the ledger': records.ledgerRecords,
    'charged, in kobo': records.taken.theirs,
    'refunded, in kobo': records.refunded.theirs,
    differences: differencesOf(records).length,
  }
}

export function printChaos(outcome: ChaosOutcome): string {
  const { seed, payments, kills, hours, tookSeconds, calls, injected, records } = outcome
  const { taken, refunded } = records
  const differences = differencesOf(records)
  const rows: [string, string][] = [
    ['customers', `${payments}, paying for ${tookSeconds.paying} s; then ${tookSeconds.settling} s without load`],
    ['kills', `${kills} × kill -9`],
    ...(hours > 0 ? [['clocks', `${hours} h of simulated time`] satisfies [string, string]] : []),
    ...[...calls].map(([name, counts]): [string, string] => [`calls: ${name}`, listOf(Object.entries(counts))]),
    [
      'provider calls',
      `${injected.calls}: ${injected.callsUnanswered} unanswered, ${injected.callsFailed} with 5xx, ${injected.callsNotMade} stopped by the circuit breaker`,
    ],
    [
      'notices',
      `${injected.noticesLost} lost, ${injected.noticesDoubled} doubled, ${injected.noticesSentLate} sent again`,
    ],
    ['wrong amounts', `${injected.wrongAmounts}`],
    ['payments', `${listOf(records.payments)}; ${records.late} of them late`],
    ['attempts', listOf(records.attempts)],
    ['need review', `${records.needReview}`],
    [
      'still unknown',
      `${records.processing} attempts, ${records.refunding.attempts} refunds of ${records.refunding.amount}`,
    ],
    ['charged', bothOf(taken)],
    ['refunded', bothOf(refunded)],
    ['ledger records', `${records.ledgerRecords}`],
    ['differences', differences.length === 0 ? '0' : `${differences.length}  FAILED, must be 0`],
  ]
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    `chaos, seed ${seed}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    ...differences.slice(0, 20).map((difference) => `  FAILED  ${difference}`),
    '',
  ].join('\n')
}

export function listOf(counts: Iterable<[string, number]>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
}

export function bothOf({ ours, theirs }: { ours: number; theirs: number }): string {
  return `ours ${ours}, theirs ${theirs}, difference ${ours - theirs}`
}
