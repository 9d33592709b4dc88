import type { PaymentDeps } from '../deps.ts'
import { BOOKS } from '../state/case.ts'
import { amountText } from '../state/settlement.ts'
import { overdueBefore, usualDays } from '../state/settlement-delay.ts'
import { closeAccountCase, openAccountCase } from '../store/other-cases.ts'
import type { AuditScope } from '../store/provider-audit.ts'
import { settlingAccounts, sumUnsettled } from '../store/unsettled.ts'

const REASON = 'settlement_difference' as const

/** Payments that no settlement has, long after the usual delay: one case for the account, until all are settled. */
export async function reportUnsettled(
  deps: Pick<PaymentDeps, 'database' | 'clock' | 'providers'>,
  scope: AuditScope,
): Promise<void> {
  const { database, clock, providers } = deps
  const { provider } = scope
  const account = (await settlingAccounts(database, scope)).find((each) => each.provider === provider)
  if (!account) return
  const now = clock.now()
  const days = usualDays(providers.find(provider)?.capabilities.settles, account.country)
  const sums = await sumUnsettled(database, scope, account, overdueBefore(now, days))
  const late = sums.filter((each) => each.late > 0)
  const summary = late
    .map(
      (each) =>
        `${each.late} payments with ${amountText(each.lateAmount, each.currency)} are in no settlement yet, and are usually settled after ${days} working days.`,
    )
    .join(' ')
  await database.transaction(async (tx) =>
    summary
      ? openAccountCase(tx, scope, { provider, reason: REASON, summary, since: new Date(0) }, now)
      : closeAccountCase(tx, scope, { provider, reason: REASON }, { by: BOOKS, note: null, now }),
  )
}
