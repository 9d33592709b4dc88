import { canTake, capabilitiesWith, type Integration } from '../../integrations/integration.ts'
import type { Channel } from '../../kernel/channel.ts'
import { chargeFor, feeOf } from '../../kernel/fee.ts'
import { decimalsOf, nameBothWays } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import { type Capabilities, type Limits, offerOf, withNetworks } from '../../providers/capabilities.ts'
import type { Providers } from '../../providers/provider.ts'
import type { Payment } from './payment.ts'

/** A way to pay on the checkout page. The customer chooses the channel, the service chooses the provider. */
export interface PaymentOption {
  channel: Channel
  capabilities: Capabilities
  amountCharged: number
  fee: number
}

type Payable = Pick<Payment, 'amount' | 'currency' | 'country' | 'customerBearsCharge' | 'merchantId' | 'mode'>
type Priced = Pick<Payable, 'amount' | 'currency' | 'customerBearsCharge'>
type ProviderInfo = Pick<Providers, 'find' | 'isHealthy'>

/** The best option of each channel, in the order of the integrations. */
export function bestOptions(payment: Payable, integrations: Integration[], providers: ProviderInfo): PaymentOption[] {
  const best = new Map<Channel, PaymentOption>()
  for (const option of allOptions(payment, integrations, providers)) {
    if (!best.has(option.channel)) best.set(option.channel, option)
  }
  return [...best.values()]
}

/** All options of a channel, the best first. Throws if there is none. */
export function optionsForChannel(
  payment: Payable,
  integrations: Integration[],
  providers: ProviderInfo,
  channel: Channel,
): PaymentOption[] {
  const options = allOptions(payment, integrations, providers).filter((each) => each.channel === channel)
  if (options.length > 0) return options
  const { amount, currency, country } = payment
  throw integrationsFor(payment, integrations).some(({ channels }) => channels.includes(channel))
    ? new Problem('amount_out_of_range', `No provider takes ${nameBothWays({ amount, currency })} by ${channel}.`)
    : new Problem('no_integration_available', `No integration takes ${currency} in ${country} by ${channel}.`)
}

/**
 * All options, healthy providers first, then in the merchant's order. An unhealthy provider remains as the last option.
 */
function allOptions(payment: Payable, integrations: Integration[], providers: ProviderInfo): PaymentOption[] {
  const options: PaymentOption[] = []
  for (const integration of integrationsFor(payment, integrations)) {
    const found = providers.find(integration.provider)
    if (!found) continue
    const capabilities = capabilitiesWith(found.capabilities, integration)
    for (const channel of integration.channels) {
      if (!serves(capabilities, channel, payment)) continue
      const price = computePrice(payment, capabilities, channel)
      const able = withinUnits(capabilities, channel, { ...payment, ...price })
      if (serves(able, channel, payment) && isWithin(price.amountCharged, limitsOf(payment, able, channel)))
        options.push({ channel, capabilities: able, ...price })
    }
  }
  // Health is read once per provider, because it may change while sorting.
  const names = new Set(options.map(({ capabilities }) => capabilities.name))
  const unhealthy = new Set([...names].filter((name) => !providers.isHealthy(payment, name)))
  if (unhealthy.size === 0) return options
  const rank = ({ capabilities }: PaymentOption) => Number(unhealthy.has(capabilities.name))
  return options.toSorted((a, b) => rank(a) - rank(b))
}

export function takes(capabilities: Capabilities, channel: Channel, currency: string): boolean {
  return offerOf(capabilities, channel, currency) !== undefined
}

/** Mobile networks are of a country. */
export function serves(
  capabilities: Capabilities,
  channel: Channel,
  { currency, country }: Pick<Payable, 'currency' | 'country'>,
): boolean {
  const offer = offerOf(capabilities, channel, currency)
  return offer !== undefined && (!offer.networks || Object.hasOwn(offer.networks, country))
}

/** Without the networks that do not take this amount, because it is not of whole units. */
export function withinUnits(
  capabilities: Capabilities,
  channel: Channel,
  { amountCharged, currency }: Pick<Payable, 'currency'> & { amountCharged: number },
): Capabilities {
  const offer = offerOf(capabilities, channel, currency)
  if (!offer?.wholeUnits || amountCharged % 10 ** decimalsOf(currency) === 0) return capabilities
  const able = withNetworks(offer, (network, country) => !offer.wholeUnits?.[country]?.includes(network))
  const ofChannel = { ...capabilities.offers[channel], [currency]: able }
  return { ...capabilities, offers: { ...capabilities.offers, [channel]: ofChannel } }
}

/** The amount for the customer and the provider's fee. Throws if the amount is outside the provider's limits. */
export function priceOf(
  payment: Priced,
  capabilities: Capabilities,
  channel: Channel,
): { amountCharged: number; fee: number } {
  const price = computePrice(payment, capabilities, channel)
  const limits = limitsOf(payment, capabilities, channel)
  if (isWithin(price.amountCharged, limits)) return price
  const [min, max, wanted] = [limits.min, limits.max, price.amountCharged].map((amount) =>
    nameBothWays({ amount, currency: payment.currency }),
  )
  throw new Problem(
    'amount_out_of_range',
    `${capabilities.name} takes ${min} to ${max} at once; this would be ${wanted}.`,
  )
}

function integrationsFor({ country, currency }: Payable, integrations: Integration[]): Integration[] {
  return integrations.filter((integration) => canTake(integration, country, currency))
}

function computePrice(
  { amount, currency, customerBearsCharge }: Priced,
  capabilities: Capabilities,
  channel: Channel,
): { amountCharged: number; fee: number } {
  const schedule = offerOf(capabilities, channel, currency)?.fee
  if (!schedule) return { amountCharged: amount, fee: 0 }
  const amountCharged = customerBearsCharge ? chargeFor(schedule, amount) : amount
  return { amountCharged, fee: feeOf(schedule, amountCharged) }
}

function limitsOf({ currency }: Pick<Payable, 'currency'>, capabilities: Capabilities, channel: Channel): Limits {
  const own = offerOf(capabilities, channel, currency)?.limits
  return own ?? capabilities.limits[currency] ?? { min: 1, max: Number.MAX_SAFE_INTEGER }
}

function isWithin(amountCharged: number, { min, max }: Limits): boolean {
  return amountCharged >= min && amountCharged <= max
}
