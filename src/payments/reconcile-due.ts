import { type AccountLimits, NO_LIMITS, type Started, startWithin } from '../outbound/account-limits.ts'
import type { PaymentDependencies } from './dependencies.ts'
import { type Reconciled, reconcileReturns } from './reconcile-returns.ts'
import { findAttempt } from './store/attempts.ts'
import {
  claimDueReconciliations,
  type DueReconciliation,
  postponeReconciliations,
  saveReconciliation,
} from './store/reconciliation.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** An open dispute or a pending refund is followed for longer than the week: banks take up to half a year. */
const OPEN_FOR = 180 * DAY
/** A provider that does not answer is asked again every hour, for a week beyond the last regular listing. */
const UNANSWERED_FOR = 7 * DAY

/** Lists refunds and disputes of attempts whose day has come, and returns how many. For notices that never came. */
export async function reconcileDueReturns(deps: PaymentDependencies, limit: number): Promise<number> {
  const { claimed, done } = await startDueReconciliations(deps, limit, NO_LIMITS)
  await done
  return claimed
}

/** The same, without waiting for the providers' answers, and within the limits of each account. */
export async function startDueReconciliations(
  deps: PaymentDependencies,
  limit: number,
  limits: AccountLimits,
): Promise<Started> {
  return startWithin(limits, await claimDueReconciliations(deps.database, limit), {
    accountOf: ({ account }) => account,
    work: (each) =>
      reconcileOne(deps, each).catch((err) =>
        deps.log.warn({ err, attemptId: each.attemptId }, 'listing refunds and disputes failed; retrying'),
      ),
    postpone: (late) => postponeReconciliations(deps.database, late),
  })
}

async function reconcileOne(deps: PaymentDependencies, due: DueReconciliation): Promise<void> {
  const attempt = await findAttempt(deps.database, due.attemptId)
  const reconciled: Reconciled = attempt ? await reconcileReturns(deps, attempt) : { kind: 'unsupported' }
  const nextAt = nextReconciliation(reconciled, due.until, deps.clock.now())
  if (nextAt === null && reconciled.kind === 'unanswered')
    deps.log.error({ attemptId: due.attemptId }, 'the provider never listed the refunds and disputes of this attempt')
  await saveReconciliation(deps.database, due, nextAt)
}

/** When to list the refunds and disputes of an attempt again; null when it is done. */
export function nextReconciliation(reconciled: Reconciled, until: Date, now: Date): Date | null {
  const after = (ms: number) => new Date(now.getTime() + ms)
  const isBefore = (ms: number) => now.getTime() < until.getTime() + ms
  if (reconciled.kind === 'unsupported') return null
  if (reconciled.kind === 'unanswered') return isBefore(UNANSWERED_FOR) ? after(HOUR) : null
  const isOpen = reconciled.kind === 'reconciled' && reconciled.isOpen
  // The first listing is 20 to 28 hours after the money, so the seventh is up to 4 hours after the week.
  return isBefore(isOpen ? OPEN_FOR : -DAY / 2) ? after(DAY) : null
}
