import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import type { Owner } from '../kernel/scope.ts'
import { dueTimes, type Postponed } from '../outbound/call-limits.ts'
import type { AuditScope } from '../payments/store/provider-audit.ts'
import { PLANNED, type Range, type RunKind, type WindowName } from './windows.ts'

/** A row of `reconciliation_runs` that this process has claimed. */
export interface Run extends AuditScope {
  kind: RunKind
  window: WindowName
  lease: string
  /** When the integration was made. */
  since: Date
  /** The end of the range of the last finished run; null when there was none. */
  comparedTo: Date | null
  /** Null: no run is under way. */
  startedAt: Date | null
  range: Range | null
  phase: 'list' | 'absent' | 'lines'
  /** Which keys the list is read with; null before the first page. */
  readWith: number | null
  cursor: string | null
  counts: Counts
  failedSince: Date | null
  unsupported: string | null
}

export interface Counts {
  listed: number
  agreed: number
  booked: number
  foreign: number
  asked: number
  /** Of open refunds and disputes: orders without an answer. */
  absent: number
}

export const NO_COUNTS: Counts = { listed: 0, agreed: 0, booked: 0, foreign: 0, asked: 0, absent: 0 }

/** Adds the runs of new integrations, spread over the interval of each window. */
export async function planRuns(db: Queries): Promise<void> {
  await db.rows(sql`
    insert into reconciliation_runs (merchant_id, mode, provider, kind, time_window, due_at)
    select i.merchant_id, i.mode, i.provider, p.kind, p.name, now() + random() * p.seconds * interval '1 second'
      from integrations i
     cross join unnest(${PLANNED.map(({ kind }) => kind)}::text[], ${PLANNED.map(({ name }) => name)}::text[],
                       ${PLANNED.map(({ everySeconds }) => everySeconds)}::float[]) as p (kind, name, seconds)
     where not exists (select from reconciliation_runs r
                        where r.merchant_id = i.merchant_id and r.mode = i.mode and r.provider = i.provider
                          and r.kind = p.kind and r.time_window = p.name)
        on conflict do nothing`)
}

/** By `manilla audit --provider --repair`: the running service books what differs in this range. */
export async function askByHand(db: Queries, scope: AuditScope, { from, to }: Range): Promise<void> {
  const kinds = ['transactions', 'refunds', 'disputes']
  await db.rows(sql`
    insert into reconciliation_runs (merchant_id, mode, provider, kind, time_window, due_at, started_at, range_from, range_to)
    select ${uuidOf(scope.merchantId)}, ${scope.mode}, ${scope.provider}, kind, 'by hand', now(), now(), ${from}, ${to}
      from unnest(${kinds}::text[]) as kind
        on conflict (merchant_id, mode, provider, kind, time_window) do update
       set due_at = now(), started_at = now(), range_from = excluded.range_from, range_to = excluded.range_to, phase = 'list',
           keys_version = null, cursor = null, lease = null, leased_until = '-infinity', failure = null, failed_since = null`)
}

interface RunRow {
  merchant_id: string
  place: number
  mode: Mode
  provider: string
  account: number
  since: Date
  kind: RunKind
  time_window: WindowName
  lease: string
  started_at: Date | null
  range_from: Date | null
  range_to: Date | null
  phase: Run['phase']
  keys_version: number | null
  cursor: string | null
  listed: number
  agreed: number
  booked: number
  foreign_count: number
  asked: number
  absent: number
  failed_since: Date | null
  unsupported: string | null
  compared_to: Date | null
}

/** Claims due runs with a lease of ten minutes, each for its next page. */
export async function claimDueRuns(db: Queries, limit: number): Promise<Run[]> {
  const rows = await db.rows<RunRow>(sql`
    update reconciliation_runs r set lease = gen_random_uuid(), leased_until = now() + interval '10 minutes'
      from (select d.ctid from reconciliation_runs d
             where d.due_at <= now() and d.leased_until < now() order by d.due_at limit ${limit} for update skip locked) due,
           integrations i, merchants m
     where r.ctid = due.ctid and i.merchant_id = r.merchant_id and i.mode = r.mode and i.provider = r.provider and m.id = r.merchant_id
    returning r.merchant_id, m.place, r.mode, r.provider, i.account, i.created_at as since, r.kind, r.time_window, r.lease, r.started_at,
              r.range_from, r.range_to, r.phase, r.keys_version, r.cursor, r.listed, r.agreed, r.booked, r.foreign_count, r.asked,
              r.absent, r.failed_since, r.unsupported, r.compared_to`)
  return rows.map((row) => ({
    ...{ merchantId: idOf('merchant', row.merchant_id), place: row.place, mode: row.mode, provider: row.provider },
    ...{ keysVersion: row.account, since: row.since, kind: row.kind, window: row.time_window, lease: row.lease },
    comparedTo: row.compared_to,
    startedAt: row.started_at,
    range: row.range_from && row.range_to && { from: row.range_from, to: row.range_to },
    ...{ phase: row.phase, readWith: row.keys_version, cursor: row.cursor },
    counts: {
      ...{ listed: row.listed, agreed: row.agreed, booked: row.booked },
      ...{ foreign: row.foreign_count, asked: row.asked, absent: row.absent },
    },
    ...{ failedSince: row.failed_since, unsupported: row.unsupported },
  }))
}

/** Runs beyond the rate limit of their account. */
export async function postponeRuns(db: Queries, late: Postponed<Run>[], now: Date): Promise<void> {
  await db.rows(sql`
    update reconciliation_runs r set due_at = l.due_at, leased_until = '-infinity'
      from unnest(${late.map(({ item }) => item.lease)}::uuid[], ${dueTimes(late, now)}::timestamptz[]) as l (lease, due_at)
     where r.lease = l.lease`)
}

/** Keeps the lease while a page is worked on. False if another process has taken the run over. */
export async function keepLease(db: Queries, { lease }: Run): Promise<boolean> {
  const row = await db.row(sql`
    update reconciliation_runs set leased_until = now() + interval '10 minutes' where lease = ${lease} returning lease`)
  return row !== undefined
}

/**
 * Saves where a run goes on, and when; it has answered, so it fails no more. Of open refunds and disputes, only a whole
 * run says so.
 */
export async function saveProgress(db: Queries, run: Run, dueAt: Date): Promise<void> {
  const { counts, range } = run
  await db.rows(sql`
    update reconciliation_runs
       set started_at = ${run.startedAt}, range_from = ${range?.from ?? null}, range_to = ${range?.to ?? null}, phase = ${run.phase},
           keys_version = ${run.readWith}, cursor = ${run.cursor}, listed = ${counts.listed}, agreed = ${counts.agreed},
           booked = ${counts.booked}, foreign_count = ${counts.foreign}, asked = ${counts.asked}, absent = ${counts.absent},
           unsupported = ${run.unsupported}, failure = null, failed_since = case when kind = 'open' then failed_since end,
           due_at = ${dueAt}, lease = null, leased_until = '-infinity'
     where lease = ${run.lease}`)
}

/** The provider did not answer, or something else prevents it: the run goes on at the same place later. */
export async function saveFailure(
  db: Queries,
  run: Run,
  { because, at, dueAt }: { because: string; at: Date; dueAt: Date },
): Promise<void> {
  const { range } = run
  await db.rows(sql`
    update reconciliation_runs
       set started_at = ${run.startedAt}, range_from = ${range?.from ?? null}, range_to = ${range?.to ?? null}, phase = ${run.phase},
           keys_version = ${run.readWith}, cursor = ${run.cursor},
           failure = ${because.slice(0, 500)}, failed_since = coalesce(failed_since, ${at}),
           due_at = ${dueAt}, lease = null, leased_until = '-infinity'
     where lease = ${run.lease}`)
}

/** A run by hand is done once. `failure`: why its result is not complete. */
export async function saveFinished(
  db: Queries,
  run: Run,
  { at, dueAt, failure = null }: { at: Date; dueAt: Date; failure?: string | null },
): Promise<void> {
  if (run.kind === 'transactions') await forgetListed(db, run)
  if (run.window === 'by hand') {
    await db.rows(sql`delete from reconciliation_runs where lease = ${run.lease}`)
    return
  }
  const { counts } = run
  await db.rows(sql`
    update reconciliation_runs
       set finished_at = case when ${failure}::text is null then ${at} else finished_at end,
           compared_to = case when coalesce(${failure}::text, ${run.unsupported}) is null then coalesce(range_to, ${at}) else compared_to end,
           listed = ${counts.listed}, agreed = ${counts.agreed}, booked = ${counts.booked}, foreign_count = ${counts.foreign},
           asked = ${counts.asked}, absent = ${counts.absent}, started_at = null, range_from = null, range_to = null,
           phase = 'list', keys_version = null, cursor = null, unsupported = ${run.unsupported}, failure = ${failure},
           failed_since = case when ${failure}::text is not null then coalesce(failed_since, ${at}) end,
           due_at = ${dueAt}, lease = null, leased_until = '-infinity'
     where lease = ${run.lease}`)
}

/**
 * Of the transactions' run of a window; those of refunds and disputes mark nothing. A process that has lost its lease
 * keeps the marks of the one that took over.
 */
export async function forgetListed(db: Queries, run: Run): Promise<void> {
  await db.rows(sql`
    delete from reconciliation_listed
     where place = ${run.place} and merchant_id = ${uuidOf(run.merchantId)} and mode = ${run.mode} and provider = ${run.provider}
       and time_window = ${run.window} and exists (select from reconciliation_runs where lease = ${run.lease})`)
}

/** Receipts that this run has seen in the list. */
export async function markListed(db: Queries, run: Run, receiptIds: number[]): Promise<void> {
  await db.rows(sql`
    insert into reconciliation_listed (place, merchant_id, mode, provider, time_window, receipt_id)
    select ${run.place}, ${uuidOf(run.merchantId)}, ${run.mode}, ${run.provider}, ${run.window}, id
      from unnest(${receiptIds}::bigint[]) as id on conflict do nothing`)
}

/** When an account was last compared with a list of its provider, and why it cannot be now. For a page of the account. */
export interface LastCompared {
  provider: string
  kind: RunKind
  /** Null: not yet. */
  comparedAt: Date | null
  failure: string | null
  unsupported: string | null
}

export function lastCompared(db: Queries, { merchantId, mode }: Owner): Promise<LastCompared[]> {
  return db.rows<LastCompared>(sql`
    select provider, kind, max(finished_at) as "comparedAt", max(failure) as failure, max(unsupported) as unsupported
      from reconciliation_runs
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and kind <> 'open' and time_window <> 'by hand'
     group by provider, kind order by provider, kind`)
}

export interface ComparisonAge {
  provider: string
  window: WindowName
  /** Of the account where it is longest ago. */
  comparedAt: Date
}

/**
 * Per provider and window, of live accounts. Of a removed integration, too, for as long as it has keys: its refunds and
 * disputes go on. The short window is read only while an account is active.
 */
export function oldestComparisons(db: Queries): Promise<ComparisonAge[]> {
  return db.rows<ComparisonAge>(sql`
    select r.provider, r.time_window as "window", min(coalesce(r.finished_at, r.created_at)) as "comparedAt"
      from reconciliation_runs r
     where r.mode = 'live' and r.time_window not in ('2 hours', 'by hand')
     group by r.provider, r.time_window`)
}

/** The lists that an account does not have. */
export async function unsupportedKinds(db: Queries, scope: AuditScope): Promise<Set<string>> {
  const rows = await db.rows<{ kind: string }>(sql`
    select distinct kind from reconciliation_runs
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and provider = ${scope.provider} and unsupported is not null`)
  return new Set(rows.map(({ kind }) => kind))
}
