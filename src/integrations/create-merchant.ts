import type { Database, Transaction } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Country } from '../kernel/country.ts'
import { idOf, type MerchantId, newId } from '../kernel/ids.ts'
import type { Currency } from '../kernel/money.ts'
import { randomPlace } from '../kernel/place.ts'
import { digestOf, type NewCredential } from '../merchants/credential.ts'
import { NO_LIMITS } from '../merchants/credential-limits.ts'
import { insertCredential, updateCredentialDigest } from '../merchants/credential-store.ts'
import type { Merchant } from '../merchants/merchant.ts'
import { insertMerchant } from '../merchants/merchant-store.ts'
import { channelsOf } from '../providers/capabilities.ts'
import { PROVIDERS } from '../providers/registry.ts'
import type { Integration } from './integration.ts'
import { addIntegration } from './integration-store.ts'

/** The providers that move no real money. Every merchant has them in sandbox mode from the start. */
const SANDBOX_INTEGRATIONS: Integration[] = PROVIDERS.map(({ capabilities }) => capabilities)
  .filter(({ sandboxOnly }) => sandboxOnly)
  .map(({ name, countries, currencies, offers }) => ({
    provider: name,
    channels: channelsOf({ offers }),
    countries: countries as Country[],
    currencies: currencies as Currency[],
  }))

interface Deps {
  database: Database
  clock: Clock
  sandboxIntegrations?: Integration[]
}

export function createMerchant(
  { database, clock, sandboxIntegrations }: Deps,
  actor: string,
  wanted: { name: string; country: Country },
): Promise<Merchant> {
  const id = newId('merchant', clock.now())
  const merchant: Merchant = { id, place: randomPlace(), status: 'active', ...wanted }
  return database.transaction(async (tx) => {
    await insertMerchant(tx, merchant)
    await recordAct(tx, { actor, act: 'merchant.created', merchantId: merchant.id, subject: merchant.id })
    await addSandboxIntegrations(tx, actor, merchant.id, sandboxIntegrations)
    return merchant
  })
}

/** The same id in every database, so that concurrent first starts create one merchant. */
export const SANDBOX_MERCHANT_ID: MerchantId = idOf('merchant', '01900000-0000-7000-8000-000000000001')

/** Creates the demo merchant with a sandbox credential. Idempotent. */
export function seedSandbox(
  database: Database,
  { clientId, clientSecret }: NewCredential,
  sandboxIntegrations?: Integration[],
): Promise<void> {
  const merchantId = SANDBOX_MERCHANT_ID
  const digest = digestOf(clientSecret)
  return database.transaction(async (tx) => {
    await insertMerchant(tx, {
      ...{ id: merchantId, place: randomPlace(), name: 'Demo Store' },
      ...{ country: 'NG' as Country, status: 'active' },
    })
    await addSandboxIntegrations(tx, 'seed', merchantId, sandboxIntegrations)
    if (await insertCredential(tx, { clientId, merchantId, mode: 'sandbox', digest, limits: NO_LIMITS })) {
      await recordAct(tx, { actor: 'seed', act: 'credential.created', merchantId, subject: clientId })
    } else if (await updateCredentialDigest(tx, clientId, merchantId, digest)) {
      await recordAct(tx, { actor: 'seed', act: 'credential.replaced', merchantId, subject: clientId })
    }
  })
}

/** Idempotent: an integration that was changed or removed since stays as it is. */
async function addSandboxIntegrations(
  tx: Transaction,
  actor: string,
  merchantId: MerchantId,
  integrations: Integration[] = SANDBOX_INTEGRATIONS,
): Promise<void> {
  for (const integration of integrations) {
    if (!(await addIntegration(tx, { merchantId, mode: 'sandbox' }, integration))) continue
    await recordAct(tx, { actor, act: 'integration.created', merchantId, subject: `sandbox ${integration.provider}` })
  }
}
