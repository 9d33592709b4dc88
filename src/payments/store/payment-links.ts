import type { Queries, Transaction } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import type { Country } from '../../kernel/country.ts'
import { idOf, LAST_UUID, type LinkId, placeOf, placeOfShortCode, uuidOf } from '../../kernel/ids.ts'
import type { Mode } from '../../kernel/mode.ts'
import type { Currency } from '../../kernel/money.ts'
import type { Scope } from '../../kernel/scope.ts'
import { type LinkTerms, MAX_COUNTED, type PaymentLink } from '../state/payment-link.ts'

// The place is the first parameter of the statement.
const COLUMNS =
  new Fixed(`l.place, l.id, l.merchant_id, l.mode, l.code, l.title, l.description, l.amount, l.min_amount, l.max_amount,
  l.currency, l.country, l.customer_bears_charge, l.collect_name, l.collect_phone_number, l.custom_field, l.max_payments, l.active,
  l.redirect_url, l.metadata, l.created_at, l.expires_at,
  ceil(extract(epoch from l.expires_at - now()))::double precision as seconds_left,
  l.deleted_payments + (select count(*)::integer from (
     select from payments p where p.place = $1 and p.link_id = l.id and p.link_id is not null and p.status = 'successful'
      limit ${MAX_COUNTED}) paid) as times_paid`)

interface LinkRow {
  place: number
  id: string
  merchant_id: string
  mode: Mode
  code: string
  title: string
  description: string | null
  amount: number | null
  min_amount: number | null
  max_amount: number | null
  currency: string
  country: string
  customer_bears_charge: boolean
  collect_name: boolean
  collect_phone_number: boolean
  custom_field: string | null
  max_payments: number | null
  active: boolean
  redirect_url: string | null
  metadata: Record<string, string>
  created_at: Date
  expires_at: Date | null
  seconds_left: number | null
  times_paid: number
}

function linkOf(row: LinkRow): PaymentLink {
  return {
    id: idOf('link', row.id, row.place),
    place: row.place,
    merchantId: idOf('merchant', row.merchant_id),
    mode: row.mode,
    code: row.code,
    title: row.title,
    description: row.description,
    amount: row.amount,
    minAmount: row.min_amount,
    maxAmount: row.max_amount,
    currency: row.currency as Currency,
    country: row.country as Country,
    customerBearsCharge: row.customer_bears_charge,
    collectName: row.collect_name,
    collectPhoneNumber: row.collect_phone_number,
    customField: row.custom_field,
    maxPayments: row.max_payments,
    active: row.active,
    redirectURL: row.redirect_url,
    metadata: row.metadata,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    secondsLeft: row.seconds_left,
    timesPaid: row.times_paid,
  }
}

export async function insertLink(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  link: LinkTerms & { id: LinkId; code: string; createdAt: Date; expiresAt: Date | null },
): Promise<void> {
  await tx.rows(sql`
    insert into links (place, id, merchant_id, mode, code, title, description, amount, min_amount, max_amount, currency, country,
                       customer_bears_charge, collect_name, collect_phone_number, custom_field, max_payments, active, redirect_url, metadata,
                       created_at, expires_at)
    values (${place}, ${uuidOf(link.id)}, ${uuidOf(merchantId)}, ${mode}, ${link.code}, ${link.title}, ${link.description},
            ${link.amount}, ${link.minAmount}, ${link.maxAmount}, ${link.currency}, ${link.country}, ${link.customerBearsCharge},
            ${link.collectName}, ${link.collectPhoneNumber}, ${link.customField}, ${link.maxPayments}, ${link.active},
            ${link.redirectURL}, ${link.metadata}, ${link.createdAt}, ${link.expiresAt})`)
}

/** All terms but currency and country, which stay. The time of expiry has a statement of its own. */
export async function updateLink(tx: Transaction, link: PaymentLink): Promise<void> {
  await tx.rows(sql`
    update links
       set title = ${link.title}, description = ${link.description}, amount = ${link.amount}, min_amount = ${link.minAmount},
           max_amount = ${link.maxAmount}, customer_bears_charge = ${link.customerBearsCharge}, collect_name = ${link.collectName},
           collect_phone_number = ${link.collectPhoneNumber}, custom_field = ${link.customField}, max_payments = ${link.maxPayments},
           active = ${link.active}, redirect_url = ${link.redirectURL}, metadata = ${link.metadata}
     where place = ${link.place} and id = ${uuidOf(link.id)}`)
}

/** Null: it never expires. */
export async function setLinkExpiry(tx: Transaction, id: LinkId, expiresAt: Date | null): Promise<void> {
  await tx.rows(sql`
    update links set expires_at = ${expiresAt}
     where place = ${placeOf(id)} and id = ${uuidOf(id)}`)
}

export async function findLink(
  db: Queries,
  { place, merchantId, mode }: Scope,
  id: LinkId,
): Promise<PaymentLink | undefined> {
  const row = await db.row<LinkRow>(sql`
    select ${COLUMNS} from links l
     where l.place = ${place} and l.id = ${uuidOf(id)} and l.merchant_id = ${uuidOf(merchantId)} and l.mode = ${mode}`)
  return row && placeOf(id) === place ? linkOf(row) : undefined
}

/** For the page of a payment that was made with it. */
export async function findLinkById(db: Queries, id: LinkId): Promise<PaymentLink | undefined> {
  const row = await db.row<LinkRow>(sql`
    select ${COLUMNS} from links l where l.place = ${placeOf(id)} and l.id = ${uuidOf(id)}`)
  return row && linkOf(row)
}

/** Locked, so that concurrent changes of one link follow each other. */
export async function lockLink(tx: Transaction, scope: Scope, id: LinkId): Promise<PaymentLink | undefined> {
  await tx.rows(sql`select id from links where place = ${scope.place} and id = ${uuidOf(id)} for update`)
  return findLink(tx, scope, id)
}

/** For the page, where the unguessable code is the permission. */
export async function findLinkByCode(db: Queries, code: string): Promise<PaymentLink | undefined> {
  const place = placeOfShortCode(code)
  if (place === undefined) return undefined
  const row = await db.row<LinkRow>(sql`select ${COLUMNS} from links l where l.place = ${place} and l.code = ${code}`)
  return row && linkOf(row)
}

/** Newest first, with keyset pagination. */
export async function listLinks(
  db: Queries,
  { place, merchantId, mode }: Scope,
  { before, limit }: { before: LinkId | undefined; limit: number },
): Promise<PaymentLink[]> {
  const rows = await db.rows<LinkRow>(sql`
    select ${COLUMNS} from links l
     where l.place = ${place} and l.merchant_id = ${uuidOf(merchantId)} and l.mode = ${mode}
       and l.id < ${before ? uuidOf(before) : LAST_UUID}::uuid
     order by l.id desc limit ${limit}`)
  return rows.map(linkOf)
}

/** Counts up to `most`. */
export async function countLinks(db: Queries, { place, merchantId, mode }: Scope, most: number): Promise<number> {
  const row = await db.row<{ links: number }>(sql`
    select count(*)::integer as links from (
      select from links l where l.place = ${place} and l.merchant_id = ${uuidOf(merchantId)} and l.mode = ${mode} limit ${most}) l`)
  return row?.links ?? 0
}
