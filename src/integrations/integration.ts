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

/** A sentence for error messages: the currencies and countries that each integration accepts. */
export function describeIntegrations(integrations: Integration[]): string {
  if (integrations.length === 0) return 'No integration is set up yet.'
  const each = integrations.map(
    ({ provider, countries, currencies }) => `${provider} takes ${currencies.join(', ')} in ${countries.join(', ')}`,
  )
  return `Set up: ${each.join('; ')}.`
}
