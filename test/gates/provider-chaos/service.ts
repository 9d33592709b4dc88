import { randomBytes } from 'node:crypto'
import { connect, type Database } from '../../../src/database/database.ts'
import { SANDBOX_MERCHANT_ID } from '../../../src/integrations/create-merchant.ts'
import type { Mode } from '../../../src/kernel/mode.ts'
import { findMerchant } from '../../../src/merchants/merchant-store.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { openPaying, type PayingService, type Shop } from '../../support/paying.ts'
import { Copies } from '../copies.ts'
import { ServiceCopy } from './service-copy.ts'

export interface RunningService extends Pick<PayingService, 'database' | 'parts'> {
  /** The copies that customers and the merchant call. */
  copies: Copies
  addMerchant(): Promise<Merchant>
  stop(): Promise<void>
}

export interface Merchant extends Pick<Shop, 'place' | 'merchantId' | 'headers'> {
  mode: Mode
}

/**
 * Shorter than in production: a run of minutes cannot wait 30 s for each missing answer, or a minute for a recovered
 * provider.
 */
export const IN_A_HURRY = { deadlineMs: 1_500, breaker: { openMs: 1_500, maxOpenMs: 6_000 } }

export const COPIES = 2

/**
 * Two copies of the service on one database, each in a process of its own. The parts in this process serve no customer:
 * they end what is left when the copies are gone, and compare.
 */
export async function startService(url: string, provider: Provider): Promise<RunningService> {
  const database = connect({ url, connections: 16, poolWaitMs: 10_000, statementTimeoutMs: 30_000 })
  const masterKey = randomBytes(32)
  const changes = { deliver: true, providers: [provider], providerHttp: IN_A_HURRY, masterKey }
  const service = await openPaying({ database, url }, changes)
  const env = {
    DATABASE_URL: url,
    MASTER_KEY: masterKey.toString('base64'),
    PROVIDER: provider.capabilities.name,
  }
  const copies = new Copies(Array.from({ length: COPIES }, () => new ServiceCopy(env)))
  await copies.start()
  return {
    ...service,
    copies,
    async addMerchant() {
      const { place, merchantId, headers } = await service.addShop('Adaeze Kitchen', { bare: true })
      return { place, merchantId, mode: 'sandbox', headers }
    },
    async stop() {
      await copies.end()
      service.app.server.closeAllConnections()
      await service.stop()
      await database.close()
    },
  }
}

/** The merchant that the real program makes by itself. */
export async function sandboxMerchant(database: Database, headers: Merchant['headers']): Promise<Merchant> {
  const found = await findMerchant(database, SANDBOX_MERCHANT_ID)
  if (!found) throw new Error('the service has no sandbox merchant')
  return { place: found.place, merchantId: found.id, mode: 'sandbox', headers }
}
