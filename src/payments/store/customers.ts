import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { idOf, LAST_UUID, type PaymentId, uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'
import { findCardsOfAddress } from './saved-cards.ts'

/** What the payments of one e-mail address come to. */
export interface CustomerSummary {
  totals: { currency: string; payments: number; successful: number; amountPaid: number; amountRefunded: number }[]
  name: string | null
  phoneNumber: string | null
  /** The merchant's ids of this customer. */
  userIds: string[]
  firstAt: Date
  lastAt: Date
  /** The sums are those of the newest payments only. */
  isPartial: boolean
}

/** Payments of one customer that are summed up. A shop that uses one address for all customers has many more. */
const MAX_SUMMED = 2_000

/** Undefined if neither a payment nor a saved card has this e-mail address. */
export async function summarizeCustomer(
  db: Queries,
  scope: Scope,
  email: string,
): Promise<CustomerSummary | undefined> {
  const { place, merchantId, mode } = scope
  const rows = await db.rows<{
    currency: string
    payments: number
    successful: number
    amount_paid: number
    amount_refunded: number
    name: string | null
    phone_number: string | null
    user_ids: string[] | null
    first_at: Date
    last_at: Date
  }>(sql`
    with of_customer as materialized (
      select id, currency, status, amount_paid, amount_refunded, user_name, user_phone_number, user_id, created_at from payments
       where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and lower(user_email) = lower(${email})
       order by id desc limit ${MAX_SUMMED}
    )
    select currency, count(*) as payments, count(*) filter (where status = 'successful') as successful,
           sum(amount_paid)::bigint as amount_paid, sum(amount_refunded)::bigint as amount_refunded,
           (select o.user_name from of_customer o where o.user_name is not null order by o.id desc limit 1) as name,
           (select o.user_phone_number from of_customer o where o.user_phone_number is not null order by o.id desc limit 1) as phone_number,
           (select array_agg(distinct o.user_id) from of_customer o where o.user_id is not null) as user_ids,
           (select min(o.created_at) from of_customer o) as first_at, (select max(o.created_at) from of_customer o) as last_at
      from of_customer group by currency order by currency`)
  const [first] = rows
  if (!first) {
    // Retention has deleted the payments, and keeps the cards.
    const cards = await findCardsOfAddress(db, scope, email)
    return cards && { ...cards, totals: [], name: null, phoneNumber: null, isPartial: false }
  }
  return {
    totals: rows.map((row) => ({
      currency: row.currency,
      payments: row.payments,
      successful: row.successful,
      amountPaid: row.amount_paid,
      amountRefunded: row.amount_refunded,
    })),
    name: first.name,
    phoneNumber: first.phone_number,
    userIds: first.user_ids ?? [],
    firstAt: first.first_at,
    lastAt: first.last_at,
    isPartial: rows.reduce((sum, { payments }) => sum + payments, 0) === MAX_SUMMED,
  }
}

/** A customer in a list: the payments with one e-mail address. */
export interface ListedCustomer {
  email: string
  name: string | null
  /** Of the newest payment. */
  lastPayment: PaymentId
  lastAt: Date
}

/** Payments that one page reads. A merchant may have very many of one customer. */
const MAX_READ = 400

/** Customers by their newest payment, newest first. A page can be short and still have a next one. */
export async function listCustomers(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { before, limit }: { before: PaymentId | undefined; limit: number },
): Promise<{ customers: ListedCustomer[]; nextBefore: PaymentId | null }> {
  const merchant = uuidOf(merchantId)
  const rows = await db.rows<{
    id: string
    user_email: string
    user_name: string | null
    created_at: Date
    is_newest: boolean
  }>(sql`
    with newest as materialized (
      select id, user_email, user_name, created_at from payments
       where place = ${place} and merchant_id = ${merchant} and mode = ${mode} and id < ${before ? uuidOf(before) : LAST_UUID}::uuid
       order by id desc limit ${MAX_READ}
    )
    select id, user_email, user_name, created_at,
           not exists (select from payments n
                        where n.place = ${place} and n.merchant_id = ${merchant} and n.mode = ${mode}
                          and lower(n.user_email) = lower(newest.user_email) and n.id > newest.id) as is_newest
      from newest order by id desc`)
  const found = rows.filter((row) => row.is_newest)
  const page = found.slice(0, limit)
  const last = found.length > limit ? page.at(-1) : rows.length === MAX_READ ? rows.at(-1) : undefined
  return {
    customers: page.map((row) => ({
      email: row.user_email,
      name: row.user_name,
      lastPayment: idOf('payment', row.id, place),
      lastAt: row.created_at,
    })),
    nextBefore: last ? idOf('payment', last.id, place) : null,
  }
}
