import {
  type CallLimits,
  type ClaimedWork,
  MAX_BACKGROUND_WAIT_MS,
  NO_LIMITS,
  startWithin,
} from '../outbound/call-limits.ts'
import type { PaymentDeps } from '../payments/deps.ts'
import { type Reconciled, reconcileAttempt } from '../payments/refunds/reconcile-attempt.ts'
import { findAttempt } from '../payments/store/attempts.ts'
import {
  claimDueReconciliations,
  type DueReconciliation,
  postponeReconciliations,
  saveReconciliation,
} from '../payments/store/reconciliation.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Open disputes and pending refunds are listed for longer: banks take up to half a year. */
const OPEN_FOR = 180 * DAY
/** A provider that does not answer is retried every hour, for a week beyond the last regular listing. */
const UNANSWERED_FOR = 7 * DAY

/** Reconciles refunds and disputes of attempts that are due, because notices can be lost. Returns how many. */
export async function reconcileDueAttempts(deps: PaymentDeps, limit: number): Promise<number> {
  const { claimed, done } = await startDueReconciliations(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** Starts the work without waiting for the answers, within the rate limits of each integration. */
export async function startDueReconciliations(
  deps: PaymentDeps,
  limit: number,
  limits: CallLimits,
): Promise<ClaimedWork> {
  return startWithin(limits, await claimDueReconciliations(deps.database, limit), {
    keyOf: ({ integration }) => integration,
    maxWaitOf: () => MAX_BACKGROUND_WAIT_MS,
    work: (each) =>
      reconcileOne(deps, each).catch((err) =>
        deps.log.warn({ err, attemptId: each.attemptId }, 'listing refunds and disputes failed; retrying'),
      ),
    postpone: (late) => postponeReconciliations(deps.database, late, deps.clock.now()),
  })
}

async function reconcileOne(deps: PaymentDeps, due: DueReconciliation): Promise<void> {
  const attempt = await findAttempt(deps.database, due.attemptId)
  const reconciled: Reconciled = attempt ? await reconcileAttempt(deps, attempt) : { kind: 'unsupported' }
  const nextAt = nextReconciliation(reconciled, due.until, deps.clock.now())
  if (nextAt === null && reconciled.kind === 'unanswered')
    deps.log.error({ attemptId: due.attemptId }, 'the provider never listed the refunds and disputes of this attempt')
  await saveReconciliation(deps.database, due, nextAt)
}

/** The time of the next reconciliation of an attempt; null when there is none. */
export function nextReconciliation(reconciled: Reconciled, until: Date, now: Date): Date | null {
  const after = (ms: number) => new Date(now.getTime() + ms)
  const isBefore = (ms: number) => now.getTime() < until.getTime() + ms
  if (reconciled.kind === 'unsupported') return null
  if (reconciled.kind === 'unanswered') return isBefore(UNANSWERED_FOR) ? after(HOUR) : null
  const isOpen = reconciled.kind === 'reconciled' && reconciled.isOpen
  // The first listing is 20 to 28 hours after the money, so the seventh is up to 4 hours after the week.
  return isBefore(isOpen ? OPEN_FOR : -DAY / 2) ? after(DAY) : null
}
