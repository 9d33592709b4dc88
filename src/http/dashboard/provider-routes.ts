import { capabilitiesWith } from '../../integrations/integration.ts'
import { listIntegrations } from '../../integrations/integration-store.ts'
import { integrationView } from '../../integrations/integration-view.ts'
import { orderIntegrations } from '../../integrations/manage-integrations.ts'
import type { Currency } from '../../kernel/money.ts'
import { findProvidersWithNotices } from '../../payments/store/notices.ts'
import { channelsOf } from '../../providers/capabilities.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { lastCompared } from '../../reconciliation/run-store.ts'
import type { App } from '../server/framework.ts'
import type { DashboardDeps } from './deps.ts'
import { feeText } from './fee-text.ts'
import { inMerchant, scopeOf } from './guard.ts'
import { ProviderOrder, ProvidersAnswer } from './providers-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

/** All providers, with the merchant's integration of each, and their order. The shared routes set one up. */
export function providerRoutes(app: App, deps: DashboardDeps): void {
  const { database, secrets, providers, links, integrationCache } = deps
  const config = { access: 'settings' } as const

  app.get(`${OF_MERCHANT}/providers`, { config, schema: { response: { 200: ProvidersAnswer } } }, async (request) => {
    const scope = scopeOf(request)
    const { mode } = scope
    const records = await listIntegrations(database, secrets, scope)
    const offered = PROVIDERS.filter(({ capabilities }) => mode === 'sandbox' || !capabilities.sandboxOnly)
    const names = offered.map(({ capabilities }) => capabilities.name)
    const seen = await findProvidersWithNotices(database, scope, names)
    const lists = await lastCompared(database, scope)
    const position = (name: string) => {
      const index = records.findIndex(({ provider }) => provider === name)
      return index < 0 ? records.length : index
    }
    const rows = offered.map((provider) => {
      const { name, title, offers } = provider.capabilities
      const channels = channelsOf(provider.capabilities)
      const record = records.find((each) => each.provider === name)
      const { countries, currencies } = capabilitiesWith(provider.capabilities, record ?? {})
      const noticeURL = links.notices(scope, name)
      return {
        ...{ provider: name, title, channels, countries, currencies, noticeURL },
        fees: channels.flatMap((channel) =>
          Object.entries(offers[channel] ?? {}).map(([currency, { fee }]) => ({
            ...{ channel, currency, text: feeText(fee, currency as Currency) },
          })),
        ),
        settings: provider.settings.map((setting) => ({
          name: setting.name,
          about: setting.about,
          secret: setting.secret,
          optional: setting.optional ?? false,
          looksLike: setting.looksLike[mode],
        })),
        noticeSeen: seen.includes(name),
        integration: record ? integrationView(record, mode, provider, noticeURL) : null,
        healthy: providers.isHealthy(scope, name),
        lists: lists
          .filter((each) => each.provider === name)
          .map(({ kind, comparedAt, failure, unsupported }) => ({
            ...{ kind, failure, unsupported },
            comparedAt: comparedAt?.toISOString() ?? null,
          })),
      }
    })
    return { data: rows.sort((a, b) => position(a.provider) - position(b.provider)) }
  })

  app.put(
    `${OF_MERCHANT}/provider-order`,
    { config: { ...config, stepUp: 'second-factor in live mode' }, schema: { body: ProviderOrder } },
    async (request, reply) => {
      const scope = scopeOf(request)
      await orderIntegrations(deps, inMerchant(request).actor, scope, request.body.providers)
      integrationCache.invalidate(scope.merchantId)
      return reply.code(204).send()
    },
  )
}
