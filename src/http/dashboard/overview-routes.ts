import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { Problem } from '../../kernel/problem.ts'
import { listCredentials } from '../../merchants/credential-store.ts'
import { parseTimeZone } from '../../merchants/merchant.ts'
import type { PaymentDeps } from '../../payments/deps.ts'
import { countAttention } from '../../payments/store/attention.ts'
import { chartSums } from '../../payments/store/chart-sums.ts'
import { isBehind } from '../../payments/store/rollups.ts'
import { FIRST_PAGE, listTransfers } from '../../payments/store/transfers.ts'
import { PROVIDERS } from '../../providers/registry.ts'
import { countGivenUp } from '../../webhooks/delivery-list-store.ts'
import { listEndpoints } from '../../webhooks/endpoint-store.ts'
import { findFirstSteps } from '../../webhooks/first-steps-store.ts'
import type { App } from '../server/framework.ts'
import { type ChartRange, chartsOf, countDays, MAX_DAYS, rangeOf } from './charts.ts'
import { FirstStepsAnswer } from './contract.ts'
import { scopeOf } from './guard.ts'
import { ChartsAnswer, ChartsQuery, OverviewAnswer } from './overview-contract.ts'
import { OF_MERCHANT } from './shared-routes.ts'

const DAY_MS = 24 * 3_600_000
const COUNTED_DAYS = 30
const COUNT_LIMIT = 100
/**
 * Facts that are newer than this are added to the rollups when a chart is read. The job folds them within half a
 * minute.
 */
const RECENT_MS = 2 * 60_000

/** What the first screen of a merchant shows. */
export function overviewRoutes(app: App, { database, clock, providers }: PaymentDeps): void {
  const config = { access: 'read' as const }

  app.get(
    `${OF_MERCHANT}/first-steps`,
    { config, schema: { response: { 200: FirstStepsAnswer } } },
    async (request) => ({ data: await findFirstSteps(database, scopeOf(request)) }),
  )

  app.get(`${OF_MERCHANT}/overview`, { config, schema: { response: { 200: OverviewAnswer } } }, async (request) => {
    const scope = scopeOf(request)
    const counted = { since: new Date(clock.now().getTime() - COUNTED_DAYS * DAY_MS), limit: COUNT_LIMIT }
    const [money, transfers, givenUpDeliveries, endpoints, keys, integrations] = await Promise.all([
      countAttention(database, scope, COUNT_LIMIT),
      listTransfers(database, scope, FIRST_PAGE, COUNT_LIMIT),
      countGivenUp(database, scope, counted),
      listEndpoints(database, scope),
      listCredentials(database, scope.merchantId),
      listEnabledIntegrations(database, scope),
    ])
    const names = [...new Set(integrations.map(({ provider }) => provider))]
    return {
      data: {
        ...money,
        transfers: transfers.transfers.length,
        givenUpDeliveries,
        failingEndpoints: endpoints.filter(({ enabled, failingSince }) => enabled && failingSince !== null).length,
        disabledEndpoints: endpoints.filter(({ enabled, disabledReason }) => !enabled && disabledReason !== null)
          .length,
        expiringKeys: keys.filter(({ mode, expiresSoon }) => mode === scope.mode && expiresSoon).length,
        providers: names.map((name) => ({
          provider: name,
          title: PROVIDERS.find(({ capabilities }) => capabilities.name === name)?.capabilities.title ?? name,
          healthy: providers.isHealthy(scope, name),
        })),
      },
    }
  })

  app.get(
    `${OF_MERCHANT}/charts`,
    { config, schema: { querystring: ChartsQuery, response: { 200: ChartsAnswer } } },
    async (request) => {
      const { currency } = request.query
      const scope = scopeOf(request)
      const range = daysOf(request.query)
      const recent = new Date(clock.now().getTime() - RECENT_MS)
      const [sums, behind] = await Promise.all([
        chartSums(database.reads, scope, { ...range, recent }),
        isBehind(database.reads, scope.place, recent),
      ])
      return { data: { ...chartsOf(sums, range, currency), isBehind: behind } }
    },
  )
}

/** The parts of the days that were asked for. */
export function daysOf({ from, to, zone: name }: { from: string; to: string; zone: string }): ChartRange {
  const zone = parseTimeZone(name)
  const days = countDays(from, to)
  if (!zone) throw new Problem('invalid_request', 'The zone must be one like Africa/Lagos.')
  if (!(days >= 1 && days <= MAX_DAYS))
    throw new Problem('invalid_request', `The range must have 1 to ${MAX_DAYS} days, and begin before its end.`)
  return rangeOf({ from, to, zone })
}
