import { claimDueChecks, releaseCheck } from './attempt-store.ts'
import type { AttemptParts } from './parts.ts'
import { checkAttempt } from './settle-attempt.ts'

/** Asks providers about attempts whose time has come, and returns how many. For notices that never came, and outcomes nobody knows. */
export async function checkDueAttempts(parts: AttemptParts, limit: number): Promise<number> {
  const due = await claimDueChecks(parts.database, limit)
  await Promise.all(
    due.map(async (attempt) => {
      try {
        await checkAttempt(parts, attempt, { source: 'check' })
      } catch (err) {
        parts.log.warn({ err, attemptId: attempt.id }, 'check failed; it will be made again')
        await releaseCheck(parts.database, attempt.id).catch(() => {}) // the lease ends by itself, too
      }
    }),
  )
  return due.length
}
