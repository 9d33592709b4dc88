import { Type } from 'typebox'
import type { Database } from '../../database/database.ts'
import type { Integration, IntegrationRecord } from '../../integrations/integration.ts'
import type { IntegrationCache } from '../../integrations/integration-cache.ts'
import type { IntegrationChanges } from '../../integrations/integration-changes.ts'
import { findIntegration, listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { integrationView } from '../../integrations/integration-view.ts'
import {
  checkIntegration,
  notSetUp,
  removeIntegration,
  setIntegration,
  setsKeys,
  warnOfKeys,
} from '../../integrations/manage-integrations.ts'
import { parseCountry } from '../../kernel/country.ts'
import type { Mode } from '../../kernel/mode.ts'
import { parseCurrency } from '../../kernel/money.ts'
import { Problem } from '../../kernel/problem.ts'
import type { SecretBox } from '../../kernel/secret-box.ts'
import { actorOf, type Caller } from '../../merchants/merchant.ts'
import type { Links } from '../../payments/links.ts'
import type { Provider, Providers } from '../../providers/provider.ts'
import type { App } from '../server/framework.ts'
import { knownFields, mistakesIn } from '../server/read-body.ts'
import { answers } from './contract/answers.ts'
import {
  IntegrationAnswer,
  IntegrationRequest,
  IntegrationSetAnswer,
  IntegrationsAnswer,
  KeysAnswer,
} from './contract/integration.ts'
import { ref } from './contract/schema.ts'

const Named = Type.Object({ provider: Type.String() })
const KNOWN = knownFields(IntegrationRequest)

interface Parts {
  database: Database
  secrets: SecretBox
  providers: Providers
  allowPrivate: (mode: Mode) => boolean
  integrationCache: IntegrationCache
  links: Links
}

/** What can take money for this merchant. A secret goes in, and never comes out. */
export function integrationRoutes(app: App, parts: Parts): void {
  const { database, secrets, providers, links } = parts
  const tags = ['Integrations']

  function provider(name: string): Provider {
    const found = providers.find(name)
    if (!found) throw new Problem('not_found', 'There is no provider of this name.')
    return found
  }

  function view(record: IntegrationRecord, caller: Caller) {
    const noticeURL = links.notices(caller, record.provider)
    return { data: integrationView(record, caller.mode, provider(record.provider), noticeURL) }
  }

  app.get(
    '/integrations',
    {
      schema: {
        operationId: 'listIntegrations',
        summary: 'What the payment page would offer',
        tags,
        querystring: Type.Object({
          country: Type.Optional(Type.String({ format: 'country' })),
          currency: Type.Optional(Type.String({ format: 'currency-code' })),
        }),
        response: { 200: IntegrationsAnswer, ...answers(400, 401, 403, 429, 503) },
      },
    },
    async (request) => {
      const country = request.query.country && parseCountry(request.query.country)
      const currency = request.query.currency && parseCurrency(request.query.currency)
      const fits = ({ countries, currencies }: Integration) =>
        (!country || countries.includes(country)) && (!currency || currencies.includes(currency))
      const integrations = await listEnabledIntegrations(database, request.caller)
      return { data: integrations.filter(fits).map(({ account, ...shown }) => shown), nextCursor: null }
    },
  )

  app.get(
    '/integrations/:provider',
    {
      schema: {
        operationId: 'getIntegration',
        summary: 'How a provider is set up',
        description: 'One that was removed is still shown, with `enabled` false.',
        tags,
        params: Named,
        response: { 200: IntegrationAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, params }) => {
      const { name } = provider(params.provider).capabilities
      const record = await findIntegration(database, secrets, caller, name)
      if (!record) throw notSetUp(name, caller.mode)
      return view(record, caller)
    },
  )

  app.put(
    '/integrations/:provider',
    {
      attachValidation: true,
      schema: {
        operationId: 'setIntegration',
        summary: 'Set a provider up, change it, or bring it back',
        description:
          'What you leave out stays as it is, secrets too. New payments use the change at once. ' +
          'Payments under way are checked and refunded with the keys that they were started with, so new keys may be those of another account. ' +
          'Keys in the request are checked with the provider for up to 5 seconds; `warning` says so when it refuses them or does not answer. They are saved in any case.',
        tags,
        params: Named,
        body: ref(IntegrationRequest),
        response: { 200: IntegrationSetAnswer, ...answers(400, 401, 403, 404, 413, 415, 429, 503) },
      },
    },
    async (request) => {
      const { caller, params } = request
      const wanted = provider(params.provider)
      const changes = (request.body ?? {}) as IntegrationChanges // not validated yet: `mistakesIn` reports wrong types
      const found = mistakesIn(request, KNOWN)
      const record = await setIntegration(parts, actorOf(caller), caller, wanted, changes, found)
      parts.integrationCache.invalidate(caller.merchantId)
      const warning = setsKeys(wanted, changes) ? await warnOfKeys(parts, caller, record.provider) : null
      return { ...view(record, caller), warning }
    },
  )

  app.delete(
    '/integrations/:provider',
    {
      schema: {
        operationId: 'removeIntegration',
        summary: 'Use a provider for no new payment',
        description:
          'What is under way can still be finished and refunded, so the keys are kept, sealed, and its notices are still taken. To end that too, revoke the keys in the provider’s dashboard.',
        tags,
        params: Named,
        response: { 200: IntegrationAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, params }) => {
      const { name } = provider(params.provider).capabilities
      const record = await removeIntegration(parts, actorOf(caller), caller, name)
      parts.integrationCache.invalidate(caller.merchantId)
      return view(record, caller)
    },
  )

  app.post(
    '/integrations/:provider/check',
    {
      schema: {
        operationId: 'checkIntegration',
        summary: 'Ask the provider whether the keys work',
        tags,
        params: Named,
        response: { 200: KeysAnswer, ...answers(401, 403, 404, 429, 503) },
      },
    },
    async ({ caller, params }) => {
      const { name } = provider(params.provider).capabilities
      const verdict = await checkIntegration(parts, caller, name)
      return { data: { keys: verdict.kind, reason: verdict.kind === 'good' ? null : verdict.because } }
    },
  )
}
