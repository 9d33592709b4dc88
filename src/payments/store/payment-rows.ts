import { outboxOf } from '../../events/outbox-store.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Attempt } from '../state/attempt.ts'
import type { Payment } from '../state/payment.ts'
import { isErased } from '../state/personal-data.ts'
import { returnedOf } from '../state/returned-money.ts'
import type { PaymentWrite } from './write-payment.ts'

/** Everything that the statement of `writePayment` needs, as JSON. */
export function docOf(writes: PaymentWrite[]): string {
  const rows = writes.map(rowsOf)
  const names = Object.keys(rows[0] ?? {}) as (keyof Rows)[]
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, rows.flatMap((each) => each[name])])))
}

type Rows = ReturnType<typeof rowsOf>

function rowsOf(write: PaymentWrite) {
  const { after, newAttempts, changedAttempts, receipts, call, notice, events } = write
  const { pageKey, startedBy, rematch, integration, at } = write
  const [payment_id, merchant_id] = [uuidOf(after.id), uuidOf(after.merchantId)]
  return {
    payments: [write.before ? changedPaymentRow(after) : newPaymentRow(after)],
    integrations: integration ? [{ payment_id, merchant_id, mode: after.mode, ...integration }] : [],
    newAttempts: newAttempts.map((attempt) => ({ ...newAttemptRow(attempt), page_key: pageKey })),
    // A form that confirms the charge of a saved card starts no new attempt.
    changedAttempts: changedAttempts.map((attempt) => ({
      ...changedAttemptRow(attempt),
      ...reconciliationAfter(at),
      ...(newAttempts.length === 0 && { page_key: pageKey }),
    })),
    receipts: receipts.map(({ attempt, receipt, counted }) => ({
      merchant_id,
      mode: attempt.mode,
      provider: attempt.provider,
      account: attempt.account,
      transaction_id: receipt.transactionId,
      attempt_id: uuidOf(attempt.id),
      payment_id,
      amount: receipt.amount.amount,
      currency: receipt.amount.currency,
      counted,
      returned: returnedOf(receipt),
      taken_at: receipt.at,
      recorded_at: at,
    })),
    calls: call ? [{ ...call, payment_id, attempt_id: uuidOf(call.attemptId), took_ms: Math.round(call.tookMs) }] : [],
    notices: notice
      ? [{ ...notice, payment_id, attempt_id: uuidOf(notice.attemptId), is_erased: isErased(after.user) }]
      : [],
    startedBy: startedBy ? [{ ...startedBy, payment_id, merchant_id, began: newAttempts[0]?.id }] : [],
    rematch: rematch ? [{ ...rematch, payment_id, merchant_id, mode: after.mode }] : [],
    ...outboxOf(events, after.webhook),
  }
}

/** New money is reconciled once a day for a week, with jitter on the first day. */
function reconciliationAfter(at: Date): object {
  const after = (hours: number) => new Date(at.getTime() + hours * 3_600_000)
  return { reconcile_at: after(20 + Math.random() * 8), reconcile_until: after(7 * 24) }
}

function newPaymentRow(payment: Payment): object {
  const { user } = payment
  return {
    id: uuidOf(payment.id),
    merchant_id: uuidOf(payment.merchantId),
    mode: payment.mode,
    reference: payment.reference,
    short_code: payment.shortCode,
    amount: payment.amount,
    currency: payment.currency,
    country: payment.country,
    customer_bears_charge: payment.customerBearsCharge,
    user_id: user.id,
    user_email: user.email,
    user_phone_number: user.phoneNumber,
    user_name: user.name,
    redirect_url: payment.redirectURL,
    webhook_url: payment.webhook,
    metadata: payment.metadata,
    link_id: payment.link && uuidOf(payment.link),
    sequence: payment.sequence,
    version: payment.version,
    created_at: payment.createdAt,
    expires_at: payment.expiresAt,
  }
}

function changedPaymentRow(payment: Payment): object {
  return {
    id: uuidOf(payment.id),
    status: payment.status,
    late: payment.late,
    amount_paid: payment.amountPaid,
    amount_refunded: payment.amountRefunded,
    sequence: payment.sequence,
    version: payment.version,
    completed_at: payment.completedAt,
  }
}

function newAttemptRow(attempt: Attempt): object {
  return {
    id: uuidOf(attempt.id),
    payment_id: uuidOf(attempt.paymentId),
    merchant_id: uuidOf(attempt.merchantId),
    mode: attempt.mode,
    number: attempt.number,
    reference: attempt.reference,
    provider: attempt.provider,
    account: attempt.account,
    channel: attempt.channel,
    status: attempt.status,
    currency: attempt.currency,
    amount_charged: attempt.amountCharged,
    fee: attempt.fee,
    order_reference: attempt.orderReference,
    provider_reference: attempt.providerReference,
    save_card: attempt.saveCard,
    charged_at_once: attempt.chargedAtOnce,
    created_at: attempt.createdAt,
    watched_since: attempt.checks.since,
    next_check_at: attempt.checks.nextAt,
  }
}

function changedAttemptRow(attempt: Attempt): object {
  const { checks } = attempt
  return {
    id: uuidOf(attempt.id),
    payment_id: uuidOf(attempt.paymentId),
    status: attempt.status,
    amount_received: attempt.amountReceived,
    amount_returned: attempt.amountReturned,
    amount_refunded: attempt.amountRefunded,
    amount_reversed: attempt.amountReversed,
    ids_are_providers: attempt.idsAreProviders,
    provider_reference: attempt.providerReference,
    charged_at_once: attempt.chargedAtOnce,
    failure: attempt.failure,
    failed_try_id: attempt.failedTryId,
    instructions: attempt.instructions,
    instructions_expire_at: attempt.instructionsExpireAt,
    said_paid: attempt.noticeSaidPaid,
    needs_review: attempt.needsReview,
    reviewed: attempt.reviewed,
    asked_at: attempt.askedAt,
    resolved_at: attempt.resolvedAt,
    next_check_at: checks.nextAt,
    checks: checks.count,
    watched_since: checks.since,
    missing_in_a_row: checks.missingInARow,
    active_at: checks.lastActivityAt,
    known_to_provider: attempt.knownToProvider,
  }
}
