import type { Database } from '../../database/database.ts'
import { listEnabledIntegrations } from '../../integrations/integration-store.ts'
import { parseCountry } from '../../kernel/country.ts'
import { type Mistake, refuse } from '../../kernel/problem.ts'
import { RULES } from '../../merchants/branding.ts'
import { listCredentials } from '../../merchants/credential-store.ts'
import { changeSettings } from '../../merchants/manage-merchants.ts'
import { type MerchantSettings, parseMerchantName, parseTimeZone } from '../../merchants/merchant.ts'
import type { App } from '../server/framework.ts'
import { type InMerchant, inMerchant } from './guard.ts'
import { SettingsAnswer, SettingsChanges } from './settings-contract.ts'

const SETTINGS = '/merchants/:merchant/settings'

/** Name, country and time zone. The refund limit and the rule for second factors have endpoints of their own. */
export function settingsRoutes(app: App, deps: { database: Database }): void {
  const config = { access: 'settings' } as const

  async function answerOf({ membership }: InMerchant, settings: MerchantSettings): Promise<SettingsAnswer> {
    const { merchantId, refundLimit, requireSecondFactor } = membership
    const [providers, keys] = await Promise.all([
      listEnabledIntegrations(deps.database, { merchantId, mode: 'live' }),
      listCredentials(deps.database, merchantId),
    ])
    const liveKeys = keys.filter(
      ({ mode, revokedAt, hasExpired }) => mode === 'live' && revokedAt === null && !hasExpired,
    )
    const live = { providers: providers.length, apiKeys: liveKeys.length }
    return { data: { ...settings, refundLimit, requireSecondFactor, live } }
  }

  app.get(SETTINGS, { config, schema: { response: { 200: SettingsAnswer } } }, async (request) => {
    const caller = inMerchant(request)
    return answerOf(caller, await changeSettings(deps, caller.actor, caller.membership.merchantId, {}))
  })

  app.patch(
    SETTINGS,
    { config, schema: { body: SettingsChanges, response: { 200: SettingsAnswer } } },
    async (request) => {
      const caller = inMerchant(request)
      const changes = changesIn(request.body)
      return answerOf(caller, await changeSettings(deps, caller.actor, caller.membership.merchantId, changes))
    },
  )
}

/** The changes, normalized. Throws all mistakes that the schema cannot find. */
function changesIn({ name, country, timeZone }: SettingsChanges): Partial<MerchantSettings> {
  const mistakes: Mistake[] = []
  const changes: Partial<MerchantSettings> = {}
  function read<Key extends keyof MerchantSettings>(key: Key, value: MerchantSettings[Key] | undefined, rule: string) {
    if (value !== undefined) changes[key] = value
    else mistakes.push({ pointer: `/${key}`, code: 'invalid_value', message: `${key} ${rule}.` })
  }
  if (name !== undefined) read('name', parseMerchantName(name), RULES.name)
  if (country !== undefined) read('country', parseCountry(country), 'must be a country of ISO 3166-1, like NG')
  if (timeZone !== undefined)
    read('timeZone', timeZone === null ? null : parseTimeZone(timeZone), 'must be a zone like Africa/Lagos')
  if (mistakes.length > 0) refuse(mistakes)
  return changes
}
