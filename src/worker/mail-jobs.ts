import { addressAlerts, findAlerts } from '../mails/address-alerts.ts'
import { type AlertDeps, sendDueAlerts } from '../mails/send-alerts.ts'
import { sendDueReceipts } from '../mails/send-receipts.ts'
import type { Job } from './worker.ts'

/** Mails to customers and members. Several processes may run them. */
export function mailJobs(deps: AlertDeps): Job[] {
  const hasOperator = deps.operator !== undefined
  return [
    { name: 'send receipts', everyMs: 1_000, run: () => sendDueReceipts(deps) },
    { name: 'find alerts', everyMs: 60_000, run: () => findAlerts(deps).then(() => false) },
    { name: 'address alerts', everyMs: 2_000, run: () => addressAlerts(deps, hasOperator) },
    { name: 'send alerts', everyMs: 5_000, run: () => sendDueAlerts(deps).then(() => false) },
  ]
}
