import type { Database } from '../../database/database.ts'
import { Problem } from '../../kernel/problem.ts'
import { type Membership, mayIn } from '../../members/member.ts'
import type { Permission } from '../../members/permissions.ts'
import { CREDENTIAL_SCOPES, type CredentialScope } from '../../merchants/credential-scopes.ts'
import { listCredentials } from '../../merchants/credential-store.ts'
import { createCredential, revokeCredential } from '../../merchants/manage-merchants.ts'
import type { App } from '../server/framework.ts'
import { ApiKeyRequest, ApiKeysAnswer, NewApiKeyAnswer } from './contract.ts'
import { inMerchant, scopeOf } from './guard.ts'

const KEYS = '/merchants/:merchant/:mode/api-keys'

/**
 * A live key must not do more than the member who makes it: it would go around the role, and around the limit for
 * refunds.
 */
const NEEDED: Record<CredentialScope, Permission> = {
  'payments:write': 'payments',
  'payments:read': 'read',
  refunds: 'refunds',
  integrations: 'settings',
  webhooks: 'keys',
  'cases:read': 'read',
  'cases:write': 'refunds',
}

/** Without a choice: all that the role covers. */
function coveredScopes(membership: Membership, wanted: string[] | undefined): string[] {
  const covered = CREDENTIAL_SCOPES.filter((scope) => mayIn(membership, NEEDED[scope]))
  const other = CREDENTIAL_SCOPES.find((scope) => wanted?.includes(scope) && !covered.includes(scope))
  if (other) throw new Problem('forbidden', `Your role, ${membership.role}, does not cover the scope ${other}.`)
  return wanted ?? covered
}

/** The credentials of the merchant's backend, per mode. */
export function apiKeyRoutes(app: App, deps: { database: Database }): void {
  const config = { access: 'keys' as const }
  const withStepUp = { ...config, stepUp: 'second-factor in live mode' as const }

  async function keysOf({ merchantId, mode }: ReturnType<typeof scopeOf>) {
    return (await listCredentials(deps.database, merchantId)).filter((each) => each.mode === mode)
  }

  app.get(KEYS, { config, schema: { response: { 200: ApiKeysAnswer } } }, async (request) => ({
    data: (await keysOf(scopeOf(request))).map((key) => ({
      clientId: key.clientId,
      createdAt: key.createdAt.toISOString(),
      lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
      revokedAt: key.revokedAt?.toISOString() ?? null,
      scopes: [...key.scopes],
      expiresAt: key.expiresAt?.toISOString() ?? null,
      hasExpired: key.hasExpired,
      expiresSoon: key.expiresSoon,
      allowedAddresses: key.allowedAddresses,
    })),
  }))

  app.post(
    KEYS,
    { config: withStepUp, schema: { body: ApiKeyRequest, response: { 201: NewApiKeyAnswer } } },
    async (request, reply) => {
      const { merchantId, mode } = scopeOf(request)
      const { membership, actor } = inMerchant(request)
      const scopes = mode === 'live' ? coveredScopes(membership, request.body.scopes) : request.body.scopes
      const created = await createCredential(deps, actor, merchantId, mode, { ...request.body, scopes })
      return reply.code(201).send({ data: created })
    },
  )

  app.delete<{ Params: { clientId: string } }>(`${KEYS}/:clientId`, { config: withStepUp }, async (request, reply) => {
    const { clientId } = request.params
    const own = (await keysOf(scopeOf(request))).find((each) => each.clientId === clientId && !each.revokedAt)
    if (!own) throw new Problem('not_found', 'You have no such API key in this mode.')
    await revokeCredential(deps, inMerchant(request).actor, clientId)
    return reply.code(204).send()
  })
}
