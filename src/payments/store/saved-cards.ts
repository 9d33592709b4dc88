import type { Queries, Writes } from '../../database/database.ts'
import { Fixed, sql } from '../../database/sql.ts'
import { idOf, placeOf, type SavedCardId, uuidOf } from '../../kernel/ids.ts'
import type { Owner, Scope } from '../../kernel/scope.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import type { SavedCard, SavedCardToken } from '../../providers/provider.ts'

/** The owner of a card: the merchant's user id, or the e-mail address for cards that were saved without an id. */
export interface Customer {
  id: string | null
  email: string
}

/**
 * Associated data of the encrypted token, so that a row copied to another customer, provider or merchant does not
 * decrypt.
 */
export function tokenContext(scope: Owner, provider: string, { id, email }: Customer): string {
  return id === null
    ? `saved_cards.sealed_token:${scope.merchantId}:${scope.mode}:${provider}:${email.toLowerCase()}`
    : `saved_cards.sealed_token of user id:${scope.merchantId}:${scope.mode}:${provider}:${id}`
}

/** A token works only with the keys that it was issued for. */
const OF_CURRENT_KEYS = new Fixed(`c.account = (select i.account from integrations i
  where i.merchant_id = c.merchant_id and i.mode = c.mode and i.provider = c.provider)`)

/** Saves a card. The same card again replaces its token. */
export function upsertCard(
  tx: Writes,
  secrets: SecretBox,
  wanted: { id: SavedCardId; scope: Scope; provider: string; keysVersion: number; customer: Customer; card: SavedCard },
): void {
  const { id, scope, provider, keysVersion, customer, card } = wanted
  tx.write(sql`
    insert into saved_cards (place, id, merchant_id, mode, provider, account, user_id, email, brand, last4, expiry_month, expiry_year, sealed_token)
    values (${scope.place}, ${uuidOf(id)}, ${uuidOf(scope.merchantId)}, ${scope.mode}, ${provider}, ${keysVersion},
            ${customer.id}, ${customer.email}, ${card.brand}, ${card.last4}, ${card.expiryMonth}, ${card.expiryYear}, ${secrets.seal(card.token, tokenContext(scope, provider, customer))})
    on conflict (place, merchant_id, mode, customer, provider, brand, last4, expiry_month, expiry_year, account)
    do update set sealed_token = excluded.sealed_token, email = excluded.email, used_at = excluded.used_at`)
}

/** A saved card with its token, which `openCard` decrypts. */
export interface SealedCard {
  id: SavedCardId
  provider: string
  keysVersion: number
  email: string
  sealedToken: Buffer
}

/**
 * Cards of one customer that are listed, and that can be charged: the same ones, the last used first. The page offers
 * five of them. More are only expected where a shop uses one address for many customers, and then the others have not
 * been used for the longest time.
 */
const MAX_CARDS = 100

/**
 * The customer's cards, the last used first. A card beyond the first MAX_CARDS is not listed either, and is refused
 * like an unknown one.
 */
export async function findCardsOf(db: Queries, scope: Scope, customer: Customer): Promise<SealedCard[]> {
  const rows = await db.rows<{
    id: string
    provider: string
    account: number
    email: string
    sealed_token: Buffer
  }>(sql`
    select id, provider, account, email, sealed_token from saved_cards
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}
       and customer = coalesce('id:' || ${customer.id}::text, 'email:' || lower(${customer.email}))
     order by used_at desc limit ${MAX_CARDS}`)
  return rows.map(({ id, provider, account: keysVersion, email, sealed_token }) => ({
    id: idOf('card', id, scope.place),
    provider,
    keysVersion,
    email,
    sealedToken: sealed_token,
  }))
}

export function openCard(
  { id, provider, email, sealedToken }: SealedCard,
  secrets: SecretBox,
  payment: Owner & { user: Customer },
): { id: SavedCardId; token: SavedCardToken; email: string } {
  return { id, email, token: secrets.open(sealedToken, tokenContext(payment, provider, payment.user)) }
}

export interface CardOnFile extends Omit<SavedCard, 'token'> {
  id: SavedCardId
  provider: string
  userId: string | null
  email: string
  createdAt: Date
}

interface CardRow {
  place: number
  id: string
  provider: string
  user_id: string | null
  email: string
  brand: string
  last4: string
  expiry_month: number
  expiry_year: number
  created_at: Date
}

function cardOf(row: CardRow): CardOnFile {
  return {
    id: idOf('card', row.id, row.place),
    provider: row.provider,
    userId: row.user_id,
    email: row.email,
    brand: row.brand,
    last4: row.last4,
    expiryMonth: row.expiry_month,
    expiryYear: row.expiry_year,
    createdAt: row.created_at,
  }
}

/** Saved cards without their tokens. */
export async function listCards(db: Queries, scope: Scope, customer: Customer): Promise<CardOnFile[]> {
  const rows = await db.rows<CardRow>(sql`
    select place, id, provider, user_id, email, brand, last4, expiry_month, expiry_year, created_at from saved_cards
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and customer = coalesce('id:' || ${customer.id}::text, 'email:' || lower(${customer.email}))
     order by used_at desc limit ${MAX_CARDS}`)
  return rows.map(cardOf)
}

/**
 * All saved cards of an e-mail address: their owners, and when the first and the last of them were saved. Undefined:
 * there are none.
 */
export async function findCardsOfAddress(
  db: Queries,
  scope: Scope,
  email: string,
): Promise<{ userIds: string[]; firstAt: Date; lastAt: Date } | undefined> {
  const row = await db.row<{ userIds: string[] | null; firstAt: Date | null; lastAt: Date | null }>(sql`
    select array_agg(distinct user_id) filter (where user_id is not null) as "userIds", min(created_at) as "firstAt", max(created_at) as "lastAt"
      from saved_cards
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and lower(email) = lower(${email})`)
  if (!row?.firstAt || !row.lastAt) return undefined
  return { userIds: row.userIds ?? [], firstAt: row.firstAt, lastAt: row.lastAt }
}

/**
 * The cards that the checkout page offers, last used first. A card is valid until its expiry month has ended in every
 * time zone.
 */
export async function listCardsToPayWith(
  db: Queries,
  scope: Scope,
  providers: string[],
  customer: Customer,
): Promise<CardOnFile[]> {
  const rows = await db.rows<CardRow>(sql`
    select place, id, provider, user_id, email, brand, last4, expiry_month, expiry_year, created_at
      from saved_cards c, (select (now() at time zone 'UTC') - interval '12 hours' as moment) as still
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and provider = any(${providers})
       and customer = coalesce('id:' || ${customer.id}::text, 'email:' || lower(${customer.email})) and ${OF_CURRENT_KEYS}
       and (expiry_year, expiry_month) >= (extract(year from moment), extract(month from moment))
     order by used_at desc limit 5`)
  return rows.map(cardOf)
}

export async function deleteCard(db: Queries, scope: Scope, id: SavedCardId): Promise<CardOnFile | undefined> {
  const row = await db.row<CardRow>(sql`
    delete from saved_cards
     where place = ${placeOf(id)} and id = ${uuidOf(id)} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode}
    returning place, id, provider, user_id, email, brand, last4, expiry_month, expiry_year, created_at`)
  return row && cardOf(row)
}
