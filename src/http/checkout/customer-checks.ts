import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptId } from '../../kernel/ids.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { checkAttempt } from '../../payments/settle/settle-attempt.ts'
import type { Attempt } from '../../payments/state/attempt.ts'
import type { PaymentState } from '../../payments/state/payment-state.ts'
import { claimProviderCheck } from '../../payments/store/attempts.ts'
import { findPaymentStateById, findStateByAttempt } from '../../payments/store/payment-states.ts'

/** Checks that a customer waits for. */
export interface CustomerChecks {
  /** The payment of a customer who returns from the provider's page. Undefined: there is no such attempt. */
  afterReturn(id: AttemptId): Promise<PaymentState | undefined>
  /** Asks the providers about these attempts of one payment. */
  ask(attempts: [Attempt, ...Attempt[]]): Promise<PaymentState | undefined>
}

/** After it the page is shown without the provider's answer, which is applied when it comes. */
const TIMEOUT_MS = 4_000

export function customerChecks(deps: PaymentDeps): CustomerChecks {
  const { database, clock, log } = deps

  async function afterReturn(id: AttemptId): Promise<PaymentState | undefined> {
    const found = await findStateByAttempt(database, id)
    return found?.attempt.status === 'successful' ? found.state : found && ask([found.attempt])
  }

  /**
   * Asks the provider at most every 3 seconds per payment; otherwise the page shows the stored state and the scheduled
   * check follows. Returns the payment as it is afterwards.
   */
  async function ask([attempt, ...others]: [Attempt, ...Attempt[]]): Promise<PaymentState | undefined> {
    const mayAsk = await claimProviderCheck(database, attempt, clock.now())
    const [checked] = mayAsk ? await Promise.all([attempt, ...others].map(inTime)) : []
    return (others.length === 0 && checked) || findPaymentStateById(database, attempt.paymentId)
  }

  /** Undefined if the check takes too long or fails. */
  async function inTime(attempt: Attempt): Promise<PaymentState | undefined> {
    const isOver = new AbortController()
    const checked = checkAttempt(deps, attempt, { source: 'return' }).catch((err) => {
      log.warn(
        { err, attemptId: attempt.id },
        'checking the provider for a waiting customer failed; the worker retries',
      )
      return undefined
    })
    const timeout = sleep(TIMEOUT_MS, undefined, { signal: isOver.signal }).catch(() => undefined)
    return Promise.race([checked, timeout]).finally(() => isOver.abort())
  }

  return { afterReturn, ask }
}
