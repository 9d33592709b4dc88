import { createHash } from 'node:crypto'
import type { Channel } from '../../kernel/channel.ts'
import { type AttemptId, idOf, type MerchantId, newAttemptReference, newId, uuidOf } from '../../kernel/ids.ts'
import type { Place } from '../../kernel/place.ts'
import type { Language } from '../../merchants/brand.ts'
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
  language?: Language | undefined
  byReference?: boolean
}

const MARK_LENGTH = 4

/**
 * Its last digits mark the merchant. Another installation may use the same account of the provider, and must not take
 * the order for one of its own that it has lost.
 */
export function newAttemptId(now: Date, place: Place, merchantId: MerchantId): AttemptId {
  const name = uuidOf(newId('attempt', now, place)).slice(0, -MARK_LENGTH)
  return idOf('attempt', name + markOf(name.replaceAll('-', ''), merchantId), place)
}

/** Our name of the order at the provider. */
export const orderReferenceOf = (id: AttemptId) => uuidOf(id).replaceAll('-', '')

/** What a provider calls the order before it was asked. Of one with `referenceLength`, for good. */
export const referenceAtProvider = ({ referenceLength }: Capabilities, orderReference: string): string =>
  referenceLength ? orderReference.slice(-referenceLength).toUpperCase() : orderReference

/** Without the code, which is a secret of the customer. */
export function storedInput(input: ChannelInput | undefined): StoredInput | null {
  const { preAuthorisationCode: _, ...stored } = input ?? {}
  return Object.keys(stored).length > 0 ? stored : null
}

export const isOrderOf = (reference: string, merchantId: MerchantId): boolean =>
  reference.endsWith(markOf(reference.slice(0, -MARK_LENGTH), merchantId))

function markOf(name: string, merchantId: MerchantId): string {
  return createHash('sha256').update(`${merchantId} ${name}`).digest('hex').slice(0, MARK_LENGTH)
}

/** A new attempt, before its provider is called. */
export function newAttempt(
  { payment, attempts }: PaymentState,
  { capabilities, channel, input, keysVersion, chargedAtOnce, saveCard, pageKey, language, byReference }: AttemptStart,
  now: Date,
): Attempt {
  const { place } = payment
  const id = newAttemptId(now, place, payment.merchantId)
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
    feeCharged: null,
    amountReceived: 0,
    amountReturned: 0,
    amountRefunded: 0,
    amountReversed: 0,
    idsAreProviders: false,
    orderReference,
    providerReference: referenceAtProvider(capabilities, orderReference),
    saveCard: saveCard ?? false,
    chargedAtOnce,
    pageKey: pageKey ?? null,
    language: language ?? null,
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
