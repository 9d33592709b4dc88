import type { Attempt } from './state/attempt.ts'
import type { Notice } from './state/notice.ts'
import type { Snapshot } from './store/payment-states.ts'

/** An attempt with its payment, as this process wrote them when the provider had started it. */
export interface StartedAttempt {
  attempt: Attempt
  state: Snapshot
}

const KEPT_MS = 60_000
const MAX_KEPT = 10_000
/** Payments with more are read again: 10 000 of the largest would fill the heap. */
const MAX_ATTEMPTS = 2
const MAX_METADATA_CHARACTERS = 1_000

/** By our order reference, oldest first. */
const kept = new Map<string, StartedAttempt & { untilMs: number }>()

/**
 * Keeps a started attempt in memory for a minute: the provider's notice of success, which usually comes in that time, then needs no read
 * of the payment. Another process may have changed the payment since, so a decision on it must be written with the guard of its version,
 * and be made again on what the database has when that write is refused.
 */
export function keepStarted(started: StartedAttempt): void {
  const { kind } = started.attempt.instructions ?? {}
  if (kind !== 'link' && kind !== 'account') return // of a saved card, which other steps may follow
  const { payment, attempts } = started.state
  if (attempts.length > MAX_ATTEMPTS || JSON.stringify(payment.metadata).length > MAX_METADATA_CHARACTERS) return
  const nowMs = performance.now()
  kept.set(started.attempt.orderReference, { ...started, untilMs: nowMs + KEPT_MS })
  for (const [reference, { untilMs }] of kept) {
    if (untilMs > nowMs && kept.size <= MAX_KEPT) break
    kept.delete(reference)
  }
}

type Signer = Pick<Notice, 'merchantId' | 'mode' | 'provider' | 'account'>

/** The attempt that a notice names, with the account that signed it. It is given once. */
export function takeStarted(notice: Signer, reference: string): StartedAttempt | undefined {
  const found = kept.get(reference)
  if (!found || !isOf(found.attempt, notice)) return undefined
  kept.delete(reference)
  return found.untilMs > performance.now() ? found : undefined
}

function isOf(attempt: Attempt, { merchantId, mode, provider, account }: Signer): boolean {
  const isOfMerchant = attempt.merchantId === merchantId && attempt.mode === mode
  return isOfMerchant && attempt.provider === provider && attempt.account === account
}

/** Called before each write of a payment by this process. */
export function forgetStarted(attempts: Attempt[]): void {
  for (const { orderReference } of attempts) kept.delete(orderReference)
}
