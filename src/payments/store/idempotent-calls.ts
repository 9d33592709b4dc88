import type { Queries } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Scope } from '../../kernel/scope.ts'

export interface IdempotentCall {
  endpoint: string
  key: string
  digest: Buffer
  reference: string
}

export type Claim =
  /** `isRetry`: an earlier run had the key and may have started something under that reference. */
  | { kind: 'claimed'; reference: string; isRetry: boolean; startedId: string | null }
  | { kind: 'answered'; answer: unknown }
  | { kind: 'running' }
  | { kind: 'other body' }

/** Claims the key with a lease of one minute. After the lease, a repeat takes over the call with its stored reference. */
export async function claimCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<Claim> {
  const merchant = uuidOf(scope.merchantId)
  const claimed = await db.row<{ reference: string; isRetry: boolean; startedId: string | null }>(sql`
    insert into idempotent_calls as c (merchant_id, mode, endpoint, key, digest, reference, running_until)
    values (${merchant}, ${scope.mode}, ${call.endpoint}, ${call.key}, ${call.digest}, ${call.reference}, now() + interval '1 minute')
    on conflict (merchant_id, mode, endpoint, key) do update set running_until = now() + interval '1 minute'
     where c.answer is null and c.running_until < now() and c.digest = excluded.digest
    returning reference, began as "startedId", created_at < now() as "isRetry"`)
  if (claimed) return { kind: 'claimed', ...claimed }
  const existing = await db.row<{ digest: Buffer; answer: unknown }>(sql`
    select digest, answer from idempotent_calls
     where merchant_id = ${merchant} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
  if (!existing) return { kind: 'running' } // deleted in the meantime
  if (!existing.digest.equals(call.digest)) return { kind: 'other body' }
  return existing.answer === null ? { kind: 'running' } : { kind: 'answered', answer: existing.answer }
}

export async function saveAnswer(db: Queries, scope: Scope, call: IdempotentCall, answer: unknown): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set answer = ${JSON.stringify(answer)}::jsonb
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** Stores the object that the call started, so that a repeat after a crash continues with it. See also `PaymentWrite.startedBy`. */
export async function saveStartedId(
  db: Queries,
  { merchantId, mode, endpoint, key }: Scope & Pick<IdempotentCall, 'endpoint' | 'key'>,
  startedId: string,
): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set began = ${startedId}
     where merchant_id = ${uuidOf(merchantId)} and mode = ${mode} and endpoint = ${endpoint} and key = ${key}`)
}

/** The call failed and may be retried with the same key. The reference is kept, so that a retry continues with the same payment. */
export async function releaseCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set running_until = '-infinity'
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** The call was refused before it started anything, so the key may be used again. */
export async function deleteCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<void> {
  await db.rows(sql`
    delete from idempotent_calls
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** Deletes keys older than 48 hours; 24 hours are guaranteed. Returns how many. */
export async function deleteOldCalls(db: Queries, limit: number): Promise<number> {
  const rows = await db.rows(sql`
    delete from idempotent_calls
     where ctid = any(array(
       select ctid from idempotent_calls where created_at < now() - interval '48 hours'
        order by created_at limit ${limit} for update skip locked))
    returning key`)
  return rows.length
}
