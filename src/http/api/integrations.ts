import { Type } from 'typebox'
import type { Database } from '../../database/database.ts'
import { readOffers } from '../../integrations/account-offers.ts'
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
import type { Caller } from '../../merchants/merchant.ts'
import type { Links } from '../../payments/links.ts'
import { checkAfterNewKeys } from '../../payments/settle/check-attempts.ts'
import type { Provider, Providers } from '../../providers/provider.ts'
import {
  IntegrationAnswer,
  IntegrationRequest,
  IntegrationSetAnswer,
  IntegrationsAnswer,
  KeysAnswer,
} from '../contract/integration.ts'
import { BODY_PROBLEMS, problems } from '../contract/problem.ts'
import { ref } from '../contract/schema.ts'
import type { App } from '../server/framework.ts'
import { knownFields, mistakesIn } from '../server/read-body.ts'

const Named = Type.Object({ provider: Type.String() })
const KNOWN = knownFields(IntegrationRequest)

interface Deps {
  database: Database
  secrets: SecretBox
  providers: Providers
  allowPrivate: (mode: Mode) => boolean
  integrationCache: IntegrationCache
  links: Links
}

/** A merchant's provider accounts. Secrets are write-only. */
export function integrationRoutes(app: App, deps: Deps): void {
  const { database, secrets, providers, links } = deps
  const tags = ['Integrations']

  function provider(name: string): Provider {
    const found = providers.find(name)
    if (!found) throw new Problem('not_found', 'There is no provider with this name.')
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
        summary: 'List integrations',
        description: 'The integrations that the payment page can use.',
        tags,
        querystring: Type.Object({
          country: Type.Optional(Type.String({ format: 'country' })),
          currency: Type.Optional(Type.String({ format: 'currency-code' })),
        }),
        response: { 200: IntegrationsAnswer, ...problems('invalid_request') },
      },
    },
    async (request) => {
      const country = request.query.country && parseCountry(request.query.country)
      const currency = request.query.currency && parseCurrency(request.query.currency)
      const fits = ({ countries, currencies }: Integration) =>
        (!country || countries.includes(country)) && (!currency || currencies.includes(currency))
      const integrations = await listEnabledIntegrations(database, request.caller)
      return {
        data: integrations.filter(fits).map(({ keysVersion, settingsGiven, offers, ...shown }) => shown),
        nextCursor: null,
      }
    },
  )

  app.get(
    '/integrations/:provider',
    {
      schema: {
        operationId: 'getIntegration',
        summary: 'Get an integration',
        description: 'A removed integration is shown with `enabled: false`.',
        tags,
        params: Named,
        response: { 200: IntegrationAnswer, ...problems('not_found') },
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
        summary: 'Set up or change an integration',
        description:
          'Fields that you leave out stay unchanged, secrets too. New payments use the change at once. Payments in progress are checked and refunded with the keys that they were started with, so the new keys may belong to another account. The provider is asked for up to 5 seconds whether it accepts new keys; `warning` says when it rejects them or does not answer. The keys are saved in any case.',
        tags,
        params: Named,
        body: ref(IntegrationRequest),
        response: { 200: IntegrationSetAnswer, ...problems(...BODY_PROBLEMS, 'not_found') },
      },
    },
    async (request) => {
      const { caller, params } = request
      const wanted = provider(params.provider)
      const changes = (request.body ?? {}) as IntegrationChanges // not validated yet: `mistakesIn` reports wrong types
      const found = mistakesIn(request, KNOWN)
      const record = await setIntegration(deps, {
        actor: caller.actor,
        owner: caller,
        provider: wanted,
        changes,
        found,
      })
      deps.integrationCache.invalidate(caller.merchantId)
      if (setsKeys(wanted, changes)) await checkAfterNewKeys(deps.database, caller, record.provider)
      const warning = setsKeys(wanted, changes) ? await warnOfKeys(deps, caller, record.provider) : null
      if (!warning) await readOffers(deps, { owner: caller, provider: record.provider })
      const saved = await findIntegration(database, secrets, caller, record.provider)
      return { ...view(saved ?? record, caller), warning }
    },
  )

  app.delete(
    '/integrations/:provider',
    {
      schema: {
        operationId: 'removeIntegration',
        summary: 'Remove an integration',
        description:
          'New payments no longer use it. Payments in progress can still be finished and refunded, so the keys are kept, encrypted, and notices are still accepted. To end that too, revoke the keys in the provider’s dashboard.',
        tags,
        params: Named,
        response: { 200: IntegrationAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const { name } = provider(params.provider).capabilities
      const record = await removeIntegration(deps, caller.actor, caller, name)
      deps.integrationCache.invalidate(caller.merchantId)
      return view(record, caller)
    },
  )

  app.post(
    '/integrations/:provider/check',
    {
      schema: {
        operationId: 'checkIntegration',
        summary: 'Check an integration',
        description: 'Asks the provider whether the keys work. The check changes nothing.',
        tags,
        params: Named,
        response: { 200: KeysAnswer, ...problems('not_found') },
      },
    },
    async ({ caller, params }) => {
      const { name } = provider(params.provider).capabilities
      const verdict = await checkIntegration(deps, caller, name)
      return { data: { keys: verdict.kind, reason: verdict.kind === 'good' ? null : verdict.because } }
    },
  )
}
