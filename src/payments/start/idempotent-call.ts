import type { Database } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newReference } from '../../kernel/ids.ts'
import { PROBLEMS, Problem } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import {
  type CallKey,
  claimCall,
  deleteCall,
  type IdempotentCall,
  releaseCall,
  saveAnswer,
} from '../store/idempotent-calls.ts'

/** Context of one call. With an idempotency key, the reference is stored with the key and reused by every repeat. */
export interface CallContext {
  reference: string | undefined
  /** The id of the object that an earlier run of this call started before its process died. */
  startedId: string | null
  /** The key, if there is one. What the call starts is stored with it. */
  startedBy: CallKey | undefined
}

/**
 * Runs a call once per idempotency key. A repeat gets the stored answer; a concurrent repeat gets
 * `idempotency_in_progress`.
 */
export async function withIdempotencyKey<Answer>(
  deps: { database: Database; clock: Clock },
  caller: Caller,
  wanted: { endpoint: string; reference: string | undefined; idempotency: { key: string; digest: Buffer } | undefined },
  run: (context: CallContext) => Promise<Answer>,
): Promise<{ answer: Answer; replayed: boolean }> {
  if (!wanted.idempotency) {
    const context = { reference: wanted.reference, startedId: null, startedBy: undefined }
    return { answer: await run(context), replayed: false }
  }
  const { database, clock } = deps
  const call: IdempotentCall = {
    ...wanted.idempotency,
    endpoint: wanted.endpoint,
    reference: wanted.reference ?? newReference(clock.now(), caller.place),
  }
  const claim = await claimCall(database, caller, call, clock.now())
  switch (claim.kind) {
    case 'answered':
      return { answer: claim.answer as Answer, replayed: true }
    case 'other body':
      throw new Problem(
        'idempotency_key_reused',
        'This Idempotency-Key was used with another body. Use a new key for a new request, or send the first body again.',
      )
    case 'running':
      throw new Problem('idempotency_in_progress', 'The first request with this Idempotency-Key is still running.', {
        retryAfterSeconds: 1,
      })
    case 'claimed':
      break
  }
  call.key = claim.key
  try {
    const { reference, startedId } = claim
    const { place, merchantId, mode } = caller
    const startedBy = { place, merchantId, mode, endpoint: call.endpoint, key: call.key }
    const answer = await run({ reference, startedId, startedBy })
    await saveAnswer(database, caller, call, answer)
    return { answer, replayed: false }
  } catch (error) {
    // Delete the key only if nothing was started. After a retry, the refusal may be caused by the first run's own work.
    const nothingStarted = !claim.isRetry && error instanceof Problem && !PROBLEMS[error.code].retryable
    await endFailedCall(database, caller, call, nothingStarted).catch(() => {})
    throw error
  }
}

async function endFailedCall(
  database: Database,
  caller: Caller,
  call: IdempotentCall,
  nothingStarted: boolean,
): Promise<void> {
  if (nothingStarted && (await deleteCall(database, caller, call))) return
  await releaseCall(database, caller, call)
}
