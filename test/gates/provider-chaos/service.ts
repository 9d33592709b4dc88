import { connect } from '../../../src/database/database.ts'
import type { Mode } from '../../../src/kernel/mode.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { startWorker, type Worker } from '../../../src/worker/worker.ts'
import { openPaying, type PayingService, type Shop } from '../../support/paying.ts'

export interface RunningService extends Pick<PayingService, 'baseUrl' | 'database' | 'parts'> {
  worker: Worker
  addMerchant(): Promise<Merchant>
  stop(): Promise<void>
}

export interface Merchant extends Pick<Shop, 'merchantId' | 'headers'> {
  mode: Mode
}

/** A run of minutes cannot wait half a minute for each answer that does not come, nor a minute for a provider that is well again. */
const IN_A_HURRY = { deadlineMs: 1_500, breaker: { openMs: 1_500, openMostMs: 6_000 } }

/** The whole service in this process, over a real port and a real database: doors, worker, deliveries. */
export async function startService(url: string, provider: Provider): Promise<RunningService> {
  // All customers are in this process too, and none of them is to be turned away for want of a connection.
  const database = connect({ url, connections: 24, poolWaitMs: 10_000, statementTimeoutMs: 30_000 })
  const changes = { deliver: true, providers: [provider], providerHttp: IN_A_HURRY }
  const service = await openPaying({ database, url }, changes)
  const worker = startWorker(service.parts)
  return {
    ...service,
    worker,
    async addMerchant() {
      const { merchantId, headers } = await service.addShop('Adaeze Kitchen', { bare: true })
      return { merchantId, mode: 'sandbox', headers }
    },
    async stop() {
      await worker.stop()
      service.app.server.closeAllConnections()
      await service.stop()
      await database.close()
    },
  }
}
