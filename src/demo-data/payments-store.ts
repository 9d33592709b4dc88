import type { Queries, Transaction, Writes } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { type EndpointId, firstUuidAt, type PaymentId, uuidOf } from '../kernel/ids.ts'
import type { Place } from '../kernel/place.ts'
import type { Scope } from '../kernel/scope.ts'
import { followUnmatched } from '../payments/store/other-cases.ts'

/** What the stores write with the time of the database, or for the worker, and what demo payments must not have. */
export function tidyDemoPayments(tx: Writes, place: Place, payments: PaymentId[]): void {
  const ids = payments.map(uuidOf)
  // Their provider does not know them, so that it is not asked.
  tx.write(sql`
    update attempts set next_check_at = null, known_to_provider = false
     where place = ${place} and payment_id = any(${ids}::uuid[])`)
  tx.write(sql`
    update disputes set created_at = opened_at, updated_at = greatest(opened_at, resolved_at)
     where place = ${place} and payment_id = any(${ids}::uuid[])`)
  // Endpoints that are set up in the sandbox get no webhooks about them.
  tx.write(sql`
    delete from deliveries d using events e
     where d.place = ${place} and e.place = ${place} and e.payment_id = any(${ids}::uuid[]) and d.event_id = e.id`)
}

export async function hasDemoPayments(
  db: Queries,
  { place, merchantId, mode }: Scope,
  reference: string,
): Promise<boolean> {
  const found = await db.rows(sql`
    select from payments where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and reference = ${reference}`)
  return found.length > 0
}

/** Money that arrived without a payment. */
export async function insertUnmatchedMoney(
  tx: Transaction,
  { place, merchantId, mode }: Scope,
  receipt: { provider: string; transactionId: string; amount: number; currency: string; at: Date },
): Promise<void> {
  const { provider, transactionId, amount, currency, at } = receipt
  await tx.rows(sql`
    insert into receipts (place, merchant_id, mode, provider, transaction_id, amount, currency, counted, returned, taken_at, recorded_at)
    values (${place}, ${uuidOf(merchantId)}, ${mode}, ${provider}, ${transactionId}, ${amount}, ${currency}, false, 0, ${at}, ${at})`)
  await followUnmatched(tx, { place, merchantId, mode }, { provider, keysVersion: 0 }, [transactionId])
}

/**
 * Deliveries of the merchant's events since `since` to an endpoint: delivered, except those of a time in which it
 * failed.
 */
export async function insertDemoDeliveries(
  db: Queries,
  { place, merchantId, mode }: Scope,
  endpoint: { id: EndpointId; url: string },
  { since, failedFrom, failedTo }: { since: Date; failedFrom: Date; failedTo: Date },
): Promise<void> {
  const merchant = uuidOf(merchantId)
  await db.rows(sql`
    with made as (
      insert into deliveries (place, id, event_id, merchant_id, mode, endpoint_id, url, destination, state, tries, due_at, created_at, done_at)
      select ${place}::smallint, (left(e.id::text, 13) || right(gen_random_uuid()::text, 23))::uuid, e.id, e.merchant_id, e.mode,
             ${uuidOf(endpoint.id)}::uuid, ${endpoint.url}::text, ${uuidOf(endpoint.id)}::text,
             case when e.occurred_at between ${failedFrom} and ${failedTo} then 'exhausted' else 'delivered' end,
             case when e.occurred_at between ${failedFrom} and ${failedTo} then 8 else 1 end, e.occurred_at, e.occurred_at, e.occurred_at
        from events e
       where e.place = ${place} and e.merchant_id = ${merchant} and e.mode = ${mode} and e.body is not null and e.id >= ${firstUuidAt(since)}::uuid
         and not exists (select from deliveries o where o.place = ${place} and o.event_id = e.id)
      returning id, state, tries, created_at
    )
    insert into delivery_tries (place, delivery_id, number, at, status, error, took_ms, answer)
    select ${place}::smallint, id, tries, created_at, case state when 'delivered' then 200 else 503 end, null,
           80 + (extract(milliseconds from created_at)::integer % 300), case state when 'delivered' then 'ok' else 'Service Unavailable' end
      from made`)
}
