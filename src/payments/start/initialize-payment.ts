import { isUniqueViolation } from '../../database/failure.ts'
import { capabilitiesWith, type Integration } from '../../integrations/integration.ts'
import { type EnabledIntegration, listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { type Channel, providerName, splitProvider } from '../../kernel/channel.ts'
import type { Country } from '../../kernel/country.ts'
import { parseId } from '../../kernel/ids.ts'
import { MOBILE_NETWORKS } from '../../kernel/mobile-networks.ts'
import { type Currency, defaultCountry, nameBothWays } from '../../kernel/money.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { Caller } from '../../merchants/merchant.ts'
import { type Capabilities, offerOf } from '../../providers/capabilities.ts'
import { writeNewPayment } from '../change-payment.ts'
import type { PaymentDeps } from '../deps.ts'
import { channelInputOf, type GivenInput } from '../state/channel-input.ts'
import { assertPending, type Payment, type PaymentRequest, type User } from '../state/payment.ts'
import { priceOf, serves, takes, withinUnits } from '../state/payment-options.ts'
import { assertNotEnded } from '../state/payment-state.ts'
import { startedIdSaved } from '../store/idempotent-calls.ts'
import { findStateByAttempt } from '../store/payment-states.ts'
import { findPaymentByReference } from '../store/payments.ts'
import { type CreateDeps, type CreatePayment, createPayment, DuplicateReference, newPayment } from './create-payment.ts'
import type { CallContext } from './idempotent-call.ts'
import type { Intent } from './request-start.ts'
import {
  executeStart,
  planIntent,
  readStartContext,
  type Start,
  type StartedAttempt,
  startAttempt,
} from './start-attempt.ts'

export interface InitializeRequest extends Omit<PaymentRequest, 'country'> {
  /** A provider name, optionally followed by the channel: see splitProvider. */
  provider: string
  reference: string | undefined
  country: Country | undefined
  expiresInSeconds: number
  /** The customer agreed that the card be kept. */
  saveCard: boolean
  /** What the customer gave for the channel. The phone number is the user's, where none is given. */
  input: GivenInput
}

type Deps = PaymentDeps & CreateDeps

/** Starts an attempt with the provider that the merchant names. There is no failover to another provider. */
export async function initializePayment(
  deps: Deps,
  caller: Caller,
  request: InitializeRequest,
  { startedId, startedBy }: Pick<CallContext, 'startedId' | 'startedBy'>,
): Promise<StartedAttempt> {
  const earlier = await findStarted(deps, startedId)
  if (earlier) return earlier
  const intent = await createWithIntent(deps, caller, request, startedBy).catch((error) => {
    if (isUniqueViolation(error)) return undefined // the reference is in use
    throw error
  })
  if (intent) return executeStart(deps, intent)
  const target = findIntegration(deps, caller, await listEnabledIntegrations(deps.database, caller), request)
  const payment = await openPayment(deps, caller, request, target)
  return startAttempt(deps, payment, startOf(caller, request, { ...target, payment }, startedBy))
}

function startOf(
  { merchantName }: Caller,
  request: InitializeRequest,
  { capabilities, channel, payment }: Target & { payment: Pick<Payment, 'country' | 'currency' | 'user'> },
  startedBy: CallContext['startedBy'],
): Start {
  const { amountCharged } = priceOf(request, capabilities, channel)
  const { country, user } = payment
  const offer = offerOf(capabilities, channel, payment.currency)
  const phoneNumber = request.input.phoneNumber ?? request.user.phoneNumber ?? user.phoneNumber ?? undefined
  const input = offer && channelInputOf({ ...request.input, phoneNumber }, offer, country)
  const { network } = input ?? {}
  const able = offerOf(withinUnits(capabilities, channel, { ...payment, amountCharged }), channel, payment.currency)
  if (network && !able?.networks?.[country]?.includes(network)) {
    const wanted = nameBothWays({ amount: amountCharged, currency: payment.currency })
    const message = `${MOBILE_NETWORKS[network]} takes whole amounts only; this would be ${wanted}.`
    throw refuse([{ pointer: '/amount', code: 'out_of_range', message }])
  }
  return { capabilities, channel, input, merchantName, saveCard: request.saveCard, startedBy }
}

/**
 * Creates the payment and its first attempt in one transaction. Throws a unique violation, with nothing written, if the
 * reference is in use.
 */
function createWithIntent(
  deps: Deps,
  caller: Caller,
  request: InitializeRequest,
  startedBy: CallContext['startedBy'],
): Promise<Intent> {
  return deps.database.transaction(async (tx) => {
    const context = await readStartContext(tx, { ...caller, user: request.user })
    const target = findIntegration(deps, caller, context.integrations, request)
    const made = newPayment(wantedOf(caller, request, target), deps.clock.now())
    const start = startOf(caller, request, { ...target, payment: made.payment }, startedBy)
    const { decision, intent } = planIntent(deps, { payment: made.payment, attempts: [], cases: [] }, start, context)
    writeNewPayment(tx, deps, made, decision)
    if (startedBy) tx.write(startedIdSaved(startedBy, intent.attempt.id))
    return intent
  })
}

function wantedOf(caller: Caller, request: InitializeRequest, target: Target): CreatePayment {
  const { provider, reference, expiresInSeconds, country, saveCard, input, ...rest } = request
  const payment = { ...rest, country: country ?? countryFor(request.currency, target) }
  return { caller, request: payment, reference, expiresInSeconds, idempotency: undefined }
}

/**
 * The attempt that an earlier run of the same call started. Not a failed one: its link must not be paid beside another.
 * Throws if the payment has ended in another way than by this attempt.
 */
async function findStarted({ database, clock }: Deps, startedId: string | null): Promise<StartedAttempt | undefined> {
  const id = startedId === null ? undefined : parseId('attempt', startedId)
  const found = id && (await findStateByAttempt(database, id))
  if (!found) return undefined
  if (found.attempt.status !== 'successful') assertNotEnded(found.state.payment, clock.now())
  return found.attempt.instructions && found.attempt.status !== 'failed' ? found : undefined
}

interface Target {
  capabilities: Capabilities
  channel: Channel
  integration: EnabledIntegration
  /** Where it takes this currency by this channel. */
  countries: Country[]
}

function findIntegration(
  { providers }: PaymentDeps,
  { mode }: Caller,
  integrations: EnabledIntegration[],
  { provider, currency, country }: InitializeRequest,
): Target {
  const { name, channel } = splitProvider(provider)
  const found = providers.find(name)
  const integration = integrations.find((each) => each.provider === name)
  const capabilities = found && capabilitiesWith(found.capabilities, integration ?? {})
  const yours = `Yours in ${mode} mode: ${integrations.flatMap(namesOf).join(', ') || 'none'}.`
  if (!capabilities?.offers[channel]) {
    throw new Problem('unknown_provider', `There is no provider "${provider}". ${yours}`)
  }
  if (!integration?.channels.includes(channel)) {
    throw new Problem('provider_not_configured', `"${provider}" is not set up for you. ${yours}`)
  }
  const currencies = integration.currencies.filter((each) => takes(capabilities, channel, each))
  if (!currencies.includes(currency)) {
    throw new Problem('currency_not_supported', `${provider} takes ${currencies.join(', ')}, not ${currency}.`)
  }
  const countries = integration.countries.filter((each) => serves(capabilities, channel, { currency, country: each }))
  if (countries.length === 0 || (country && !countries.includes(country))) {
    const where = country ? `not in ${country}` : `and yours takes ${integration.countries.join(', ')}`
    throw new Problem(
      'no_integration_available',
      `${provider} takes ${currency} in ${countries.join(', ') || 'other countries'}, ${where}.`,
    )
  }
  return { capabilities, channel, integration, countries }
}

function namesOf({ provider, channels }: Integration): string[] {
  return channels.map((channel) => providerName(provider, channel))
}

/** Returns the open payment with this reference, or creates a payment. */
async function openPayment(deps: Deps, caller: Caller, request: InitializeRequest, target: Target): Promise<Payment> {
  const known = request.reference && (await findOpenPayment(deps, caller, request, request.reference))
  if (known) return known
  try {
    const { ticket } = await createPayment(deps, wantedOf(caller, request, target))
    const made = await findPaymentByReference(deps.database, caller, ticket.reference)
    if (!made) throw new Error(`payment ${ticket.id} is gone`)
    return made
  } catch (error) {
    if (!(error instanceof DuplicateReference)) throw error
    const existing = await findOpenPayment(deps, caller, request, error.existing.reference)
    if (!existing) throw error
    return existing
  }
}

async function findOpenPayment(
  deps: Deps,
  caller: Caller,
  { amount, currency, user }: InitializeRequest,
  reference: string,
): Promise<Payment | undefined> {
  const payment = await findPaymentByReference(deps.database, caller, reference)
  if (!payment) return undefined
  assertPending(payment)
  if (payment.amount !== amount || payment.currency !== currency) {
    throw new Problem(
      'reference_conflict',
      `The reference ${reference} belongs to a payment of ${nameBothWays(payment)}, not ${nameBothWays({ amount, currency })}. Send the same amount and currency to add an attempt to it, or use another reference.`,
    )
  }
  if (isAnotherUser(user, payment.user)) {
    // The e-mail address is not shown: the caller may be passing on a stranger's input.
    throw new Problem(
      'reference_conflict',
      `The reference ${reference} belongs to a payment of another user. Send the same user to add an attempt to it, or use another reference.`,
    )
  }
  return payment
}

/** A request without `user.id` may continue a payment that has one; the payment's user applies. */
function isAnotherUser(asked: User, known: User): boolean {
  return asked.email.toLowerCase() !== known.email.toLowerCase() || (asked.id !== null && asked.id !== known.id)
}

/** The currency's own country if it is served, else the first one. */
function countryFor(currency: Currency, { countries }: Target): Country {
  const country = defaultCountry(currency)
  return country && countries.includes(country) ? country : (countries[0] as Country)
}
