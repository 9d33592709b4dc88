import type { Database } from '../../database/database.ts'
import { capabilitiesWith, type Integration } from '../../integrations/integration.ts'
import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { CHANNEL_FACTS, providerName } from '../../kernel/channel.ts'
import { type Country, parseCountry } from '../../kernel/country.ts'
import { MOBILE_NETWORKS, PAID_FROM_MENU } from '../../kernel/mobile-networks.ts'
import { type Currency, parseCurrency } from '../../kernel/money.ts'
import { dialPrefix } from '../../kernel/phone-number.ts'
import { serves } from '../../payments/state/payment-options.ts'
import { type Capabilities, type Offer, offerOf } from '../../providers/capabilities.ts'
import type { Providers } from '../../providers/provider.ts'
import { ChannelsAnswer, ChannelsQuery, type OfferedChannel } from '../contract/channels.ts'
import { problems } from '../contract/problem.ts'
import type { App } from '../server/framework.ts'

export function channelRoutes(app: App, { database, providers }: { database: Database; providers: Providers }): void {
  app.get(
    '/channels',
    {
      schema: {
        operationId: 'listChannels',
        summary: 'List channels',
        description:
          'How customers of a country can pay with your integrations, with the mobile networks and banks to choose from: for a page of your own.',
        tags: ['Integrations'],
        querystring: ChannelsQuery,
        response: { 200: ChannelsAnswer, ...problems() },
      },
    },
    async ({ caller, query }) => {
      const country = parseCountry(query.country) as Country // the schema has checked it
      const wanted = query.currency ? parseCurrency(query.currency) : undefined
      const integrations = await listEnabledIntegrations(database, caller)
      const here = integrations.filter(({ countries }) => countries.includes(country))
      const data = here.flatMap((integration) => {
        const found = providers.find(integration.provider)
        const currencies = integration.currencies.filter((each) => !wanted || each === wanted)
        if (!found) return []
        const capabilities = capabilitiesWith(found.capabilities, integration)
        return currencies.flatMap((each) => rowsOf(integration, capabilities, country, each))
      })
      return { data, nextCursor: null }
    },
  )
}

function rowsOf(
  { channels }: Integration,
  capabilities: Capabilities,
  country: Country,
  currency: Currency,
): OfferedChannel[] {
  return channels.flatMap((channel) => {
    const offer = offerOf(capabilities, channel, currency)
    if (!offer || !serves(capabilities, channel, { country, currency })) return []
    const limits = offer.limits ?? capabilities.limits[currency] ?? null
    const { title } = CHANNEL_FACTS[channel]
    const provider = providerName(capabilities.name, channel)
    return [{ provider, channel, title, country, currency, limits, ...choicesOf(offer, country) }]
  })
}

function choicesOf(offer: Offer, country: Country) {
  const { networks: byCountry, codeBeforehand, codeHelp, closed, banks = [], lifetimeSeconds } = offer
  const networks = byCountry?.[country] ?? []
  const needsNumber = networks.some((each) => !PAID_FROM_MENU.has(each))
  return {
    fields: [
      ...(needsNumber ? ['phoneNumber'] : []),
      ...(networks.length > 1 ? ['network'] : []),
      ...(codeBeforehand?.[country] ? ['preAuthorisationCode'] : []),
      ...(banks.length > 1 ? ['bank'] : []),
    ],
    networks: networks.map((code) => ({
      ...{ code, name: MOBILE_NETWORKS[code], phoneNumber: !PAID_FROM_MENU.has(code) },
      preAuthorisationCode: codeBeforehand?.[country]?.includes(code) === true,
      available: !closed?.[country]?.includes(code),
    })),
    codeHelp: codeHelp?.[country] ?? null,
    phonePrefix: needsNumber ? (dialPrefix(country) ?? null) : null,
    banks: [...banks],
    lifetimeSeconds: lifetimeSeconds ?? null,
  }
}
