import type { Queries, Transaction } from '../../database/database.ts'
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
  /** `again`: someone had it before and may have begun something under that reference. */
  | { kind: 'yours'; reference: string; again: boolean; startedId: string | null }
  | { kind: 'answered'; answer: unknown }
  | { kind: 'running' }
  | { kind: 'other body' }

/** Takes the key, or tells what became of whoever has it. One whose process died may be taken over, with the reference it had chosen. */
export async function claimCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<Claim> {
  const merchant = uuidOf(scope.merchantId)
  const mine = await db.row<{ reference: string; again: boolean; startedId: string | null }>(sql`
    insert into idempotent_calls as c (merchant_id, mode, endpoint, key, digest, reference, running_until)
    values (${merchant}, ${scope.mode}, ${call.endpoint}, ${call.key}, ${call.digest}, ${call.reference}, now() + interval '1 minute')
    on conflict (merchant_id, mode, endpoint, key) do update set running_until = now() + interval '1 minute'
     where c.answer is null and c.running_until < now() and c.digest = excluded.digest
    returning reference, began, created_at < now() as again`)
  if (mine) return { kind: 'yours', ...mine }
  const theirs = await db.row<{ digest: Buffer; answer: unknown }>(sql`
    select digest, answer from idempotent_calls
     where merchant_id = ${merchant} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
  if (!theirs) return { kind: 'running' } // given back this very moment
  if (!theirs.digest.equals(call.digest)) return { kind: 'other body' }
  return theirs.answer === null ? { kind: 'running' } : { kind: 'answered', answer: theirs.answer }
}

export async function saveAnswer(db: Queries, scope: Scope, call: IdempotentCall, answer: unknown): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set answer = ${JSON.stringify(answer)}::jsonb
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** In the transaction that begins it: whoever repeats the call after a crash goes on with that. */
export async function saveStartedId(
  tx: Transaction,
  scope: Scope,
  call: IdempotentCall,
  startedId: string,
): Promise<void> {
  await tx.rows(sql`
    update idempotent_calls set began = ${startedId}
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** The call failed and may be made again under the same key; its reference stays chosen, so that it goes on with the same payment. */
export async function releaseCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<void> {
  await db.rows(sql`
    update idempotent_calls set running_until = '-infinity'
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** The call was refused and nothing was begun: the key is as good as new. */
export async function deleteCall(db: Queries, scope: Scope, call: IdempotentCall): Promise<void> {
  await db.rows(sql`
    delete from idempotent_calls
     where merchant_id = ${uuidOf(scope.merchantId)} and mode = ${scope.mode} and endpoint = ${call.endpoint} and key = ${call.key}`)
}

/** Deletes some keys that are older than 48 hours; a key is promised for 24. Returns how many. */
export async function deleteOldCalls(db: Queries, limit: number): Promise<number> {
  const rows = await db.rows(sql`
    delete from idempotent_calls
     where ctid = any(array(
       select ctid from idempotent_calls where created_at < now() - interval '48 hours'
        order by created_at limit ${limit} for update skip locked))
    returning key`)
  return rows.length
}
