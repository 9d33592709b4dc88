import { createHash } from 'node:crypto'
import { batch } from '../../database/batch.ts'
import type { Database, Queries } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { type AttemptId, idOf, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import { ALL_PLACES, groupByPlace, type Place } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { Postponed } from '../../outbound/account-limits.ts'
import type { Notice, NoticeState } from '../state/notice.ts'
import { PSEUDONYM } from '../state/personal-data.ts'
import { GROUP_COMMIT, writeTogether } from './group-commit.ts'

const COLUMNS = new Fixed('n.place, n.id, n.merchant_id, n.mode, n.provider, n.account, n.reading')

interface NoticeRow {
  place: number
  id: number
  merchant_id: string
  mode: Mode
  provider: string
  account: number
  reading: Notice['reading']
}

function noticeOf(row: NoticeRow): Notice {
  return {
    id: row.id,
    place: row.place,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    provider: row.provider,
    account: row.account,
    reading: withTimes(row.reading),
  }
}

/** Restores dates, which JSON stores as text. */
function withTimes(reading: Notice['reading']): Notice['reading'] {
  if (reading.kind !== 'notice') return reading
  return { ...reading, receipts: reading.receipts.map((receipt) => ({ ...receipt, at: new Date(receipt.at) })) }
}

/** Associated data of the encrypted body, which names the customer, and with some providers contains a saved card token. */
export const noticeContext = (digest: Buffer) => `notices.body:${digest.toString('hex')}`

/**
 * Stores a notice; a repeat (the same digest) only increases a counter. The receiving process handles it at once. The worker takes it
 * after 10 seconds: after a crash, or beside the receiving process when the provider is slow, whose call may take 30 seconds. Both ask
 * the provider, and the payment's row lock serializes what they write.
 */
export async function insertNotice(
  database: Database,
  secrets: SecretBox,
  scope: Scope,
  notice: Pick<Notice, 'provider' | 'account' | 'reading'> & { body: Buffer },
): Promise<{ notice: Notice; isNew: boolean }> {
  const { provider, account, body, reading } = notice
  const { reference, says } = reading.kind === 'notice' ? reading : { reference: null, says: reading.kind }
  const digest = createHash('sha256').update(body).digest()
  const sealed = secrets.seal(body.toString('latin1'), noticeContext(digest))
  const merchant_id = uuidOf(scope.merchantId)
  const row = await inserterOf(database)({
    ...{ place: scope.place, merchant_id, mode: scope.mode, provider, account, reading, reference, says },
    digest: bytea(digest),
    body: bytea(sealed),
  })
  return { notice: { ...scope, id: row.id, provider, account, reading }, isNew: row.times === 1 }
}

interface NewNotice extends Omit<NoticeRow, 'id'> {
  digest: string
  body: string
  reference: string | null
  says: string
}

type Inserted = Pick<NoticeRow, 'id' | 'merchant_id' | 'mode' | 'provider'> & { digest_hex: string; times: number }

/** A bytea in JSON. */
const bytea = (bytes: Buffer) => `\\x${bytes.toString('hex')}`

/** Group commit: one inserter for each database. */
const inserters = new WeakMap<Database, (notice: NewNotice) => Promise<Inserted>>()

function inserterOf(database: Database) {
  const inserter =
    inserters.get(database) ??
    batch<NewNotice, Inserted>({
      ...GROUP_COMMIT,
      name: 'store notices',
      write: (notices) => insertAll(database, notices),
    })
  inserters.set(database, inserter)
  return inserter
}

async function insertAll(database: Database, notices: NewNotice[]): Promise<(Inserted | Error)[]> {
  // One statement cannot insert a notice and count its repeat.
  const hasRepeats = new Set(notices.map(keyOf)).size < notices.length
  const groups = hasRepeats ? notices.map((notice) => [notice]) : [notices]
  const results: (Inserted | Error)[] = []
  const placeOf = ({ place }: NewNotice) => place
  for (const group of groups) {
    results.push(...(await writeTogether(group, placeOf, (place, some) => insertInOne(database, place, some))))
  }
  return results
}

const keyOf = ({
  merchant_id,
  mode,
  provider,
  digest,
}: Pick<NewNotice, 'merchant_id' | 'mode' | 'provider' | 'digest'>) => `${merchant_id} ${mode} ${provider} ${digest}`

async function insertInOne(database: Database, place: Place, notices: NewNotice[]): Promise<Inserted[]> {
  const rows = await database.rows<Inserted>(sql`
    insert into notices as n (place, merchant_id, mode, provider, account, digest, body, reading, reference, says, due_at)
    select ${place}::smallint, r.merchant_id, r.mode, r.provider, r.account, r.digest, r.body, r.reading, r.reference, r.says,
           now() + interval '10 seconds'
      from jsonb_to_recordset(${JSON.stringify(notices)}::jsonb)
           r (merchant_id uuid, mode text, provider text, account integer, digest bytea, body bytea, reading jsonb, reference text, says text)
    on conflict (place, merchant_id, mode, provider, digest) do update set times = n.times + 1
    returning n.id, n.merchant_id, n.mode, n.provider, encode(n.digest, 'hex') as digest_hex, n.times`)
  const rowOf = new Map(rows.map((row) => [keyOf({ ...row, digest: `\\x${row.digest_hex}` }), row]))
  return notices.map((notice) => rowOf.get(keyOf(notice)) as Inserted)
}

/** Found without a lock: `due_at` is also the lease, and guards the update, as in claimDueChecks. */
export async function claimWaitingNotices(db: Queries, limit: number): Promise<Notice[]> {
  const rows = await db.rows<NoticeRow>(sql`
    with due as materialized (
      select place, id, state, due_at from notices
       where state = 'waiting' and due_at <= now() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by due_at limit ${limit}
    )
    update notices n set due_at = now() + least(interval '1 hour', interval '10 seconds' * power(2, least(n.tries, 9))), tries = n.tries + 1
      from due where n.place = due.place and n.id = due.id and n.state = due.state and n.due_at = due.due_at
    returning ${COLUMNS}`)
  return rows.map(noticeOf)
}

/** Postpones notices that exceed the rate limit of their provider account. This does not count as a try. Of a processed one it has no effect. */
export async function postponeNotices(db: Queries, late: Postponed<Notice>[]): Promise<void> {
  for (const [place, group] of groupByPlace(late, ({ item }) => item.place)) {
    await db.rows(sql`
      update notices n set due_at = now() + make_interval(secs => l.wait_ms / 1000), tries = greatest(0, n.tries - 1)
        from unnest(${group.map(({ item }) => item.id)}::bigint[], ${group.map(({ waitMs }) => waitMs)}::float8[]) as l (id, wait_ms)
       where n.place = ${place} and n.id = l.id`)
  }
}

/** The body of a notice about an erased customer is not kept. */
export async function endNotice(
  db: Queries,
  { place, id }: Pick<Notice, 'place' | 'id'>,
  { state, note, attemptId }: { state: NoticeState; note: string | null; attemptId?: AttemptId | undefined },
): Promise<void> {
  const attempt = attemptId ? uuidOf(attemptId) : null
  await db.rows(sql`
    update notices n
       set state = ${state}, note = ${note}, attempt_id = ${attempt},
           body = case when exists (
                    select from attempts a join payments p on p.place = a.place and p.id = a.payment_id
                     where a.place = ${place} and a.id = ${attempt}::uuid and p.user_email ~ ${PSEUDONYM}) then '' else n.body end
     where n.place = ${place} and n.id = ${id}`)
}

/** Deletes processed notices that came before that time. Returns when they came. */
export async function deleteFinishedNotices(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, id from notices
       where state in ('done', 'ignored') and received_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by received_at limit ${limit}
    )
    delete from notices n using old where n.place = old.place and n.id = old.id returning n.received_at as at`)
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
    delete from notices n using old where n.place = old.place and n.id = old.id and n.state = old.state returning n.received_at as at`)
  return rows.map(({ at }) => at)
}

/** The providers of which this merchant has a notice on record. */
export async function findProvidersWithNotices(
  db: Queries,
  { place, merchantId, mode }: Scope,
  providers: string[],
): Promise<string[]> {
  const rows = await db.rows<{ provider: string }>(sql`
    -- Not with "exists": PostgreSQL would read all notices of the merchant.
    select p.provider from unnest(${providers}::text[]) as p (provider)
     cross join lateral (select from notices n
                          where n.place = ${place} and n.merchant_id = ${uuidOf(merchantId)} and n.mode = ${mode} and n.provider = p.provider limit 1) n`)
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
