import { createHash } from 'node:crypto'
import type { Queries } from '../../database/database.ts'
import { Fixed, type Statement, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, groupByPlace, type Place, rowsOfEachPlace } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { dueTimes, type Postponed } from '../../outbound/call-limits.ts'
import type { Facts } from '../../providers/provider.ts'
import type { Attempt } from '../state/attempt.ts'
import type { Notice, NoticeState } from '../state/notice.ts'
import { PSEUDONYM } from '../state/personal-data.ts'

const COLUMNS = new Fixed('n.place, n.id, n.merchant_id, n.mode, n.provider, n.account, n.reading, n.received_at')

interface NoticeRow {
  place: number
  id: number
  merchant_id: string
  mode: Mode
  provider: string
  account: number
  reading: Notice['reading']
  received_at: Date
}

function noticeOf(row: NoticeRow): Notice {
  return {
    id: row.id,
    place: row.place,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    provider: row.provider,
    keysVersion: row.account,
    reading: withTimes(row.reading),
    receivedAt: row.received_at,
  }
}

/** Restores dates, which JSON stores as text. */
function withTimes(reading: Notice['reading']): Notice['reading'] {
  if (reading.kind !== 'notice') return reading
  const { settlement: noticed } = reading
  const settlement = noticed && {
    ...noticed.settlement,
    madeAt: new Date(noticed.settlement.madeAt),
    paidAt: noticed.settlement.paidAt && new Date(noticed.settlement.paidAt),
  }
  return {
    ...reading,
    receipts: reading.receipts.map((receipt) => ({ ...receipt, at: new Date(receipt.at) })),
    ...(settlement && { settlement: { ...noticed, settlement } }),
  }
}

/**
 * Associated data of the encrypted body, which names the customer, and with some providers contains a saved card token.
 */
export const noticeContext = (digest: Buffer) => `notices.body:${digest.toString('hex')}`

/**
 * Stores a notice; a repeat (the same digest) only increases a counter. The receiving process handles it at once. The
 * worker takes it after 10 seconds: after a crash, or beside the receiving process when the provider is slow, whose
 * call may take 30 seconds. Both ask the provider, and the payment's row lock serializes what they write.
 */
export async function insertNotice(
  db: Queries,
  secrets: SecretBox,
  scope: Scope,
  notice: Pick<Notice, 'provider' | 'keysVersion' | 'reading'> & { body: Buffer },
  now: Date,
): Promise<{ notice: Notice; isNew: boolean }> {
  const { provider, keysVersion, body, reading } = notice
  const { reference, says } = reading.kind === 'notice' ? reading : { reference: null, says: reading.kind }
  const digest = createHash('sha256').update(body).digest()
  // A settlement names many customers, and erasure finds none of them: it is kept as it was read.
  const isSettlement = reading.kind === 'notice' && reading.settlement !== undefined
  const sealed = isSettlement ? '' : secrets.seal(body.toString('latin1'), noticeContext(digest))
  const row = await db.row<{ id: number; times: number; receivedAt: Date }>(sql`
    insert into notices as n (place, merchant_id, mode, provider, account, digest, body, reading, reference, says, due_at)
    values (${scope.place}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${provider}, ${keysVersion}, ${digest}, ${sealed},
            ${JSON.stringify(reading)}, ${reference}, ${says}, ${now}::timestamptz + interval '10 seconds')
    on conflict (place, merchant_id, mode, provider, digest) do update set times = n.times + 1
    returning id, times, received_at as "receivedAt"`)
  if (!row) throw new Error('an insert or update of a notice returned no row')
  const { id, times, receivedAt } = row
  return { notice: { ...scope, id, provider, keysVersion, reading, receivedAt }, isNew: times === 1 }
}

/** Found without a lock, as in claimDueChecks. `due_at` is also the lease, which lasts longer after each try. */
export async function claimWaitingNotices(db: Queries, limit: number): Promise<Notice[]> {
  const due = await db.rows<{ place: Place; id: string; due_at: string; leased_until: string }>(sql`
    select place, id::text, due_at::text,
           (now() + least(interval '1 hour', interval '10 seconds' * power(2, least(tries, 9))))::text as leased_until
      from notices
     where state = 'waiting' and due_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by due_at limit ${limit}`)
  const rows = await rowsOfEachPlace(due, (place, group) =>
    db.rows<NoticeRow>(sql`
      update notices n set due_at = l.leased_until, tries = n.tries + 1
        from unnest(${group.map(({ id }) => id)}::bigint[], ${group.map(({ due_at }) => due_at)}::timestamptz[],
                    ${group.map(({ leased_until }) => leased_until)}::timestamptz[]) as l (id, due_at, leased_until)
       where n.place = ${place} and n.id = l.id and n.due_at = l.due_at and (n.state = 'waiting') is true
      returning ${COLUMNS}`),
  )
  return rows.map(noticeOf)
}

/**
 * Postpones notices that exceed the rate limit of their integration. This does not count as a try. Of a processed one
 * it has no effect.
 */
export async function postponeNotices(db: Queries, late: Postponed<Notice>[], now: Date): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => item.place)) {
    await db.rows(sql`
      update notices n set due_at = l.due_at, tries = greatest(0, n.tries - 1)
        from unnest(${group.map(({ item }) => item.id)}::bigint[], ${dueTimes(group, now)}::timestamptz[]) as l (id, due_at)
       where n.place = ${place} and n.id = l.id`)
  }
}

/** How a notice ended. */
export interface NoticeEnd {
  state: NoticeState
  note: string | null
  attemptId?: AttemptId | undefined
}

type NoticeKey = Pick<Notice, 'place' | 'id'>

/** False if it was done already. */
export async function endNotice(db: Queries, notice: NoticeKey, end: NoticeEnd): Promise<boolean> {
  const ended = await db.rows(noticeEnded(notice, end))
  // Afterwards: an erasure in between finds the notice by its attempt.
  if (end.attemptId) await db.rows(bodyOfErasedDropped(notice, end.attemptId))
  return ended.length > 0
}

/**
 * The receiving process and the worker may process the same notice. The first one changes the attempt, and the notice
 * is done. The second one finds nothing to change.
 */
export function noticeEnded({ place, id }: NoticeKey, { state, note, attemptId }: NoticeEnd): Statement {
  return sql`
    update notices set state = ${state}, note = ${note}, attempt_id = ${attemptId ? uuidOf(attemptId) : null}
     where place = ${place} and id = ${id} and state <> 'done' returning id`
}

/** The body of a notice about an erased customer is not kept. */
export function bodyOfErasedDropped({ place, id }: NoticeKey, attemptId: AttemptId): Statement {
  return sql`
    update notices set body = '', reading = reading - 'personalFacts'
     where place = ${place} and id = ${id}
       and exists (select from attempts a join payments p on p.place = ${place} and p.id = a.payment_id
                    where a.place = ${place} and a.id = ${uuidOf(attemptId)} and p.user_email ~ ${PSEUDONYM})`
}

/**
 * Of two transactions, one that tells us a provider's reference and one that marks a notice about it as unmatched, the
 * second sees what the first has written.
 */
export function referenceLocked(
  { merchantId, mode }: Scope,
  { provider, reference }: { provider: string; reference: string },
): Statement {
  const name = [uuidOf(merchantId), mode, provider, reference].join(' ')
  return sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
}

/** Unmatched notices with a reference that the provider has just told are processed again. */
export function noticesWaitAgain(
  { place, merchantId, mode }: Scope,
  { provider, reference }: { provider: string; reference: string },
  at: Date,
): Statement {
  return sql`
    update notices set state = 'waiting', due_at = ${at}, note = null
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and reference = ${reference} and state = 'unmatched'`
}

/** Deletes processed notices that came before that time. Returns when they came. */
export async function deleteFinishedNotices(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id from notices
       where state in ('done', 'ignored') and received_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by received_at limit ${limit}
    )
    delete from notices n using old
     where n.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and n.place = old.place and n.id = old.id
    returning n.received_at as at`)
  return rows.map(({ at }) => at)
}

/** The same for notices about orders that are not known. */
export async function deleteUnmatchedNotices(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id, state from notices
       where state = 'unmatched' and received_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by received_at limit ${limit}
    )
    delete from notices n using old
     where n.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and n.place = old.place and n.id = old.id and n.state = old.state
    returning n.received_at as at`)
  return rows.map(({ at }) => at)
}

/** What the processed notices about an attempt said, oldest first. */
export async function noticeFacts(db: Queries, { id, place }: Pick<Attempt, 'id' | 'place'>): Promise<Facts[]> {
  const rows = await db.rows<{ facts: Facts }>(sql`
    select coalesce(reading -> 'facts', '{}') || coalesce(reading -> 'personalFacts', '{}') as facts from notices
     where place = ${place} and attempt_id = ${uuidOf(id)} and reading ?| array['facts', 'personalFacts']
     order by received_at, id`)
  return rows.map(({ facts }) => facts)
}

/** What the unmatched notices of this reference said, oldest first. */
export async function unmatchedFacts(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { provider, reference }: { provider: string; reference: string },
): Promise<Facts[]> {
  const rows = await db.rows<{ facts: Facts }>(sql`
    select reading -> 'facts' as facts from notices
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and provider = ${provider}
       and reference = ${reference} and state = 'unmatched' and reading -> 'facts' is not null
     order by received_at, id`)
  return rows.map(({ facts }) => facts)
}

/** The providers of which this merchant has a notice on record. */
export async function findProvidersWithNotices(
  db: Queries,
  { place, merchantId, mode }: Scope,
  providers: string[],
): Promise<string[]> {
  const rows = await db.rows<{ provider: string }>(sql`
    -- Not with "exists", and in the order of the unique index: PostgreSQL would read all notices of the merchant.
    select p.provider from unnest(${providers}::text[]) as p (provider)
     cross join lateral (select from notices n
                          where n.place = ${place} and n.merchant_id = ${uuidOf(merchantId)} and n.mode = ${mode} and n.provider = p.provider
                          order by n.digest limit 1) n`)
  return rows.map(({ provider }) => provider)
}

export interface UnmatchedNotice {
  id: number
  provider: string
  merchantId: string
  mode: Mode
  reference: string | null
  says: string
  note: string | null
  times: number
  receivedAt: Date
}

export async function listUnmatched(db: Queries, limit: number): Promise<UnmatchedNotice[]> {
  const rows = await db.rows<Omit<UnmatchedNotice, 'receivedAt'> & { merchant_id: string; received_at: Date }>(sql`
    select id, provider, merchant_id, mode, reference, says, note, times, received_at from notices
     where state = 'unmatched' and place between ${ALL_PLACES.first} and ${ALL_PLACES.last} order by received_at desc limit ${limit}`)
  return rows.map(({ merchant_id, received_at, ...rest }) => ({
    ...rest,
    merchantId: idOf('merchant', merchant_id),
    receivedAt: received_at,
  }))
}
