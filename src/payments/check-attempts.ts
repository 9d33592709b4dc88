import { type AccountLimits, accountKey, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { checkAttempt } from './settle-attempt.ts'
import type { Attempt } from './state/attempt.ts'
import { claimDueChecks, postponeChecks, releaseCheck } from './store/attempts.ts'

/** Asks providers about attempts whose time has come, and returns how many. For notices that never came, and outcomes nobody knows. */
export async function checkDueAttempts(deps: PaymentDependencies, limit: number): Promise<number> {
  const { claimed, done } = await startDueChecks(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** The same, without waiting for the answers, and within the limits of each account. */
export async function startDueChecks(
  deps: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimDueChecks(deps.database, limit), {
    accountOf: (attempt) => accountKey(attempt),
    work: (attempt) => check(deps, attempt),
    postpone: (late) => postponeChecks(deps.database, late),
  })
}

async function check(deps: PaymentDependencies, attempt: Attempt): Promise<void> {
  try {
    await checkAttempt(deps, attempt, { source: 'check' })
  } catch (err) {
    deps.log.warn({ err, attemptId: attempt.id }, 'check failed; it will be made again')
    await releaseCheck(deps.database, attempt.id).catch(() => {}) // the lease ends by itself, too
  }
}
