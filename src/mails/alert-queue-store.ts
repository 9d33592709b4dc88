import type { Queries, Transaction } from '../database/database.ts'
import { freshSql, sql } from '../database/sql.ts'
import { ALERT_KINDS, type AlertKind } from '../events/alert-kind.ts'
import { idOf, type MemberId, type MerchantId, uuidOf } from '../kernel/ids.ts'
import type { Mode } from '../kernel/mode.ts'
import { ALL_PLACES, type Place } from '../kernel/place.ts'
import type { Owner, Scope } from '../kernel/scope.ts'
import type { Role } from '../members/permissions.ts'

/** Gets the alerts of all merchants, at ALERTS_URL. */
export const OPERATOR = 'operator'

export interface Alert extends Scope {
  id: number
  kind: AlertKind
  subject: string
}

interface AlertRow {
  place: Place
  id: number
  merchant_id: string
  mode: Mode
  kind: AlertKind
  subject: string
}

const alertOf = ({ merchant_id: uuid, ...row }: AlertRow): Alert => ({ ...row, merchantId: idOf('merchant', uuid) })

// ---- What a member wants ----

export interface AlertChoice {
  kinds: AlertKind[]
  /** One mail a day with all of them, instead of one for each kind. */
  daily: boolean
}

export async function findChoice(
  db: Queries,
  memberId: MemberId,
  { merchantId, mode }: Owner,
): Promise<AlertChoice | undefined> {
  return db.row<AlertChoice>(sql`
    select kinds, daily from alert_choices
     where member_id = ${uuidOf(memberId)} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode}`)
}

export async function saveChoice(
  tx: Transaction,
  memberId: MemberId,
  { merchantId, mode }: Owner,
  { kinds, daily }: AlertChoice,
): Promise<void> {
  await tx.rows(sql`
    insert into alert_choices (member_id, merchant_id, mode, kinds, daily)
    values (${uuidOf(memberId)}, ${uuidOf(merchantId)}, ${mode}, ${kinds}, ${daily})
    on conflict (member_id, merchant_id, mode) do update set kinds = excluded.kinds, daily = excluded.daily`)
}

export interface Recipient extends Owner {
  memberId: MemberId
  email: string
  role: Role
  choice: AlertChoice | undefined
}

/** The members of these merchants, for each mode. */
export async function listRecipients(db: Queries, merchantIds: MerchantId[]): Promise<Recipient[]> {
  const rows = await db.rows<{
    member_id: string
    merchant_id: string
    mode: Mode
    email: string
    role: Role
    kinds: AlertKind[] | null
    daily: boolean | null
  }>(sql`
    select s.member_id, s.merchant_id, o.mode, m.email, s.role, c.kinds, c.daily
      from memberships s join members m on m.id = s.member_id
     cross join (values ('sandbox'), ('live')) o (mode)
      left join alert_choices c on c.member_id = s.member_id and c.merchant_id = s.merchant_id and c.mode = o.mode
     where s.merchant_id = any(${merchantIds.map(uuidOf)}::uuid[])`)
  return rows.map((row) => ({
    memberId: idOf('member', row.member_id),
    merchantId: idOf('merchant', row.merchant_id),
    ...{ mode: row.mode, email: row.email, role: row.role },
    choice: row.kinds ? { kinds: row.kinds, daily: row.daily === true } : undefined,
  }))
}

// ---- From an alert to those who are told ----

/** The oldest ones, over all places. */
export async function findUnaddressed(db: Queries, limit: number): Promise<Pick<Alert, 'place' | 'id'>[]> {
  return db.rows<{ place: Place; id: number }>(sql`
    select place, id from alerts where addressed_at is null and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by created_at limit ${limit}`)
}

/** Of two processes, one gets an alert. The transaction writes its copies. */
export async function takeUnaddressed(tx: Transaction, place: Place, ids: number[], now: Date): Promise<Alert[]> {
  const rows = await tx.rows<AlertRow>(sql`
    update alerts a set addressed_at = ${now} where a.place = ${place} and a.id = any(${ids}::bigint[]) and a.addressed_at is null
    returning a.place, a.id, a.merchant_id, a.mode, a.kind, a.subject`)
  return rows.map(alertOf)
}

export async function insertCopies(
  tx: Transaction,
  place: Place,
  copies: { alert: Alert; recipient: string }[],
): Promise<void> {
  await tx.rows(sql`
    insert into alert_copies (place, alert_id, recipient, merchant_id, mode, kind)
    select ${place}::smallint, c.alert_id, c.recipient, c.merchant_id, c.mode, c.kind
      from unnest(${copies.map(({ alert }) => alert.id)}::bigint[], ${copies.map(({ recipient }) => recipient)}::text[],
                  ${copies.map(({ alert }) => uuidOf(alert.merchantId))}::uuid[], ${copies.map(({ alert }) => alert.mode)}::text[],
                  ${copies.map(({ alert }) => alert.kind)}::text[]) as c (alert_id, recipient, merchant_id, mode, kind)`)
}

// ---- The queue ----

export interface WaitingGroup extends Scope {
  recipient: string
  kind: AlertKind
}

/** Who waits for what, over all places: read from an index alone. */
export async function findWaitingGroups(db: Queries): Promise<WaitingGroup[]> {
  const rows = await db.rows<Omit<AlertRow, 'id' | 'subject'> & { recipient: string }>(sql`
    select c.recipient, c.merchant_id, c.mode, c.kind, min(c.place) as place from alert_copies c
     where c.place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     group by c.recipient, c.merchant_id, c.mode, c.kind order by 1, 2, 3, 4`)
  return rows.map(({ merchant_id: uuid, ...row }) => ({ ...row, merchantId: idOf('merchant', uuid) }))
}

export interface Turn extends Owner {
  recipient: string
  /** A kind of alert, or `digest`. */
  subject: AlertKind | 'digest'
}

export interface LastTime {
  sentAt: Date | null
  tries: number
}

export async function findLastTime(db: Queries, turn: Turn): Promise<LastTime> {
  const row = await db.row<{ sent_at: Date | null; tries: number }>(sql`
    select sent_at, tries from alert_times
     where recipient = ${turn.recipient} and merchant_id = ${uuidOf(turn.merchantId)} and mode = ${turn.mode} and subject = ${turn.subject}`)
  return { sentAt: row?.sent_at ?? null, tries: row?.tries ?? 0 }
}

/**
 * The right to send, for this process alone, until the lease ends. False: another process has it, or has sent since. A
 * lease that ends later than any can is of a clock that went back.
 */
export async function takeTurn(
  db: Queries,
  turn: Turn,
  { sentAt }: LastTime,
  { now, until, latest }: { now: Date; until: Date; latest: Date },
): Promise<boolean> {
  const rows = await db.rows(sql`
    insert into alert_times as t (recipient, merchant_id, mode, subject, leased_until)
    values (${turn.recipient}, ${uuidOf(turn.merchantId)}, ${turn.mode}, ${turn.subject}, ${until})
    on conflict (recipient, merchant_id, mode, subject) do update set leased_until = excluded.leased_until
     where (t.leased_until <= ${now} or t.leased_until > ${latest})
       and date_trunc('milliseconds', t.sent_at) is not distinct from ${sentAt}::timestamptz
    returning t.recipient`)
  return rows.length > 0
}

/** `leasedUntil`: when it may be tried next. */
export async function endTurn(
  db: Queries,
  turn: Turn,
  { sentAt, tries, leasedUntil }: LastTime & { leasedUntil: Date },
): Promise<void> {
  await db.rows(sql`
    update alert_times set sent_at = ${sentAt}, tries = ${tries}, leased_until = ${leasedUntil}
     where recipient = ${turn.recipient} and merchant_id = ${uuidOf(turn.merchantId)} and mode = ${turn.mode} and subject = ${turn.subject}`)
}

/** The oldest first. */
export async function readCopies(
  db: Queries,
  place: Place,
  { recipient, merchantId, mode, subject }: Turn,
  limit: number,
): Promise<Alert[]> {
  const kinds = subject === 'digest' ? ALL_KINDS : [subject]
  const rows = await db.rows<AlertRow>(sql`
    select a.place, a.id, a.merchant_id, a.mode, a.kind, a.subject
      from alert_copies c join alerts a on a.place = ${place} and a.id = c.alert_id
     where c.place = ${place} and c.recipient = ${recipient} and c.merchant_id = ${uuidOf(merchantId)} and c.mode = ${mode}
       and c.kind = any(${kinds})
     order by a.id limit ${limit}`)
  return rows.map(alertOf)
}

const ALL_KINDS: AlertKind[] = [...ALERT_KINDS]

export async function deleteCopies(db: Queries, place: Place, recipient: string, ids: number[]): Promise<void> {
  await db.rows(sql`
    delete from alert_copies where place = ${place} and recipient = ${recipient} and alert_id = any(${ids}::bigint[])`)
}

/** With their copies. */
export async function deleteOldAlerts(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const { first, last } = ALL_PLACES
  const rows = await db.rows<{ at: Date }>(freshSql`
    with old as materialized (
      select place, id from alerts where place between ${first} and ${last} and created_at < ${before}
       order by created_at limit ${limit}
    )
    delete from alerts a using old
     where a.place between ${first} and ${last} and a.place = old.place and a.id = old.id
    returning a.created_at as at`)
  return rows.map(({ at }) => at)
}
