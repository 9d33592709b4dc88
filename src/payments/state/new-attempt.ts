import type { Channel } from '../../kernel/channel.ts'
import { type AttemptId, newAttemptReference, newId, uuidOf } from '../../kernel/ids.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { ChannelInput } from '../../providers/provider.ts'
import type { Attempt, StoredInput } from './attempt.ts'
import { restartSchedule } from './check-schedule.ts'
import { priceOf } from './payment-options.ts'
import type { PaymentState } from './payment-state.ts'

interface AttemptStart {
  capabilities: Capabilities
  channel: Channel
  input?: ChannelInput | undefined
  keysVersion: number
  chargedAtOnce: boolean
  saveCard?: boolean
  pageKey?: string | undefined
  byReference?: boolean
}

/** Our name of the order at the provider. */
export const orderReferenceOf = (id: AttemptId) => uuidOf(id).replaceAll('-', '')

/** Without the code, which is a secret of the customer. */
export function storedInput(input: ChannelInput | undefined): StoredInput | null {
  const { preAuthorisationCode: _, ...stored } = input ?? {}
  return Object.keys(stored).length > 0 ? stored : null
}

/** A new attempt, before its provider is called. */
export function newAttempt(
  { payment, attempts }: PaymentState,
  { capabilities, channel, input, keysVersion, chargedAtOnce, saveCard, pageKey, byReference }: AttemptStart,
  now: Date,
): Attempt {
  const { place } = payment
  const id = newId('attempt', now, place)
  const orderReference = orderReferenceOf(id)
  return {
    id,
    place,
    paymentId: payment.id,
    merchantId: payment.merchantId,
    mode: payment.mode,
    number: attempts.length + 1,
    reference: newAttemptReference(payment.reference, place),
    provider: capabilities.name,
    keysVersion,
    channel,
    input: storedInput(input),
    status: 'processing',
    currency: payment.currency,
    ...priceOf(payment, capabilities, channel),
    amountReceived: 0,
    amountReturned: 0,
    amountRefunded: 0,
    amountReversed: 0,
    idsAreProviders: false,
    orderReference,
    providerReference: orderReference,
    saveCard: saveCard ?? false,
    chargedAtOnce,
    pageKey: pageKey ?? null,
    byReference: byReference ?? false,
    knownToProvider: false,
    failure: null,
    failedTryId: null,
    instructions: null,
    instructionsExpireAt: null,
    noticeSaidPaid: false,
    createdAt: now,
    askedAt: now,
    resolvedAt: null,
    answeredAt: null,
    checks: restartSchedule(now),
  }
}
