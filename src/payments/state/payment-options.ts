import { canTake, type Integration } from '../../integrations/integration.ts'
import type { Channel } from '../../kernel/channel.ts'
import { chargeFor, feeOf } from '../../kernel/fee.ts'
import { Problem } from '../../kernel/problem.ts'
import type { Capabilities, Providers } from '../../providers/provider.ts'
import type { Payment } from './payment.ts'

/** A way to pay a payment on our page: the channel is the customer's choice, the provider behind it is ours. */
export interface PaymentOption {
  channel: Channel
  capabilities: Capabilities
  amountCharged: number
  fee: number
}

type Payable = Pick<Payment, 'amount' | 'currency' | 'country' | 'customerBearsCharge' | 'merchantId' | 'mode'>
type Priced = Pick<Payable, 'amount' | 'currency' | 'customerBearsCharge'>
type Known = Pick<Providers, 'find' | 'isWell'>

/** What our page offers: the best choice of each channel, in the order of the integrations. */
export function bestOptions(payment: Payable, integrations: Integration[], providers: Known): PaymentOption[] {
  const best = new Map<Channel, PaymentOption>()
  for (const choice of choicesFor(payment, integrations, providers)) {
    if (!best.has(choice.channel)) best.set(choice.channel, choice)
  }
  return [...best.values()]
}

/** Every provider that could take it by a channel, the best first; or why there is none. */
export function optionsForChannel(
  payment: Payable,
  integrations: Integration[],
  providers: Known,
  channel: Channel,
): PaymentOption[] {
  const choices = choicesFor(payment, integrations, providers).filter((each) => each.channel === channel)
  if (choices.length > 0) return choices
  const { amount, currency, country } = payment
  throw fitting(payment, integrations).some(({ channels }) => channels.includes(channel))
    ? new Problem(
        'amount_out_of_range',
        `Nobody takes ${amount} ${currency} (in the lowest denomination) by ${channel}.`,
      )
    : new Problem('no_integration_available', `Nothing is set up that takes ${currency} in ${country} by ${channel}.`)
}

/** By health first, then as the merchant has ordered them: whoever has not been answering is the last resort, not out of the question. */
function choicesFor(payment: Payable, integrations: Integration[], providers: Known): PaymentOption[] {
  const choices: PaymentOption[] = []
  for (const { provider, channels } of fitting(payment, integrations)) {
    const capabilities = providers.find(provider)?.capabilities
    if (!capabilities) continue
    const limits = limitsOf(payment, capabilities)
    for (const channel of channels) {
      if (!takes(capabilities, channel, payment.currency)) continue
      const price = reckon(payment, capabilities, channel)
      if (isTaken(price.amountCharged, limits)) choices.push({ channel, capabilities, ...price })
    }
  }
  // Asked once for each: sorting asks more often, and the answer may change meanwhile.
  const unwell = new Set(
    choices.map(({ capabilities }) => capabilities.name).filter((name) => !providers.isWell(payment, name)),
  )
  if (unwell.size === 0) return choices
  const rank = ({ capabilities }: PaymentOption) => Number(unwell.has(capabilities.name))
  return choices.toSorted((a, b) => rank(a) - rank(b))
}

export function takes({ channels, fees }: Capabilities, channel: Channel, currency: string): boolean {
  return channels.includes(channel) && Object.hasOwn(fees[channel], currency)
}

/** What the customer is charged, and what the provider keeps of it. */
export function priceOf(
  payment: Priced,
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
  { amount, currency, customerBearsCharge }: Priced,
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
