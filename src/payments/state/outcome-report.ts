import type { AttemptId } from '../../kernel/ids.ts'
import type { Outcome } from '../../providers/provider.ts'
import type { Attempt } from './attempt.ts'
import type { NewReceipt } from './new-receipt.ts'
import type { Refund } from './refund.ts'

/**
 * How an outcome reached us: the answer to the start, a notice, the customer's return to the page, a scheduled check,
 * an entry in the provider's lists that differs from our records, or a person who matched unmatched money with the
 * payment. Shown in timelines.
 */
export type Source = 'start' | 'notice' | 'return' | 'check' | 'reconciliation' | 'match'

export interface OutcomeReport {
  attemptId: AttemptId
  outcome: Outcome
  /** Receipts of this outcome that are not on record yet. */
  newReceipts: NewReceipt[]
  /** Of the payment. */
  refunds?: Refund[]
  contradiction?: string | undefined
  /** The answer names all money that is on record of the attempt. */
  isAgreed?: boolean
  source: Source
  /** What a signed notice says, if one caused the check. */
  noticeSays?: 'paid' | 'failed' | undefined
  /** The attempt when the provider was asked, to detect a change in the meantime. */
  whenAsked?: { status: Attempt['status']; since: Date }
  /** When the provider was asked. */
  askedAt?: Date | undefined
  now: Date
}
