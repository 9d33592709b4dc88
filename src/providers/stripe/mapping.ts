import type { Mode } from '../../kernel/mode.ts'
import { money } from '../../kernel/money.ts'
import type {
  Declined,
  Order,
  Outcome,
  Receipt,
  RefundOrder,
  RefundOutcome,
  SavedCardCharge,
  Unknown,
} from '../provider.ts'
import { failure, failureOf } from './declines.ts'
import type { StripeError, StripeFailure, StripeIntent, StripeRefund, StripeSession } from './wire.ts'

/** Their words into ours. Pure; README.md has the tables. */
export function outcomeOfSession({ status, paymentStatus, intent }: StripeSession): Outcome {
  if (typeof intent === 'string') return unknown('it did not say how the money stands')
  if (!intent) return outcomeWithoutIntent(status, paymentStatus)
  // Money is with the intent, so that has the last word. The session knows whether the page is still open.
  const outcome = outcomeOfIntent(intent)
  if (paymentStatus === 'paid' && outcome.kind !== 'paid') return unknown('it says paid, and names no money')
  switch (status) {
    case 'open':
      return outcome
    case 'complete':
      return outcome.kind === 'pending' ? { kind: 'processing' } : outcome
    case 'expired':
      // Whoever tried hears why that failed, whoever did not that it is too late.
      return outcome.kind === 'pending' || (outcome.kind === 'declined' && !intent.lastError) ? closed() : outcome
    default:
      return outcome.kind === 'paid' ? outcome : unknown('a status of a session that is new to us')
  }
}

/** Nobody has tried to pay yet. */
function outcomeWithoutIntent(status: string, paymentStatus: string): Outcome {
  if (paymentStatus !== 'unpaid') return unknown('it says paid, and names no money')
  if (status === 'open') return { kind: 'pending', receipts: [] }
  return status === 'expired' ? closed() : unknown('it says complete, and names no payment')
}

/** The page takes no card any more, and none was charged. */
function closed(): Declined {
  return { kind: 'declined', failure: failure('customer_cancelled', 'expired'), tryId: null }
}

export function outcomeOfIntent(intent: StripeIntent): Outcome {
  const { status, received, lastError, cancellationReason } = intent
  if (status !== 'succeeded' && received > 0) return unknown('it names money, and does not say succeeded')
  switch (status) {
    case 'succeeded':
      return received > 0 ? paid(intent) : unknown('it says succeeded, and names no money')
    case 'processing':
    case 'requires_capture': // held, not taken: somebody has changed our order, and will take it or let it go
      return { kind: 'processing' }
    case 'requires_action':
    case 'requires_confirmation':
      return { kind: 'pending', receipts: [] }
    case 'requires_payment_method':
      return lastError ? declined(lastError, intent) : { kind: 'pending', receipts: [] }
    case 'canceled':
      return lastError ? declined(lastError, intent) : cancelled(cancellationReason)
    default:
      return unknown('a status of an intent that is new to us')
  }
}

/** The one intent that is paid, once, is the transaction; a charge of it is one try. */
function paid(intent: StripeIntent): Outcome {
  const { id, received, currency, createdAt, charge, savedCard } = intent
  const returned = Math.min(received, charge?.refunded ?? 0)
  const receipt: Receipt = {
    transactionId: id,
    amount: money(received, currency),
    at: charge?.at ?? createdAt,
    ...(returned > 0 && { returned }),
  }
  return { kind: 'paid', receipts: [receipt], ...(savedCard && { savedCard }) }
}

function cancelled(reason: string | null): Declined {
  const code = reason === 'fraudulent' ? 'suspected_fraud' : 'customer_cancelled'
  return { kind: 'declined', failure: failure(code, reason ?? 'canceled'), tryId: null }
}

function declined(error: StripeFailure, intent: StripeIntent | null): Declined {
  return { kind: 'declined', failure: failureOf(error), tryId: intent?.charge?.id ?? error.chargeId }
}

/** A saved card that was charged, or that waits for its owner. */
export function chargeOf(intent: StripeIntent): SavedCardCharge {
  const outcome = outcomeOfIntent(intent)
  if (outcome.kind !== 'pending' || intent.status !== 'requires_action') return outcome
  const { id, stepLink } = intent
  if (stepLink) return { kind: 'step', link: stepLink, providerReference: id }
  // It can be finished only by their script with a secret that we hand to nobody.
  return { kind: 'declined', failure: failure('authentication_failed', 'use_stripe_sdk'), tryId: null }
}

/** A refusal of the request itself, or of the card: 402 leaves an intent behind, which must not have taken money. */
export function refusalOf(error: StripeError, order: Order, mode: Mode): SavedCardCharge {
  const { intent } = error
  if (intent === undefined) return unknown('it refused, with a payment that we cannot read')
  if (!intent) return declined(error, null)
  const wrong = mismatch(intent, order, mode)
  if (wrong) return unknown(wrong)
  switch (intent.status) {
    case 'requires_action':
      return chargeOf(intent)
    case 'requires_payment_method':
    case 'canceled':
      return declined(error, intent)
    default:
      return unknown('it refused, and its payment goes on')
  }
}

/** Why this is not an answer about this order; undefined when it is. */
export function mismatch(
  answer: Pick<StripeSession, 'reference' | 'currency' | 'amount' | 'livemode'>,
  order: Pick<Order, 'reference' | 'amount'>,
  mode: Mode,
): string | undefined {
  if (answer.reference !== order.reference) return 'it answered about another order'
  if (answer.currency !== order.amount.currency) return 'it answered with another currency'
  if (answer.amount !== order.amount.amount) return 'it answered with another amount'
  return otherMode(answer.livemode, mode)
}

export function otherMode(livemode: boolean, mode: Mode): string | undefined {
  return livemode === (mode === 'live') ? undefined : 'it answered from the other mode'
}

export function refundOutcomeOf(refund: StripeRefund, wanted: RefundOrder, intentId: string): RefundOutcome {
  if (refund.refundReference !== wanted.reference || refund.intentId !== intentId) {
    return unknown('it answered about another refund')
  }
  if (refund.currency !== wanted.amount.currency || refund.amount !== wanted.amount.amount) {
    return unknown('it answered with another amount')
  }
  switch (refund.status) {
    case 'succeeded':
      return { kind: 'refunded', refundId: refund.id }
    case 'failed':
    case 'canceled':
      return { kind: 'refused', because: `the refund is ${refund.status}` }
    case 'pending':
    case 'requires_action':
      return { kind: 'pending', refundId: refund.id }
    default:
      return unknown('a status of a refund that is new to us')
  }
}

export const unknown = (because: string): Unknown => ({ kind: 'unknown', because })
export const unreadable = (status: number): Unknown => unknown(`it answered ${status} with what we cannot read`)
