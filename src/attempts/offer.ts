import { chargeFor, feeOf } from '../kernel/fee.ts'
import { Problem } from '../kernel/problem.ts'
import { canTake, type Integration } from '../merchants/integration.ts'
import type { Payment } from '../payments/payment.ts'
import type { Capabilities, Channel, Providers } from '../providers/provider.ts'

/** A way to pay a payment on our page: the channel is the customer's choice, the provider behind it is ours. */
export interface Offer {
  channel: Channel
  capabilities: Capabilities
  amountCharged: number
  fee: number
}

type Payable = Pick<Payment, 'amount' | 'currency' | 'country' | 'customerBearsCharge'>
type Known = Pick<Providers, 'find'>

/** One for each channel: the first integration that has it and takes this payment. In the order of the integrations. */
export function offersFor(payment: Payable, integrations: Integration[], providers: Known): Offer[] {
  const offers = new Map<Channel, Offer>()
  for (const { provider, channels } of fitting(payment, integrations)) {
    const capabilities = providers.find(provider)?.capabilities
    if (!capabilities) continue
    for (const channel of channels) {
      if (offers.has(channel) || !capabilities.channels.includes(channel)) continue
      const price = reckon(payment, capabilities, channel)
      if (isTaken(price.amountCharged, limitsOf(payment, capabilities))) {
        offers.set(channel, { channel, capabilities, ...price })
      }
    }
  }
  return [...offers.values()]
}

/** The offer for a channel, or why there is none. */
export function offerOf(payment: Payable, integrations: Integration[], providers: Known, channel: Channel): Offer {
  const offer = offersFor(payment, integrations, providers).find((each) => each.channel === channel)
  if (offer) return offer
  const { amount, currency, country } = payment
  throw fitting(payment, integrations).some(({ channels }) => channels.includes(channel))
    ? new Problem(
        'amount_out_of_range',
        `Nobody takes ${amount} ${currency} (in the lowest denomination) by ${channel}.`,
      )
    : new Problem('no_integration_available', `Nothing is set up that takes ${currency} in ${country} by ${channel}.`)
}

/** What the customer is charged, and what the provider keeps of it. */
export function priceOf(
  payment: Omit<Payable, 'country'>,
  capabilities: Capabilities,
  channel: Channel,
): { amountCharged: number; fee: number } {
  const price = reckon(payment, capabilities, channel)
  const limits = limitsOf(payment, capabilities)
  if (isTaken(price.amountCharged, limits)) return price
  throw new Problem(
    'amount_out_of_range',
    `${capabilities.name} takes ${limits.min} to ${limits.max} ${payment.currency} (in the lowest denomination) at once; this would be ${price.amountCharged}.`,
  )
}

function fitting({ country, currency }: Payable, integrations: Integration[]): Integration[] {
  return integrations.filter((integration) => canTake(integration, country, currency))
}

function reckon(
  { amount, currency, customerBearsCharge }: Omit<Payable, 'country'>,
  { fees }: Capabilities,
  channel: Channel,
): { amountCharged: number; fee: number } {
  const schedule = fees[channel][currency]
  if (!schedule) return { amountCharged: amount, fee: 0 }
  const amountCharged = customerBearsCharge ? chargeFor(schedule, amount) : amount
  return { amountCharged, fee: feeOf(schedule, amountCharged) }
}

function limitsOf({ currency }: Pick<Payable, 'currency'>, { limits }: Capabilities): { min: number; max: number } {
  return limits[currency] ?? { min: 1, max: Number.MAX_SAFE_INTEGER }
}

function isTaken(amountCharged: number, { min, max }: { min: number; max: number }): boolean {
  return amountCharged >= min && amountCharged <= max
}
