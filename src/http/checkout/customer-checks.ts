import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptId } from '../../kernel/ids.ts'
import type { PaymentDependencies } from '../../payments/dependencies.ts'
import { noticeBeingStored } from '../../payments/receive-notice.ts'
import { checkAttempt, checkForNotice } from '../../payments/settle-attempt.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { claimProviderCheck } from '../../payments/store/attempts.ts'
import { findPaymentStateById, findStateByAttempt, type Snapshot } from '../../payments/store/payment-states.ts'

/** Checks that a customer waits for. */
export interface CustomerChecks {
  /** The payment of a customer who returns from the provider's page. Undefined: there is no such attempt. */
  afterReturn(id: AttemptId): Promise<PaymentState | undefined>
  /** Asks the provider about an open attempt. */
  ask(attempt: Attempt): Promise<PaymentState | undefined>
}

// Timeout for the notice and the check together: after it the page is shown without the provider's answer.
const TIMEOUT_MS = 4_000
// The provider sends its notice and the customer at the same time. A notice that has arrived with the customer is read in this time.
const NOTICE_IS_READ_MS = 5

/** When the customer has waited long enough. */
interface Deadline {
  passed: Promise<undefined>
  isOver(): boolean
}

export function customerChecks(parts: PaymentDependencies): CustomerChecks {
  const { database, log } = parts

  /** The check for the notice gives the payment without a read. */
  async function afterReturn(id: AttemptId, deadline: Deadline): Promise<PaymentState | undefined> {
    if (!noticeBeingStored(id) && !checkForNotice(id)) await sleep(NOTICE_IS_READ_MS)
    await noticeStored(id, deadline)
    const underWay = checkForNotice(id)
    const checked = underWay && (await inTime(id, underWay, deadline))
    if (checked) return checked
    const found = await findStateByAttempt(database, id)
    if (!found || underWay) return found?.state
    return (await ask(found.attempt, deadline, found.state)) ?? found.state
  }

  /**
   * Asks the provider at most every 3 seconds per payment; otherwise the page shows the stored state and the scheduled
   * check follows. Returns the payment as it is afterwards.
   */
  async function ask(attempt: Attempt, deadline: Deadline, snapshot?: Snapshot): Promise<PaymentState | undefined> {
    if (attempt.status === 'successful') return snapshot // the notice came before the customer
    await noticeStored(attempt.id, deadline)
    if (deadline.isOver()) return snapshot // the check of the notice follows, or the scheduled one
    const mayAsk = checkForNotice(attempt.id) !== undefined || (await claimProviderCheck(database, attempt))
    if (!mayAsk) return findPaymentStateById(database, attempt.paymentId)
    const state = await inTime(attempt.id, checkAttempt(parts, attempt, { source: 'return' }, snapshot), deadline)
    return state ?? findPaymentStateById(database, attempt.paymentId)
  }

  /** Waits while a notice of success is being stored: its check then answers the customer, too. */
  async function noticeStored(id: AttemptId, deadline: Deadline): Promise<void> {
    const storing = noticeBeingStored(id)
    if (storing) await Promise.race([storing, deadline.passed])
  }

  /** The payment after a check. Undefined if the check takes too long or fails. */
  function inTime(
    attemptId: AttemptId,
    check: Promise<PaymentState>,
    deadline: Deadline,
  ): Promise<PaymentState | undefined> {
    const checked = check.catch((err) => {
      log.warn({ err, attemptId }, 'checking the provider for a waiting customer failed; the worker retries')
      return undefined
    })
    return Promise.race([checked, deadline.passed])
  }

  return {
    afterReturn: (id) => withDeadline((deadline) => afterReturn(id, deadline)),
    ask: (attempt) => withDeadline((deadline) => ask(attempt, deadline)),
  }
}

/** The timer is cleared: as long as it runs, it keeps the payment in memory. */
async function withDeadline<Result>(work: (deadline: Deadline) => Promise<Result>): Promise<Result> {
  const { promise: passed, resolve } = Promise.withResolvers<undefined>()
  let isOver = false
  const timer = setTimeout(() => {
    isOver = true
    resolve(undefined)
  }, TIMEOUT_MS)
  return work({ passed, isOver: () => isOver }).finally(() => clearTimeout(timer))
}
