import type { Channel } from '../kernel/channel.ts'
import type { Country } from '../kernel/country.ts'
import type { Currency } from '../kernel/money.ts'

/** A provider that a merchant has set up in one mode, and what it may be used for. */
export interface Integration {
  provider: string
  channels: Channel[]
  countries: Country[]
  currencies: Currency[]
}

/** As it stands in line: the lower number is asked first. */
export interface RankedIntegration extends Integration {
  priority: number
}

/** All that is kept of one. */
export interface IntegrationRecord extends RankedIntegration {
  /** Null: the provider has nothing to set up. */
  settings: Record<string, string> | null
  /** Null: the provider's own. */
  baseURL: string | null
  /** False: removed. No new payment uses it; what is under way goes on, and can be refunded. */
  enabled: boolean
  /** The version of the keys that new payments use; 0 when there is nothing to set up. */
  account: number
  /** Rises with each change. */
  version: number
  createdAt: Date
  updatedAt: Date
}

export const DEFAULT_PRIORITY = 100
export const MAX_PRIORITY = 1_000

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
