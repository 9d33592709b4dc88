import type { Country } from '../kernel/country.ts'
import type { Currency } from '../kernel/money.ts'

export type Channel = 'card' | 'virtual-bank-account'

/** A provider that a merchant has set up in one mode, and what it may be used for. */
export interface Integration {
  provider: string
  channels: Channel[]
  countries: Country[]
  currencies: Currency[]
}

export function canTake(integration: Integration, country: Country, currency: Currency): boolean {
  return integration.countries.includes(country) && integration.currencies.includes(currency)
}

/** For a person who asked for something that none of these takes: what they do take. */
export function describeIntegrations(integrations: Integration[]): string {
  if (integrations.length === 0) return 'No integration is set up yet.'
  const each = integrations.map(
    ({ provider, countries, currencies }) => `${provider} takes ${currencies.join(', ')} in ${countries.join(', ')}`,
  )
  return `Set up: ${each.join('; ')}.`
}
