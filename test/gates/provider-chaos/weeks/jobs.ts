import type { PaymentDeps } from '../../../../src/payments/deps.ts'
import { sendDueRefunds } from '../../../../src/payments/refunds/refund-payment.ts'
import { checkDueAttempts } from '../../../../src/payments/settle/check-attempts.ts'
import { expirePayments } from '../../../../src/payments/settle/expire-payments.ts'
import { processWaitingNotices } from '../../../../src/payments/settle/receive-notice.ts'
import { planAccounts, reconcileDueRuns } from '../../../../src/reconciliation/reconcile-accounts.ts'

type Job = (deps: PaymentDeps, limit: number) => Promise<number>

/** What the worker does about payments. */
const JOBS: Job[] = [expirePayments, processWaitingNotices, checkDueAttempts, sendDueRefunds, reconcileDueRuns]
const AT_ONCE = 16
const MOST_BATCHES = 200

/** Everything that is due, also what becomes due by it. */
export async function runDueJobs(deps: PaymentDeps): Promise<void> {
  await planAccounts(deps)
  for (let batches = 0; batches < MOST_BATCHES; batches++) {
    let done = 0
    for (const job of JOBS) done += await job(deps, AT_ONCE)
    if (done === 0) return
  }
}
