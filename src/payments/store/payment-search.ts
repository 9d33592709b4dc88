import type { Queries } from '../../database/database.ts'
import { freshStatementOf, sql } from '../../database/sql.ts'
import type { Channel } from '../../kernel/channel.ts'
import { firstUuidAt, idOf, LAST_UUID, type PaymentId, parseId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import type { AttemptStatus } from '../state/attempt.ts'
import { HELD } from '../state/case.ts'
import type { PaymentStatus } from '../state/payment.ts'

/** The criteria of the dashboard's list. Absent: any. */
export interface PaymentCriteria {
  /** The text of the search box, without spaces around it. */
  search?: string | undefined
  status?: PaymentStatus | undefined
  provider?: string | undefined
  channel?: Channel | undefined
  currency?: string | undefined
  amountFrom?: number | undefined
  amountTo?: number | undefined
  from?: Date | undefined
  to?: Date | undefined
  late?: true | undefined
  needsReview?: true | undefined
}

/** A line of a list or an export: a payment, and a summary of its attempts. `last…`: of the last attempt. */
export interface ListedPayment {
  id: PaymentId
  reference: string
  status: PaymentStatus
  late: boolean
  needsReview: boolean
  amount: number
  amountPaid: number
  amountRefunded: number
  /** Of the successful attempt. */
  fee: number | null
  feeCharged: number | null
  currency: string
  country: string
  email: string
  name: string | null
  phoneNumber: string | null
  userId: string | null
  attempts: number
  lastStatus: AttemptStatus | null
  lastProvider: string | null
  lastChannel: Channel | null
  lastFailure: string | null
  metadata: Record<string, string>
  createdAt: Date
  expiresAt: Date
  completedAt: Date | null
}

const CANDIDATE_COLUMNS = `
  p.place, p.id, p.reference, p.status, p.late, p.amount, p.amount_paid, p.amount_refunded, p.currency, p.country, p.user_email, p.user_name,
  p.user_phone_number, p.user_id, p.metadata, p.created_at, p.expires_at, p.completed_at`
/** SQL of `isReviewOfAttempt`. */
const IS_REVIEW = `c.closed_at is null and c.subject_kind = 'attempt' and c.summary not like '${HELD}%'`
const LISTED_COLUMNS = `
  p.id, p.reference, p.status, p.late, exists (
    select from cases c where c.place = $1 and c.payment_id = p.id and ${IS_REVIEW}) as "needsReview", p.amount, p.amount_paid as "amountPaid",
  p.amount_refunded as "amountRefunded", a.fee, a."feeCharged", p.currency, p.country, p.user_email as email, p.user_name as name,
  p.user_phone_number as "phoneNumber", p.user_id as "userId", a.attempts, last.status as "lastStatus", last.provider as "lastProvider",
  last.channel as "lastChannel", last.failure_code as "lastFailure", p.metadata, p.created_at as "createdAt", p.expires_at as "expiresAt",
  p.completed_at as "completedAt"`

export interface PaymentPage {
  payments: ListedPayment[]
  /** The last payment that was read. Null: there are no more. */
  nextBefore: PaymentId | null
}

/**
 * Rows that one statement reads. No more: the planner knows nothing about places and expects few rows, so with a larger
 * limit it sorts all payments of a merchant instead of reading an index in its order (600 ms at 200 000 rows,
 * measured).
 */
const ROWS_PER_READ = 101
/**
 * A criterion without an index of its own (provider, amount …) is checked row by row. A page that has read this many
 * times is answered with what it found, and with the cursor to go on.
 */
const MAX_READS = 5

/** Newest first, by keyset. */
export async function searchPayments(
  db: Queries,
  scope: Scope,
  criteria: PaymentCriteria,
  { before, limit }: { before: PaymentId | undefined; limit: number },
): Promise<PaymentPage> {
  const { search = '' } = criteria
  const ids = search === '' || search.includes('@') ? [] : await findNamed(db, scope, search)
  const found: ListedPayment[] = []
  let cursor = before
  for (let reads = 0; reads < MAX_READS; reads++) {
    const { payments, last } = await readPayments(db, scope, criteria, ids, cursor)
    found.push(...payments)
    const page = found.slice(0, limit)
    if (found.length > limit) return { payments: page, nextBefore: page.at(-1)?.id ?? null }
    if (!last) return { payments: page, nextBefore: null }
    cursor = last
  }
  return { payments: found, nextBefore: cursor ?? null }
}

/** The values of a read, in the order of their numbers in the text. */
const GIVEN = `
    given as (select $1::smallint as place, $2::uuid as merchant, $3::text as mode, $4::uuid as first, $5::uuid as below, $6::text as search,
                     $7::text as status, $8::uuid as link, $9::uuid[] as ids, $10::text as currency, $11::bigint as amount_from, $12::bigint as amount_to,
                     $13::timestamptz as since, $14::timestamptz as until, $15::boolean as late, $16::boolean as review, $17::text as provider,
                     $18::text as channel)`

const paymentsWhere = (condition: string) => `
      select ${CANDIDATE_COLUMNS} from payments p
       where place = $1 and merchant_id = $2 and mode = $3 and ${condition} and id >= $4 and id < $5
       order by id desc limit ${ROWS_PER_READ}`
const paymentsOfAttemptsWhere = (...conditions: string[]) => `
      select ${CANDIDATE_COLUMNS} from payments p join (
        select distinct payment_id from (${conditions
          .map(
            (condition) => `
          (select distinct a.payment_id from attempts a
            where a.place = $1 and a.merchant_id = $2 and a.mode = $3 and ${condition} and a.payment_id >= $4 and a.payment_id < $5
            order by a.payment_id desc limit ${ROWS_PER_READ})`,
          )
          .join(' union all ')}
        ) of_attempts order by payment_id desc limit ${ROWS_PER_READ}
      ) named on p.id = named.payment_id
       where p.place = $1`

/** Where the rows are read from, each by an index of its own. */
const CANDIDATES = {
  all: paymentsWhere('true'),
  finished: paymentsWhere(`status = $7 and status <> 'pending'`),
  late: paymentsWhere('late'),
  'e-mail': paymentsWhere('lower(user_email) = lower($6)'),
  link: paymentsWhere('link_id = $8'),
  named: paymentsWhere('id = any($9)'),
  review: `
      select ${CANDIDATE_COLUMNS} from payments p join (
        select distinct c.payment_id from cases c
         where c.place = $1 and c.merchant_id = $2 and c.mode = $3 and ${IS_REVIEW} and c.payment_id >= $4 and c.payment_id < $5
         order by c.payment_id desc limit ${ROWS_PER_READ}
      ) named on p.id = named.payment_id
       where p.place = $1`,
  failure: paymentsOfAttemptsWhere(
    `a.failure is not null and a.failure->>'code' = $6`,
    `a.failure->>'providerCode' is not null and a.failure->>'providerCode' = $6`,
  ),
}
type Source = keyof typeof CANDIDATES

const MATCHING = `
    select found.*, (select count(*) from candidates) as rows_read, (select id from candidates order by id limit 1) as last_read
      from (select) as one left join lateral (
        select ${LISTED_COLUMNS} from candidates p
          cross join lateral (
            select count(*) as attempts, max(fee) filter (where status = 'successful') as fee,
                   max(fee_charged) filter (where status = 'successful') as "feeCharged"
              from attempts where place = $1 and payment_id = p.id) a
          left join lateral (
            select status, provider, channel, failure->>'code' as failure_code from attempts
             where place = $1 and payment_id = p.id order by number desc limit 1) last on true
         where ($7::text is null or p.status = $7)
           and ($10::text is null or p.currency = $10)
           and ($11::bigint is null or p.amount >= $11)
           and ($12::bigint is null or p.amount <= $12)
           and ($13::timestamptz is null or p.created_at >= $13)
           and ($14::timestamptz is null or p.created_at < $14)
           and (not $15::boolean or p.late)
           and (not $16::boolean or exists (
                 select from cases c where c.place = $1 and c.payment_id = p.id and ${IS_REVIEW}))
           and ($17::text is null and $18::text is null or exists (
                 select from attempts a
                  where a.place = $1 and a.payment_id = p.id and ($17::text is null or a.provider = $17)
                    and ($18::text is null or a.channel = $18)))
         order by p.id desc
      ) found on true`

/** The statement for each source. */
export const SEARCHES = Object.fromEntries(
  Object.entries(CANDIDATES).map(([source, candidates]) => [
    source,
    `
  with ${GIVEN},
    candidates as materialized (${candidates}
    )${MATCHING}`,
  ]),
) as Record<Source, string>

/** The matching ones of the next rows, and the last of those rows if there may be more. */
async function readPayments(
  db: Queries,
  { place, merchantId, mode }: Scope,
  criteria: PaymentCriteria,
  ids: string[],
  before: PaymentId | undefined,
): Promise<{ payments: ListedPayment[]; last: PaymentId | undefined }> {
  const { search = '', status = null, provider = null, channel = null, currency = null } = criteria
  const { amountFrom = null, amountTo = null, from = null, to = null, late = false, needsReview = false } = criteria
  const link = parseId('link', search)
  const first = firstUuidAt(new Date((from?.getTime() ?? 0) - CLOCKS_MAY_DIFFER_MS))
  const last = to ? firstUuidAt(new Date(to.getTime() + CLOCKS_MAY_DIFFER_MS)) : LAST_UUID
  const cursor = before ? uuidOf(before) : LAST_UUID
  const below = cursor < last ? cursor : last
  const values = [
    ...[place, uuidOf(merchantId), mode, first, below, search, status, link ? uuidOf(link) : null, ids],
    ...[currency, amountFrom, amountTo, from, to, late, needsReview, provider, channel],
  ]
  const rows = await db.rows<
    Omit<ListedPayment, 'id'> & { id: string | null; rows_read: number; last_read: string | null }
  >(freshStatementOf(SEARCHES[sourceOf(criteria, ids)], values))
  const [{ rows_read: rowsRead = 0, last_read: lastRead = null } = {}] = rows
  return {
    payments: rows.flatMap((row) => (row.id === null ? [] : [{ ...row, id: idOf('payment', row.id, place) }])),
    last: rowsRead >= ROWS_PER_READ && lastRead !== null ? idOf('payment', lastRead, place) : undefined,
  }
}

// Ids have the time of the process that created them, created_at has the time of the database.
export const CLOCKS_MAY_DIFFER_MS = 3_600_000

function sourceOf({ search = '', status, late, needsReview }: PaymentCriteria, ids: string[]): Source {
  if (search.includes('@')) return 'e-mail'
  if (parseId('link', search)) return 'link'
  if (search !== '') return ids.length > 0 ? 'named' : 'failure'
  if (needsReview) return 'review'
  if (late) return 'late'
  return status && status !== 'pending' ? 'finished' : 'all'
}

/** Payments that one name can stand for. More than that are not a name. */
const MAX_NAMED = 200

/**
 * The payments that have this id, reference, short code, account number, reference or transaction at the provider, or
 * whose customer has a saved card with these last four digits. Each by an index.
 */
async function findNamed(db: Queries, { place, merchantId, mode }: Scope, name: string): Promise<string[]> {
  const merchant = uuidOf(merchantId)
  const [payment, attempt, refund] = [parseId('payment', name), parseId('attempt', name), parseId('refund', name)]
  const rows = await db.rows<{ id: string }>(sql`
    select id from payments where place = ${place} and id = ${payment ? uuidOf(payment) : null}
    union
    select payment_id from attempts where place = ${place} and id = ${attempt ? uuidOf(attempt) : null}
    union
    select payment_id from refunds where place = ${place} and id = ${refund ? uuidOf(refund) : null}
    union
    select id from payments where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and reference = ${name}
    union
    select id from payments where place = ${place} and short_code = ${name}
    union
    select payment_id from attempts where place = ${place} and reference = ${name}
    union
    select payment_id from attempts where place = ${place} and order_reference = ${name}
    union
    select a.payment_id from integrations i
      join attempts a on a.place = ${place} and a.merchant_id = i.merchant_id and a.mode = i.mode and a.provider = i.provider
                     and a.provider_reference = ${name}
     where i.merchant_id = ${merchant} and i.mode = ${mode}
    union
    select r.payment_id from integrations i cross join lateral generate_series(0, i.account) as versions (version)
      join receipts r on r.place = ${place} and r.merchant_id = i.merchant_id and r.mode = i.mode and r.provider = i.provider
                     and r.account = versions.version and r.transaction_id = ${name}
     where i.merchant_id = ${merchant} and i.mode = ${mode} and r.payment_id is not null
    union
    (select a.payment_id from attempts a
      where a.place = ${place} and a.merchant_id = ${merchant} and a.mode = ${mode}
        and a.instructions->>'accountNumber' is not null and a.instructions->>'accountNumber' = ${name}
      limit ${MAX_NAMED})
    union
    (select p.id from saved_cards c cross join lateral (
        select id from payments
         where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and user_id = c.user_id order by id desc limit 20) p
      where c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.last4 = ${name} and c.user_id is not null
      limit ${MAX_NAMED})
    union
    (select p.id from saved_cards c cross join lateral (
        select id from payments
         where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and lower(user_email) = lower(c.email)
         order by id desc limit 20) p
      where c.place = ${place} and c.merchant_id = ${merchant} and c.mode = ${mode} and c.last4 = ${name} and c.user_id is null
      limit ${MAX_NAMED})`)
  return rows.map(({ id }) => id)
}
