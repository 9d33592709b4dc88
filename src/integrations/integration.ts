import type { Channel } from '../kernel/channel.ts'
import type { Country } from '../kernel/country.ts'
import type { Currency } from '../kernel/money.ts'
import { type AccountOffers, type Capabilities, type Offer, withNetworks } from '../providers/capabilities.ts'

/** A provider that a merchant has set up in one mode, and what it may be used for. */
export interface Integration {
  provider: string
  channels: Channel[]
  countries: Country[]
  currencies: Currency[]
  /** The names of its settings; absent: none. */
  settingsGiven?: string[]
  /** What the account can do, as last read, for a provider with `offersOfAccount`. Null: not yet read. */
  offers?: AccountOffers | null
}

/** Lower priorities are used first. */
export interface RankedIntegration extends Integration {
  priority: number
}

/** An integration with its decrypted settings. */
export interface IntegrationRecord extends RankedIntegration {
  /** Null: the provider needs no settings. */
  settings: Record<string, string> | null
  /** Null: the provider's own URL. */
  baseURL: string | null
  /** False: removed. No new payment uses it; started payments continue and can be refunded. */
  enabled: boolean
  /** The version of the keys that new payments use; 0 without settings. */
  keysVersion: number
  /** Incremented by each change. */
  version: number
  createdAt: Date
  updatedAt: Date
}

export const DEFAULT_PRIORITY = 100
export const MAX_PRIORITY = 1_000

export function canTake(integration: Integration, country: Country, currency: Currency): boolean {
  return integration.countries.includes(country) && integration.currencies.includes(currency)
}

/** With the capabilities of the account, and without the offers that are off until a setting is given. */
export function capabilitiesWith(
  own: Capabilities,
  { offers: ofAccount, settingsGiven = [] }: Pick<Integration, 'offers' | 'settingsGiven'>,
): Capabilities {
  const capabilities = own.offersOfAccount && ofAccount ? { ...own, ...ofAccount } : own
  const isMissing = (name: string) => !settingsGiven.includes(name)
  const isOff = ({ needsSetting }: Offer) => needsSetting !== undefined && isMissing(needsSetting)
  const lacksNetworks = ({ networkNeeds }: Offer) =>
    Object.values(networkNeeds ?? {})
      .flat()
      .some(isMissing)
  const all = Object.entries(capabilities.offers)
  if (!all.some(([, offers]) => Object.values(offers).some((offer) => isOff(offer) || lacksNetworks(offer))))
    return capabilities
  const offers = all.map(([channel, byCurrency]) => [
    channel,
    Object.fromEntries(
      Object.entries(byCurrency)
        .filter(([, offer]) => !isOff(offer))
        .map(([currency, offer]) => [
          currency,
          withNetworks(offer, (network) => !offer.networkNeeds?.[network]?.some(isMissing)),
        ]),
    ),
  ])
  return { ...capabilities, offers: Object.fromEntries(offers) }
}

/**
 * With the countries and currencies in which the account can take payments now. For a provider with `offersOfAccount`
 * the integration keeps only those to which the merchant has restricted it; an empty list means all.
 */
export function withinOffers<I extends Integration>(integration: I): I {
  const { offers, countries, currencies } = integration
  if (!offers) return integration
  return {
    ...integration,
    countries: chosenOf(countries, offers.countries as Country[]),
    currencies: chosenOf(currencies, offers.currencies as Currency[]),
  }
}

function chosenOf<T>(chosen: T[], all: T[]): T[] {
  return chosen.length === 0 ? all : all.filter((each) => chosen.includes(each))
}

/** A sentence for error messages: the currencies and countries that each integration accepts. */
export function describeIntegrations(integrations: Integration[]): string {
  if (integrations.length === 0) return 'No integration is set up yet.'
  const each = integrations.map(
    ({ provider, countries, currencies }) => `${provider} takes ${currencies.join(', ')} in ${countries.join(', ')}`,
  )
  return `Set up: ${each.join('; ')}.`
}
