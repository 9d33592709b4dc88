import type { Database } from '../../database/database.ts'
import type { Owner } from '../../kernel/scope.ts'
import { findMerchant } from '../../merchants/merchant-store.ts'
import {
  type CallLimits,
  type ClaimedWork,
  integrationKey,
  MAX_BACKGROUND_WAIT_MS,
  NO_LIMITS,
  startWithin,
} from '../../outbound/call-limits.ts'
import type { PaymentDeps } from '../deps.ts'
import { reconcileAttempt } from '../refunds/reconcile-attempt.ts'
import type { Attempt } from '../state/attempt.ts'
import { attemptIn } from '../state/payment-state.ts'
import {
  askUnansweredSoon,
  claimDueChecks,
  type DueCheck,
  endResync,
  postponeChecks,
  releaseCheck,
} from '../store/attempts.ts'
import { askOrder } from './settle-attempt.ts'

/** Checks attempts that are due by their check schedule, because notices can be lost. Returns how many. */
export async function checkDueAttempts(deps: PaymentDeps, limit: number): Promise<number> {
  const { claimed, done } = await startDueChecks(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** Starts the work without waiting for the answers, within the rate limits of each integration. */
export async function startDueChecks(deps: PaymentDeps, limit: number, limits: CallLimits): Promise<ClaimedWork> {
  const now = deps.clock.now()
  return startWithin(limits, await claimDueChecks(deps.database, limit), {
    keyOf: (attempt) => `${integrationKey(attempt)} ${urgency(attempt, now)}`,
    maxWaitOf: (attempt) => (urgency(attempt, now) === 'ended' ? MAX_BACKGROUND_WAIT_MS : undefined),
    work: (attempt) => check(deps, attempt),
    postpone: (late) => postponeChecks(deps.database, late, now),
  })
}

/** After the merchant set other keys of a provider, which may have refused the old ones. */
export async function checkAfterNewKeys(database: Database, owner: Owner, provider: string): Promise<void> {
  const merchant = await findMerchant(database, owner.merchantId)
  if (merchant) await askUnansweredSoon(database, { ...owner, place: merchant.place }, provider)
}

/**
 * Each urgency has its own rate limit, so that the many checks of unused links and of paid account numbers never delay
 * the check of an unknown outcome: its customer waits.
 */
function urgency({ status, instructionsExpireAt }: Attempt, now: Date): 'unknown' | 'open' | 'ended' {
  if (status === 'processing') return 'unknown'
  // After a decline the provider's page takes another card, as long as the link is open.
  const isStillOpen = status === 'failed' && instructionsExpireAt !== null && instructionsExpireAt > now
  return status === 'pending' || isStillOpen ? 'open' : 'ended'
}

async function check(deps: PaymentDeps, { resyncAt, ...attempt }: DueCheck): Promise<void> {
  try {
    const { state, outcome } = await askOrder(deps, attempt, { source: 'check' })
    if (!resyncAt) return
    const receipts = outcome && 'receipts' in outcome ? outcome.receipts : []
    const after = attemptIn(state, attempt.id)
    if (after.amountReceived > 0) await reconcileAttempt(deps, after, receipts)
    await endResync(deps.database, attempt, resyncAt)
  } catch (err) {
    deps.log.warn({ err, attemptId: attempt.id }, 'checking an attempt failed; retrying')
    await releaseCheck(deps.database, attempt.id, deps.clock.now()).catch(() => {}) // the lease expires anyway
  }
}
