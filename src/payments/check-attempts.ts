import { type AccountLimits, accountKey, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { checkAttempt } from './settle-attempt.ts'
import type { Attempt } from './state/attempt.ts'
import { claimDueChecks, postponeChecks, releaseCheck } from './store/attempts.ts'

/** Asks providers about attempts whose time has come, and returns how many. For notices that never came, and outcomes nobody knows. */
export async function checkDueAttempts(parts: PaymentDependencies, limit: number): Promise<number> {
  const { claimed, done } = await startDueChecks(parts, limit, NO_LIMITS)
  await done
  return claimed
}

/** The same, without waiting for the answers, and within the limits of each account. */
export async function startDueChecks(
  parts: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimDueChecks(parts.database, limit), {
    accountOf: (attempt) => accountKey(attempt),
    work: (attempt) => check(parts, attempt),
    postpone: (late) => postponeChecks(parts.database, late),
  })
}

async function check(parts: PaymentDependencies, attempt: Attempt): Promise<void> {
  try {
    await checkAttempt(parts, attempt, { source: 'check' })
  } catch (err) {
    parts.log.warn({ err, attemptId: attempt.id }, 'check failed; it will be made again')
    await releaseCheck(parts.database, attempt.id).catch(() => {}) // the lease ends by itself, too
  }
}
