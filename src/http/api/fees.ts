import type { Database } from '../../database/database.ts'
import { canTake, capabilitiesWith, type Integration } from '../../integrations/integration.ts'
import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { type Country, parseCountry } from '../../kernel/country.ts'
import { DEFAULT_CURRENCY, parseCurrency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import { priceOf, serves, withinUnits } from '../../payments/state/payment-options.ts'
import type { Providers } from '../../providers/provider.ts'
import { QuoteAnswer, QuoteRequest } from '../contract/attempt.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { knownFields, readBody } from '../server/read-body.ts'

const KNOWN = knownFields(QuoteRequest)

export function feeRoutes(app: App, { database, providers }: { database: Database; providers: Providers }): void {
  app.post(
    '/fees/quote',
    {
      attachValidation: true,
      schema: {
        operationId: 'quoteFees',
        summary: 'Quote fees',
        description: 'The fee of a payment with each provider and channel.',
        tags: ['Integrations'],
        body: ref(QuoteRequest),
        response: { 200: QuoteAnswer, ...problems(...BODY_PROBLEMS) },
      },
    },
    async (request) => {
      const body = readBody<QuoteRequest>(request, KNOWN)
      const country = parseCountry(body.country)
      const price = {
        amount: body.amount,
        currency: (body.currency && parseCurrency(body.currency)) || DEFAULT_CURRENCY,
        customerBearsCharge: body.customerBearsCharge ?? false,
      }
      if (!country) return { data: [], nextCursor: null }
      const integrations = await listEnabledIntegrations(database, request.caller)
      const fitting = integrations.filter((each) => canTake(each, country, price.currency))
      const wanted = { ...price, country }
      return { data: fitting.flatMap((integration) => quote(providers, integration, wanted)), nextCursor: null }
    },
  )
}

type Wanted = Parameters<typeof priceOf>[0] & { country: Country }

function quote(providers: Providers, integration: Integration, price: Wanted) {
  const { provider, channels } = integration
  const found = providers.find(provider)
  if (!found) return []
  const capabilities = capabilitiesWith(found.capabilities, integration)
  return channels.flatMap((channel) => {
    if (!serves(capabilities, channel, price)) return []
    try {
      const { amountCharged, fee } = priceOf(price, capabilities, channel)
      if (!serves(withinUnits(capabilities, channel, { ...price, amountCharged }), channel, price)) return []
      return [{ provider, channel, fee, amountCharged, amountSettled: amountCharged - fee }]
    } catch (error) {
      if (error instanceof Problem && error.code === 'amount_out_of_range') return []
      throw error
    }
  })
}
