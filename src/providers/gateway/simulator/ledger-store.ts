import type { Transaction as DatabaseTransaction, Queries } from '../../../database/database.ts'
import { Fixed, sql } from '../../../database/sql.ts'
import { ALL_PLACES, type Place } from '../../../kernel/place.ts'
import type { FailureCode } from '../../provider.ts'
import { placeOfPageToken } from './new-id.ts'
import { placeOfMerchant } from './place.ts'
import type { Prompt } from './prompts.ts'
import type { AwaitingCode, Channel, Payment, PaymentKey, SavedCard, Transaction, TransactionKind } from './record.ts'

export interface NewPayment {
  merchantUuid: string
  reference: string
  requestDigest: Buffer
  channel: Channel
  requested: number
  currency: string
  merchantName: string
  returnURL: string
  expiresAt: Date
  pageToken: string | null
  hasAccount: boolean
  offeredCard: string | null
  prompt: Prompt | null
}

const cardJson = (name: string) => `case when ${name}.token is not null then json_build_object(
  'token', ${name}.token, 'behaviour', ${name}.behaviour, 'brand', ${name}.brand, 'last4', ${name}.last4,
  'expiryMonth', ${name}.expiry_month, 'expiryYear', ${name}.expiry_year) end`

// The place is the first parameter of the statement.
const PAYMENT =
  new Fixed(`select payment.place, payment.id, payment.merchant_id as "merchantUuid", payment.reference, request_digest as "requestDigest", channel,
  requested, currency, taken, refunded, merchant_name as "merchantName", return_url as "returnURL", page_token as "pageToken",
  account_number as "accountNumber", prompt, decides_at as "decidesAt", awaiting_code as "awaitingCode", expires_at as "expiresAt", cancelled_at as "cancelledAt",
  ${cardJson('offered')} as "offeredCard", ${cardJson('kept')} as "keptCard", clock_timestamp() as "readAt"
  from gateway_payments payment
  left join gateway_cards offered on offered.place = $1 and offered.token = payment.offered_card
  left join gateway_cards kept on kept.place = $1 and kept.token = payment.kept_card`)

const TRANSACTION =
  new Fixed(`id, payment_id as "paymentId", kind, status, amount, currency, failure_code as "failureCode",
  refund_reference as "refundReference", by_hand as "byHand", settles_at as "settlesAt", at`)

/**
 * The customer's name and address are not kept: nothing needs them. The key of the new payment; undefined when its
 * reference is taken. Waits for a concurrent insert of the same reference.
 */
export async function insertPayment(tx: DatabaseTransaction, payment: NewPayment): Promise<PaymentKey | undefined> {
  const account = payment.hasAccount ? await nextAccountNumber(tx) : null
  return tx.row<PaymentKey>(sql`
    insert into gateway_payments (place, merchant_id, reference, request_digest, channel, requested, currency, email, merchant_name,
      return_url, expires_at, page_token, offered_card, account_number, prompt)
    values (${placeOfMerchant(payment.merchantUuid)}, ${payment.merchantUuid}, ${payment.reference}, ${payment.requestDigest}, ${payment.channel}, ${payment.requested},
      ${payment.currency}, '', ${payment.merchantName}, ${payment.returnURL}, ${payment.expiresAt},
      ${payment.pageToken}, ${payment.offeredCard}, ${account}, ${asJson(payment.prompt)}::jsonb)
    on conflict (place, merchant_id, reference) do nothing
    returning place, id`)
}

async function nextAccountNumber(tx: DatabaseTransaction): Promise<string | undefined> {
  const row = await tx.row<{ number: string }>(sql`select nextval('gateway_account_numbers')::text as number`)
  return row?.number
}

export function findPayment(queries: Queries, merchantUuid: string, reference: string): Promise<Payment | undefined> {
  const place = placeOfMerchant(merchantUuid)
  return queries.row(sql`
    ${PAYMENT} where payment.place = ${place} and payment.merchant_id = ${merchantUuid} and payment.reference = ${reference}`)
}

export async function findPaymentByPage(queries: Queries, pageToken: string): Promise<Payment | undefined> {
  const place = placeOfPageToken(pageToken)
  if (place === undefined) return undefined
  return queries.row(sql`${PAYMENT} where payment.place = ${place} and page_token = ${pageToken}`)
}

export function findPaymentByAccount(
  queries: Queries,
  merchantUuid: string,
  accountNumber: string,
): Promise<Payment | undefined> {
  const place = placeOfMerchant(merchantUuid)
  return queries.row(sql`
    ${PAYMENT} where payment.place = ${place} and account_number = ${accountNumber} and payment.merchant_id = ${merchantUuid}`)
}

/** Locks the row until the transaction ends, so that money is counted by one transaction at a time. */
export async function lockPayment(tx: DatabaseTransaction, { place, id }: PaymentKey): Promise<Payment> {
  await tx.row(sql`select id from gateway_payments where place = ${place} and id = ${id} for update`)
  // A second question, because only a new one sees what was committed while we waited, cards included.
  return (await tx.row<Payment>(sql`${PAYMENT} where payment.place = ${place} and payment.id = ${id}`)) as Payment
}

export async function savePayment(tx: DatabaseTransaction, payment: Payment): Promise<void> {
  await tx.rows(sql`
    update gateway_payments
       set taken = ${payment.taken}, refunded = ${payment.refunded}, cancelled_at = ${payment.cancelledAt},
           awaiting_code = ${asJson(payment.awaitingCode)}::jsonb, kept_card = ${payment.keptCard?.token ?? null},
           prompt = ${asJson(payment.prompt)}::jsonb, decides_at = ${payment.decidesAt}, expires_at = ${payment.expiresAt}
     where place = ${payment.place} and id = ${payment.id}`)
}

export function findTransactions(queries: Queries, place: Place, paymentIds: number[]): Promise<Transaction[]> {
  return queries.rows(sql`
    select ${TRANSACTION} from gateway_transactions
     where place = ${place} and payment_id = any(${paymentIds}::bigint[]) order by payment_id, id`)
}

export interface NewTransaction {
  kind: TransactionKind
  amount: number
  failureCode?: FailureCode
  refundReference?: string
  byHand?: boolean
  /** For how long the provider says nothing of it. */
  silentForMs?: number
}

/** Undefined when it is a refund whose reference is taken. */
export function insertTransaction(
  tx: DatabaseTransaction,
  { place, id, merchantUuid, currency, readAt }: Payment,
  { kind, amount, failureCode, refundReference, silentForMs, byHand = false }: NewTransaction,
): Promise<Transaction | undefined> {
  const settlesAt = silentForMs === undefined ? null : new Date(readAt.getTime() + silentForMs)
  return tx.row(sql`
    insert into gateway_transactions (place, payment_id, merchant_id, kind, status, amount, currency, failure_code, refund_reference, settles_at,
      by_hand)
    values (${place}, ${id}, ${merchantUuid}, ${kind}, ${failureCode ? 'failed' : 'paid'}, ${amount}, ${currency}, ${failureCode ?? null},
      ${refundReference ?? null}, ${settlesAt}, ${byHand})
    on conflict (place, merchant_id, refund_reference) where kind = 'refund' do nothing
    returning ${TRANSACTION}`)
}

export async function insertCard(tx: DatabaseTransaction, merchantUuid: string, card: SavedCard): Promise<void> {
  await tx.rows(sql`
    insert into gateway_cards (place, token, merchant_id, behaviour, brand, last4, expiry_month, expiry_year)
    values (${placeOfMerchant(merchantUuid)}, ${card.token}, ${merchantUuid}, ${card.behaviour}, ${card.brand}, ${card.last4}, ${card.expiryMonth}, ${card.expiryYear})`)
}

export function findCard(queries: Queries, merchantUuid: string, token: string): Promise<SavedCard | undefined> {
  return queries.row(sql`
    select token, behaviour, brand, last4, expiry_month as "expiryMonth", expiry_year as "expiryYear"
      from gateway_cards where place = ${placeOfMerchant(merchantUuid)} and token = ${token} and merchant_id = ${merchantUuid}`)
}

/** A merchant's payments in the order in which they were opened. */
export function findPaymentsAfter(
  queries: Queries,
  merchantUuid: string,
  id: number,
  limit: number,
): Promise<Payment[]> {
  const place = placeOfMerchant(merchantUuid)
  return queries.rows(sql`
    ${PAYMENT} where payment.place = ${place} and payment.merchant_id = ${merchantUuid} and payment.id > ${id} order by payment.id limit ${limit}`)
}

/** Payments whose customer has acted by now, or whose time is over. Found without a lock, over all places. */
export function findUndecided(queries: Queries, limit: number): Promise<(PaymentKey & { merchantUuid: string })[]> {
  return queries.rows(sql`
    select place, id, merchant_id as "merchantUuid" from gateway_payments
     where decides_at <= clock_timestamp() and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
     order by decides_at limit ${limit}`)
}

function asJson(value: AwaitingCode | Prompt | null): string | null {
  return value === null ? null : JSON.stringify(value)
}
