import type { Integration } from '../integrations/integration.ts'
import { listEnabledIntegrations } from '../integrations/integration-store.ts'
import type { Channel } from '../kernel/channel.ts'
import type { Country } from '../kernel/country.ts'
import { parseId } from '../kernel/ids.ts'
import type { Currency } from '../kernel/money.ts'
import { Problem } from '../kernel/problem.ts'
import type { Caller } from '../merchants/merchant.ts'
import type { Capabilities } from '../providers/provider.ts'
import { DuplicateReference, type PaymentCreator } from './create-payment.ts'
import type { PaymentDependencies } from './dependencies.ts'
import type { CallContext } from './idempotent-call.ts'
import { type Started, startAttempt } from './start-attempt.ts'
import { assertPending, type PaymentRequest, type User } from './state/payment.ts'
import { priceOf, takes } from './state/payment-options.ts'
import { findAttempt, findPaymentStateById } from './store/attempts.ts'
import { findPaymentByReference } from './store/payments.ts'

export interface InitializeRequest extends Omit<PaymentRequest, 'country'> {
  /** As merchants write it: a name, or a name with the channel behind it. */
  provider: string
  reference: string | undefined
  country: Country | undefined
  expiresInSeconds: number
  /** The customer agreed that the card be kept. */
  saveCard: boolean
}

type Parts = PaymentDependencies & { createPayment: PaymentCreator }

/** A try at a payment with the provider that the merchant names. It is never swapped for another. */
export async function initializePayment(
  deps: Parts,
  caller: Caller,
  request: InitializeRequest,
  context: Pick<CallContext, 'startedId' | 'saveStartedId'>,
): Promise<Started> {
  const earlier = await findStarted(deps, context.startedId)
  if (earlier) return earlier
  // Not from the cache: an integration that was just set up or removed in another process counts.
  const integrations = await listEnabledIntegrations(deps.database, caller)
  const { capabilities, channel, integration } = findIntegration(deps, caller, integrations, request)
  priceOf(request, capabilities, channel)
  const paymentId = await openPayment(deps, caller, request, integration)
  return startAttempt(deps, paymentId, {
    capabilities,
    channel,
    saveCard: request.saveCard,
    onIntent: context.saveStartedId,
  })
}

/** What the same call had started before its process died: its instructions are the answer. */
async function findStarted({ database }: Parts, startedId: string | null): Promise<Started | undefined> {
  const id = startedId === null ? undefined : parseId('attempt', startedId)
  const attempt = id && (await findAttempt(database, id))
  const state = attempt?.instructions && (await findPaymentStateById(database, attempt.paymentId))
  return attempt && state ? { attempt, state } : undefined
}

const CHANNEL_SUFFIX = '-virtual-bank-account'

/** `name` takes cards, `name-virtual-bank-account` takes transfers. */
export function splitProvider(provider: string): { name: string; channel: Channel } {
  return provider.endsWith(CHANNEL_SUFFIX)
    ? { name: provider.slice(0, -CHANNEL_SUFFIX.length), channel: 'virtual-bank-account' }
    : { name: provider, channel: 'card' }
}

function findIntegration(
  { providers }: PaymentDependencies,
  { mode }: Caller,
  integrations: Integration[],
  { provider, currency, country }: InitializeRequest,
): { capabilities: Capabilities; channel: Channel; integration: Integration } {
  const { name, channel } = splitProvider(provider)
  const capabilities = providers.find(name)?.capabilities
  const integration = integrations.find((each) => each.provider === name)
  const yours = `Yours in ${mode} mode: ${integrations.flatMap(namesOf).join(', ') || 'none'}.`
  if (!capabilities?.channels.includes(channel)) {
    throw new Problem('unknown_provider', `There is no provider "${provider}". ${yours}`)
  }
  if (!integration?.channels.includes(channel)) {
    throw new Problem('provider_not_configured', `"${provider}" is not set up for you. ${yours}`)
  }
  const currencies = integration.currencies.filter((each) => takes(capabilities, channel, each))
  if (!currencies.includes(currency)) {
    throw new Problem('currency_not_supported', `${provider} takes ${currencies.join(', ')}, not ${currency}.`)
  }
  if (country && !integration.countries.includes(country)) {
    throw new Problem(
      'no_integration_available',
      `${name} takes payments in ${integration.countries.join(', ')}, not in ${country}.`,
    )
  }
  return { capabilities, channel, integration }
}

function namesOf({ provider, channels }: Integration): string[] {
  return channels.map((channel) => (channel === 'card' ? provider : `${provider}-${channel}`))
}

/** The payment of that reference when it is still open, else a new one. */
async function openPayment(deps: Parts, caller: Caller, request: InitializeRequest, integration: Integration) {
  const known = request.reference && (await continueWith(deps, caller, request, request.reference))
  if (known) return known
  try {
    const { provider, reference, expiresInSeconds, country, saveCard, ...rest } = request
    const created = await deps.createPayment({
      caller,
      request: { ...rest, country: country ?? homeOf(request.currency, integration) },
      reference,
      expiresInSeconds,
      idempotency: undefined,
    })
    return created.ticket.id
  } catch (error) {
    if (!(error instanceof DuplicateReference)) throw error
    const rival = await continueWith(deps, caller, request, error.existing.reference)
    if (!rival) throw error
    return rival
  }
}

async function continueWith(
  deps: Parts,
  caller: Caller,
  { amount, currency, user }: InitializeRequest,
  reference: string,
) {
  const payment = await findPaymentByReference(deps.database, caller, reference)
  if (!payment) return undefined
  assertPending(payment)
  if (payment.amount !== amount || payment.currency !== currency) {
    throw new Problem(
      'reference_conflict',
      `The reference ${reference} belongs to a payment of ${payment.amount} ${payment.currency}, not ${amount} ${currency}. Send the same amount and currency to add a try to it, or use another reference.`,
    )
  }
  if (isAnotherUser(user, payment.user)) {
    // The address is not repeated: the caller may be passing on what a stranger typed.
    throw new Problem(
      'reference_conflict',
      `The reference ${reference} belongs to a payment of another user. Send the same user to add a try to it, or use another reference.`,
    )
  }
  return payment.id
}

/** A request without `user.id` may continue a payment that has one: the payment's own user counts. */
function isAnotherUser(asked: User, known: User): boolean {
  return asked.email.toLowerCase() !== known.email.toLowerCase() || (asked.id !== null && asked.id !== known.id)
}

const HOME: Record<string, string> = { NGN: 'NG', GHS: 'GH', KES: 'KE', ZAR: 'ZA', USD: 'US' }

/** Where a currency is at home, if the provider serves that place. */
function homeOf(currency: Currency, { countries }: Integration): Country {
  return countries.find((country) => country === HOME[currency]) ?? (countries[0] as Country)
}
