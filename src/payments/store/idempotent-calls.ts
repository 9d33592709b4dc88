import { createHash } from 'node:crypto'
import type { Queries } from '../../database/database.ts'
import { type Statement, sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { ALL_PLACES } from '../../kernel/place.ts'
import type { Scope } from '../../kernel/scope.ts'

export interface IdempotentCall {
  endpoint: string
  key: string
  digest: Buffer
  reference: string
}

export type Claim =
  /** `isRetry`: an earlier run had the key and may have started something under that reference. */
  | { kind: 'claimed'; key: string; reference: string; isRetry: boolean; startedId: string | null }
  | { kind: 'answered'; answer: unknown }
  | { kind: 'running' }
  | { kind: 'other body' }

const LEASE_MS = 60_000

/** Replaces a key that names an erased customer. Found by the key: a repeat of a refund must not refund again. */
export const erasedKey = (key: string): string => `erased-${createHash('sha256').update(key).digest('hex')}`

/**
 * Claims the key with a lease of one minute. After the lease, a repeat takes over the call with its stored reference.
 */
export async function claimCall(db: Queries, scope: Scope, call: IdempotentCall, now: Date): Promise<Claim> {
  const runningUntil = new Date(now.getTime() + LEASE_MS)
  const merchant = uuidOf(scope.merchantId)
  const claimed = await db.row<{ reference: string; began: string | null; created_at: Date; running_until: Date }>(sql`
    insert into idempotent_calls as c (place, merchant_id, mode, endpoint, key, digest, reference, created_at, running_until)
    select ${scope.place}::smallint, ${merchant}::uuid, ${scope.mode}, ${call.endpoint}, ${call.key}, ${call.digest}::bytea, ${call.reference},
           ${now}::timestamptz, ${runningUntil}::timestamptz
     where not exists (
       select from idempotent_calls
        where place = ${scope.place} and merchant_id = ${merchant} and mode = ${scope.mode} and endpoint = ${call.endpoint}
          and key = ${erasedKey(call.key)})
    on conflict (place, merchant_id, mode, endpoint, key) do update set running_until = excluded.running_until
     where c.answer is null and c.running_until < now() and c.digest = excluded.digest
    returning reference, began, created_at, running_until`)
  if (claimed) {
    // Both times of a new row are of this call.
    const isRetry = claimed.running_until.getTime() - claimed.created_at.getTime() !== LEASE_MS
    return { kind: 'claimed', key: call.key, reference: claimed.reference, startedId: claimed.began, isRetry }
  }
  // The key was erased while its call ran, so that the answer was not stored: a repeat goes on under the erased key.
  const key = erasedKey(call.key)
  const abandoned = await db.row<{ reference: string; began: string | null }>(sql`
    update idempotent_calls set running_until = ${runningUntil}
     where place = ${scope.place} and merchant_id = ${merchant} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${key}
       and answer is null and running_until < now() and digest = ${call.digest}
    returning reference, began`)
  if (abandoned)
    return { kind: 'claimed', key, reference: abandoned.reference, startedId: abandoned.began, isRetry: true }
  const existing = await db.row<{ digest: Buffer; answer: unknown }>(sql`
    select digest, answer from idempotent_calls
     where place = ${scope.place} and merchant_id = ${merchant} and mode = ${scope.mode} and endpoint = ${call.endpoint}
       and key in (${call.key}, ${key})`)
  if (!existing) return { kind: 'running' } // deleted in the meantime
  if (!existing.digest.equals(call.digest)) return { kind: 'other body' }
  return existing.answer === null ? { kind: 'running' } : { kind: 'answered', answer: existing.answer }
}

export async function saveAnswer(db: Queries, scope: Scope, call: IdempotentCall, answer: unknown): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set answer = ${JSON.stringify(answer)}::jsonb
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** A call with an idempotency key. */
export interface CallKey extends Scope {
  endpoint: string
  key: string
}

/** Stores the object that the call started, so that a repeat after a crash continues with it. */
export function startedIdSaved({ place, merchantId, mode, endpoint, key }: CallKey, startedId: string): Statement {
  return sql`
    update idempotent_calls set began = ${startedId}
     where place = ${place} and merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and endpoint = ${endpoint} and key = ${key}`
}

/**
 * The call failed and may be retried with the same key. The reference is kept, so that a retry continues with the same
 * payment.
 */
export async function releaseCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set running_until = '-infinity'
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** The call was refused, so the key may be used again. False, with nothing deleted, if it has started something. */
export async function deleteCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<boolean> {
  const deleted = await db.rows(sql`
    delete from idempotent_calls
     where place = ${scope.place} and merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}
       and began is null
    returning key`)
  return deleted.length > 0
}

/** Deletes keys that were first used before that time. Returns when that was. */
export async function deleteOldCalls(db: Queries, before: Date, limit: number): Promise<Date[]> {
  const rows = await db.rows<{ at: Date }>(sql`
    with old as materialized (
      select place, merchant_id, mode, endpoint, key from idempotent_calls
       where created_at < ${before} and place between ${ALL_PLACES.first} and ${ALL_PLACES.last}
       order by created_at limit ${limit}
    )
    delete from idempotent_calls c using old
     where c.place between ${ALL_PLACES.first} and ${ALL_PLACES.last} and c.place = old.place and c.merchant_id = old.merchant_id and c.mode = old.mode and c.endpoint = old.endpoint and c.key = old.key
    returning c.created_at as at`)
  return rows.map(({ at }) => at)
}
