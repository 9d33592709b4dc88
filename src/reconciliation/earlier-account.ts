import type { PaymentDeps } from '../payments/deps.ts'
import { openAccountCase } from '../payments/store/other-cases.ts'
import { type AuditScope, newestTransaction } from '../payments/store/provider-audit.ts'

const WATCHED_MS = 180 * 86_400_000
const EVER = new Date(0)

/**
 * The provider refuses earlier keys. The current ones list the same account, or another one: then its refunds and
 * disputes are in no list that can be read. A transaction of the earlier keys tells.
 */
export async function watchEarlierAccount(deps: PaymentDeps, scope: AuditScope, keysVersion: number): Promise<void> {
  const { database, providers, clock, log } = deps
  const { provider } = scope
  const now = clock.now()
  const since = new Date(now.getTime() - WATCHED_MS)
  const transactionId = await newestTransaction(database, scope, { keysVersion, since })
  if (transactionId === null) return
  const client = await providers.connect(scope, provider, { keysVersion: scope.keysVersion })
  const found = await client.findReference?.(transactionId)
  if (found?.kind !== 'missing') return
  log.error({ merchantId: scope.merchantId, provider, keysVersion }, 'payments of an earlier account are not watched')
  const summary = `Payments of the earlier account are not watched any more: the provider refuses its keys (version ${keysVersion}), and the current ones do not know transaction ${transactionId}. Watch its refunds and disputes in its dashboard.`
  // Once for each version: it stays so.
  await database.transaction((tx) =>
    openAccountCase(tx, scope, { provider, reason: 'review', summary, since: EVER }, now),
  )
}
