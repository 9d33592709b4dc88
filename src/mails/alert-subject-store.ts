import type { Queries } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import type { AlertKind } from '../events/alert-kind.ts'
import { idOf, parseId, uuidOf } from '../kernel/ids.ts'
import { type Currency, formatMoney } from '../kernel/money.ts'
import type { Scope } from '../kernel/scope.ts'
import type { Alert } from './alert-queue-store.ts'

/** The line of each alert, by its id, that still needs a person. The reason of the others has gone by itself. */
export type Lines = Map<number, string>

/** Alerts of one merchant, mode and kind. */
export async function readLines(db: Queries, scope: Scope, kind: AlertKind, alerts: Alert[]): Promise<Lines> {
  const bySubject = await SUBJECTS[kind](
    db,
    scope,
    alerts.map(({ subject }) => subject),
  )
  return new Map(
    alerts.flatMap(({ id, subject }) => {
      const line = bySubject.get(subject)
      return line === undefined ? [] : [[id, line] as const]
    }),
  )
}

type ReadSubjects = (db: Queries, scope: Scope, subjects: string[]) => Promise<Map<string, string>>

/** No text that a customer, a provider or another merchant wrote: a mail program would make links of it. */
const SUBJECTS: Record<AlertKind, ReadSubjects> = {
  dispute_opened: openDisputes,
  dispute_due: openDisputes,
  refund_failed: openCases,
  case_opened: openCases,
  settlement: openCases,
  provider_failing: failingProviders,
  webhooks_failing: failingEndpoints,
  live_key: keysInUse,
}

async function openCases(db: Queries, { place }: Scope, subjects: string[]): Promise<Map<string, string>> {
  const ids = subjects.flatMap((subject) => parseId('case', subject) ?? [])
  const rows = await db.rows<{ id: string; reason: string; amount: number | null; currency: Currency | null }>(sql`
    select id, reason, amount, currency from cases
     where place = ${place} and id = any(${ids.map(uuidOf)}::uuid[]) and closed_at is null`)
  return new Map(
    rows.map(({ id, reason, amount, currency }) => {
      const words = reason.charAt(0).toUpperCase() + reason.slice(1).replaceAll('_', ' ')
      const sum = amount !== null && currency !== null ? `, ${formatMoney({ amount, currency })}` : ''
      return [idOf('case', id, place), words + sum]
    }),
  )
}

async function openDisputes(db: Queries, { place }: Scope, subjects: string[]): Promise<Map<string, string>> {
  const ids = subjects.flatMap((subject) => parseId('dispute', subject) ?? [])
  const rows = await db.rows<{ id: string; amount: number; currency: Currency; respond_by: Date | null }>(sql`
    select id, amount, currency, respond_by from disputes
     where place = ${place} and id = any(${ids.map(uuidOf)}::uuid[]) and status = 'open'`)
  return new Map(
    rows.map(({ id, amount, currency, respond_by: by }) => {
      const deadline = by ? `, answer by ${by.toISOString().slice(0, 16).replace('T', ' ')} UTC` : ''
      return [idOf('dispute', id, place), `${formatMoney({ amount, currency })}${deadline}`]
    }),
  )
}

async function failingEndpoints(db: Queries, _: Scope, subjects: string[]): Promise<Map<string, string>> {
  const uuids = subjects.map((subject) => subject.split(' ')[0])
  const rows = await db.rows<{ id: string; enabled: boolean }>(sql`
    select id, enabled from webhook_endpoints
     where id = any(${uuids}::uuid[]) and failing_since is not null and deleted_at is null`)
  const enabled = new Map(rows.map((row) => [row.id, row.enabled]))
  return new Map(
    subjects.flatMap((subject) => {
      const uuid = subject.split(' ')[0] ?? ''
      const isEnabled = enabled.get(uuid)
      if (isEnabled === undefined) return []
      return [[subject, `Endpoint ${idOf('endpoint', uuid)}${isEnabled ? '' : ', disabled since'}`] as const]
    }),
  )
}

/** `paystack list …`: a list cannot be read. `paystack 3 …`: this version of the keys was refused. */
async function failingProviders(db: Queries, scope: Scope, subjects: string[]): Promise<Map<string, string>> {
  const merchant = uuidOf(scope.merchantId)
  const runs = await db.rows<{ provider: string }>(sql`
    select distinct provider from reconciliation_runs
     where merchant_id = ${merchant} and mode = ${scope.mode} and failure is not null and kind <> 'open'`)
  const accounts = await db.rows<{ provider: string; account: number }>(sql`
    select provider, account from integrations where merchant_id = ${merchant} and mode = ${scope.mode} and enabled`)
  return new Map(
    subjects.flatMap((subject) => {
      const [provider, what] = subject.split(' ')
      const isList = what === 'list' && runs.some((run) => run.provider === provider)
      const isKeys = accounts.some((each) => each.provider === provider && String(each.account) === what)
      if (!isList && !isKeys) return []
      return [[subject, `${provider} ${isKeys ? 'refuses the keys' : 'does not answer, or refuses the keys'}`] as const]
    }),
  )
}

async function keysInUse(db: Queries, { merchantId }: Scope, subjects: string[]): Promise<Map<string, string>> {
  const rows = await db.rows<{ client_id: string }>(sql`
    select client_id from credentials
     where merchant_id = ${uuidOf(merchantId)} and client_id = any(${subjects}) and revoked_at is null`)
  return new Map(rows.map(({ client_id: id }) => [id, id]))
}
