import { type MailDeps, sendDueReceipts } from '../mails/send-receipts.ts'
import type { Job } from './worker.ts'

/** Mails to customers and members. Several processes may run them. */
export function mailJobs(deps: MailDeps): Job[] {
  return [{ name: 'send receipts', everyMs: 1_000, run: () => sendDueReceipts(deps) }]
}
