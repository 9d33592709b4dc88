import type { Database } from '../database/database.ts'
import { recordAct } from '../events/audit-log-store.ts'
import type { Integration } from '../integrations/integration.ts'
import { addPlayMoney } from '../integrations/manage-integrations.ts'
import type { Country } from '../kernel/country.ts'
import { idOf, type MerchantId } from '../kernel/ids.ts'
import { digestOf, type NewCredential } from './credential.ts'
import { insertCredential, updateCredentialDigest } from './credential-store.ts'
import { insertMerchant } from './merchant-store.ts'

/** The same id everywhere, so that any number of processes can seed at once and still make one merchant. */
export const SANDBOX_MERCHANT_ID: MerchantId = idOf('merchant', '01900000-0000-7000-8000-000000000001')

/** The merchant that a newcomer plays with: there from the first start, in sandbox mode only. Safe to repeat. */
export function seedSandbox(database: Database, credential: NewCredential, integrations: Integration[]): Promise<void> {
  const merchantId = SANDBOX_MERCHANT_ID
  const { clientId, clientSecret } = credential
  const digest = digestOf(clientSecret)
  return database.transaction(async (tx) => {
    await insertMerchant(tx, { id: merchantId, name: 'Demo Store', country: 'NG' as Country, status: 'active' })
    await addPlayMoney(tx, 'seed', merchantId, integrations)
    if (await insertCredential(tx, { clientId, merchantId, mode: 'sandbox', digest })) {
      await recordAct(tx, { actor: 'seed', act: 'credential.created', merchantId, subject: clientId })
    } else if (await updateCredentialDigest(tx, clientId, merchantId, digest)) {
      await recordAct(tx, { actor: 'seed', act: 'credential.replaced', merchantId, subject: clientId })
    }
  })
}
