import type { Database } from '../../database/database.ts'
import { type Mistake, refuse } from '../../kernel/problem.ts'
import { type BrandingSettings, parseColour, parseOrigin, RULES } from '../../merchants/branding.ts'
import { logoOf } from '../../merchants/logo.ts'
import { brandMerchant } from '../../merchants/manage-merchants.ts'
import { parseMerchantName } from '../../merchants/merchant.ts'
import type { App } from '../server/framework.ts'
import { checkStepUp, inMerchant } from './guard.ts'
import { BrandingAnswer, BrandingChanges } from './settings-contract.ts'

const BRANDING = '/merchants/:merchant/branding'

/** The merchant's payment page: the same in both modes. */
export function brandingRoutes(app: App, deps: { database: Database }): void {
  const config = { access: 'settings' } as const

  function answerOf(merchantId: string, { logo, ...settings }: BrandingSettings) {
    return { data: { ...settings, logoURL: logo && `/logo/${merchantId}/${logo.version}` } }
  }

  app.get(BRANDING, { config, schema: { response: { 200: BrandingAnswer } } }, async (request) => {
    const { actor, membership } = inMerchant(request)
    return answerOf(membership.merchantId, await brandMerchant(deps, actor, membership.merchantId, {}))
  })

  app.patch(
    BRANDING,
    { config, schema: { body: BrandingChanges, response: { 200: BrandingAnswer } } },
    async (request) => {
      const { actor, membership, session } = inMerchant(request)
      const changes = changesIn(request.body)
      const { merchantId } = membership
      const { origins, widget } = await brandMerchant(deps, actor, merchantId, {})
      // Another site that may frame the payment form, or a widget that opens without a token.
      const addsOrigin = changes.origins?.some((each) => !origins.includes(each))
      const opensWidget = changes.widget === 'open' && widget !== 'open'
      if (addsOrigin || opensWidget) checkStepUp(request, session, 'identity')
      return answerOf(merchantId, await brandMerchant(deps, actor, merchantId, changes))
    },
  )
}

type Changes = Parameters<typeof brandMerchant>[3]

/** The changes, normalized. Throws all mistakes that the schema cannot find. */
function changesIn({ name, colour, origins, logo, ...plain }: BrandingChanges): Changes {
  const mistakes: Mistake[] = []
  function read<Value>(field: string, value: Value | undefined, rule: string): Value | undefined {
    if (value === undefined)
      mistakes.push({ pointer: `/${field}`, code: 'invalid_value', message: `${field} ${rule}.` })
    return value
  }
  const changes: Changes = { ...plain }
  if (name !== undefined) changes.name = read('name', parseMerchantName(name), RULES.name) ?? name
  if (colour !== undefined)
    changes.colour = colour === null ? null : (read('colour', parseColour(colour), RULES.colour) ?? null)
  if (origins !== undefined)
    changes.origins = [...new Set(origins.map((origin) => read('origins', parseOrigin(origin), RULES.origin) ?? ''))]
  if (logo !== undefined) {
    const parsed = logo === null ? null : read('logo', logoOf(Buffer.from(logo, 'base64')), LOGO_RULE)
    changes.logo = parsed ?? null
  }
  if (mistakes.length > 0) refuse(mistakes)
  return changes
}

const LOGO_RULE = 'must be a PNG, JPEG or WebP image of at most 10 KB'
