import type { Mode } from '../kernel/mode.ts'
import type { Provider } from '../providers/provider.ts'
import { type IntegrationRecord, withinOffers } from './integration.ts'

/**
 * An integration as the API shows it. Secrets are listed by name only; settings that the provider does not declare are
 * left out.
 */
export function integrationView(record: IntegrationRecord, mode: Mode, provider: Provider, noticeURL: string) {
  const kept = provider.settings.filter(({ name }) => Object.hasOwn(record.settings ?? {}, name))
  const { countries, currencies } = withinOffers(record)
  const open = kept.filter(({ secret }) => !secret)
  return {
    provider: record.provider,
    enabled: record.enabled,
    settings: Object.fromEntries(open.map(({ name }) => [name, record.settings?.[name] ?? ''])),
    secretsSet: kept.filter(({ secret }) => secret).map(({ name }) => name),
    baseURL: record.baseURL ?? provider.baseURL?.[mode] ?? null,
    channels: record.channels,
    countries,
    currencies,
    priority: record.priority,
    noticeURL,
    createdAt: record.createdAt.toISOString(),
    updatedAt: record.updatedAt.toISOString(),
  }
}
