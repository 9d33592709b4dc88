import assert from 'node:assert/strict'
import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'
import { idOf, type PaymentId, placeOf, type RefundId, uuidOf } from '../../src/kernel/ids.ts'
import { type Currency, money } from '../../src/kernel/money.ts'
import { changePayment } from '../../src/payments/change-payment.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { reconcileAttempt } from '../../src/payments/refunds/reconcile-attempt.ts'
import { failRefund, markForReview } from '../../src/payments/refunds/write-reversals.ts'
import type { Attempt } from '../../src/payments/state/attempt.ts'
import { attemptIn } from '../../src/payments/state/payment-state.ts'
import { findPaymentStateById } from '../../src/payments/store/payment-states.ts'
import type { ListedDispute, ListedRefund, ProviderClient, Providers } from '../../src/providers/provider.ts'
import { eventually, type PayingService, type Shop } from './paying.ts'
import { ledger, type Paid } from './sandbox-payments.ts'
import type { Answer } from './service.ts'

export const DAY = 86_400

export async function atProvider(shop: Shop, path: string, body: object, status = 201) {
  const answer = await shop.call('POST', `/sandbox/gateway${path}`, body)
  assert.equal(answer.status, status, JSON.stringify(answer.body))
  return answer.body.data
}

/** The returned amount in the provider's record. */
export async function givenBack(shop: Shop, { order }: Paid): Promise<number> {
  return (await ledger(shop, order)).refunded
}

/** The merchant asks for a refund. `payment`: any of its names. */
export function refund(
  shop: Shop,
  payment: string,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return shop.call('POST', `/payments/v1/payments/${payment}/refunds`, body, headers)
}

export interface Told {
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: an event is read as the test wants it
  data: any
}

/** The events about refunds and disputes, in their order. */
export function toldOf(database: Database, { id }: Pick<Paid, 'id'>): Promise<Told[]> {
  return database.rows(sql`
    select type, coalesce(body::jsonb->'data', data) as data from events
     where payment_id = ${uuidOf(id as PaymentId)} and (type like 'refund.%' or type like 'dispute.%') order by sequence`)
}

/** Resolves when every notice about the order is processed or scheduled for a retry. */
export async function heard(database: Database, { order }: Paid, count: number): Promise<void> {
  await eventually(
    () => database.rows<{ state: string }>(sql`select state from notices where reference = ${order}`),
    (notices) => notices.length >= count && notices.every(({ state }) => state !== 'waiting'),
  )
}

/** The provider could not make the last refund of the payment: the customer's account is closed. */
export async function lastRefundFails(deps: PaymentDeps, { id }: { id: string }): Promise<void> {
  await changePayment(deps, id as PaymentId, {
    decide: (state, _, tx) => {
      const { refunds } = state
      const refund = refunds.at(-1) ?? assert.fail()
      const attempt = attemptIn(state, refund.attemptId)
      failRefund({ tx, deps, state, attempt, refunds, disputes: [] }, refund, 'account closed')
    },
  })
}

/** A person must look at the payment. */
export async function needsReview(deps: PaymentDeps, { id }: { id: string }, why: string): Promise<void> {
  await changePayment(deps, id as PaymentId, {
    decide: (state, _, tx) => {
      const [attempt = assert.fail()] = state.attempts
      markForReview({ tx, deps, state, attempt, refunds: state.refunds, disputes: [] }, why)
    },
  })
}

/** What a test does with a provider that lists refunds and disputes as the test says. */
export function listingProvider({ database, parts }: Pick<PayingService, 'database' | 'parts'>) {
  async function attemptOf(payment: Paid): Promise<Attempt> {
    const state = await findPaymentStateById(database, payment.id as PaymentId)
    return state?.attempts[0] ?? assert.fail()
  }

  /** The service with a provider that answers some calls so. */
  function withProvider(changes: Partial<ProviderClient>): PaymentDeps {
    const connect: Providers['connect'] = async (...of) => ({ ...(await parts.providers.connect(...of)), ...changes })
    return { ...parts, providers: { ...parts.providers, connect } }
  }

  async function reconcileWith(payment: Paid, refunds: ListedRefund[] = [], disputes: ListedDispute[] = []) {
    const listReversals: ProviderClient['listReversals'] = async () => ({ kind: 'reversals', refunds, disputes })
    return reconcileAttempt(withProvider({ listReversals }), await attemptOf(payment))
  }

  /** A refund of ours that the provider has not answered. */
  async function pendingRefund(payment: Paid, amount: number): Promise<RefundId> {
    const paymentId = uuidOf(payment.id as PaymentId)
    const row = await database.row<{ id: string }>(sql`
      insert into refunds (place, id, payment_id, attempt_id, merchant_id, mode, amount, currency, kind, counted, status, due_at)
      select place, gen_random_uuid(), payment_id, id, merchant_id, mode, ${amount}, currency, 'merchant', true, 'pending', now() + interval '1 day'
        from attempts where payment_id = ${paymentId} returning id`)
    await database.rows(sql`
      update attempts set amount_returned = amount_returned + ${amount} where payment_id = ${paymentId}`)
    return idOf('refund', (row ?? assert.fail()).id, placeOf(payment.id as PaymentId))
  }

  return { attemptOf, withProvider, reconcileWith, pendingRefund }
}

export function listedRefund(refundId: string, amount: number, more: Partial<ListedRefund> = {}): ListedRefund {
  return {
    ...{ refundId, reference: null, amount: money(amount, 'NGN' as Currency), status: 'successful', at: new Date() },
    ...more,
  }
}

/** Of the events about refunds and disputes. */
export async function typesTold(database: Database, payment: Pick<Paid, 'id'>): Promise<string[]> {
  return (await toldOf(database, payment)).map(({ type }) => type)
}
