import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { type MerchantId, uuidOf } from '../../src/kernel/ids.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { planAccounts, reconcileDueRuns } from '../../src/reconciliation/reconcile-accounts.ts'
import type { RunKind, WindowName } from '../../src/reconciliation/windows.ts'

export interface RunNow {
  merchantId: MerchantId
  kind: RunKind
  time_window: WindowName
  due_at: Date
  started_at: Date | null
  cursor: string | null
  phase: string
  listed: number
  agreed: number
  booked: number
  foreign_count: number
  asked: number
  absent: number
  finished_at: Date | null
  failure: string | null
  unsupported: string | null
}

/** The runs of a shop. */
export const runsOf = (database: Database, { merchantId }: { merchantId: MerchantId }) =>
  database.rows<RunNow>(sql`
    select * from reconciliation_runs where merchant_id = ${uuidOf(merchantId)} order by kind, time_window`)

export async function runOf(
  database: Database,
  shop: { merchantId: MerchantId },
  kind: RunKind,
  window: WindowName = '8 days',
): Promise<RunNow> {
  const runs = await runsOf(database, shop)
  return runs.find((run) => run.kind === kind && run.time_window === window) ?? assert.fail(`no run of ${kind}`)
}

/** Makes the runs of this window due for a shop, and those of all others not. */
export async function makeDue(
  database: Database,
  { merchantId }: { merchantId: MerchantId },
  window: WindowName = '8 days',
): Promise<void> {
  await planAccounts({ database })
  await database.rows(sql`
    update reconciliation_runs set due_at = case when merchant_id = ${uuidOf(merchantId)} and time_window = ${window}
                                                 then now() - interval '1 second' else now() + interval '1 hour' end`)
}

/** Reconciles a shop with the lists of its providers, until nothing is due. */
export async function reconcile(
  parts: PaymentDeps,
  shop: { merchantId: MerchantId },
  window: WindowName = '8 days',
): Promise<void> {
  await makeDue(parts.database, shop, window)
  await runDue(parts)
}

export async function runDue(parts: PaymentDeps): Promise<void> {
  for (let steps = 0; (await reconcileDueRuns(parts, 100)) > 0; steps++) assert.ok(steps < 200, 'the runs end')
}
