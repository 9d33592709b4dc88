import { randomBytes } from 'node:crypto'
import { pino } from 'pino'
import type { AttemptParts } from '../../../src/attempts/parts.ts'
import { connect, type Database } from '../../../src/database/database.ts'
import { listen } from '../../../src/database/listen.ts'
import { buildApp } from '../../../src/http/app.ts'
import { livePayments } from '../../../src/http/live-payments.ts'
import { systemClock } from '../../../src/kernel/clock.ts'
import type { Country } from '../../../src/kernel/country.ts'
import type { MerchantId } from '../../../src/kernel/ids.ts'
import type { Mode } from '../../../src/kernel/mode.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import { createCredential, createMerchant } from '../../../src/merchants/manage-merchants.ts'
import { credentialVerifier } from '../../../src/merchants/verify-credential.ts'
import { paymentCreator } from '../../../src/payments/create-payment.ts'
import { linksOn } from '../../../src/payments/links.ts'
import { providerAccounts } from '../../../src/providers/accounts.ts'
import type { Provider } from '../../../src/providers/provider.ts'
import { eventRecorder } from '../../../src/webhooks/announce-event.ts'
import { startDelivering } from '../../../src/webhooks/deliver-due.ts'
import { DELIVERIES_CHANNEL } from '../../../src/webhooks/delivery-store.ts'
import { guardedHttp } from '../../../src/webhooks/guarded-http.ts'
import { startWorker, type Worker } from '../../../src/worker/worker.ts'
import { buildAssets } from '../../../web/build.ts'

export interface RunningService {
  baseUrl: string
  database: Database
  parts: AttemptParts
  worker: Worker
  addMerchant(): Promise<Merchant>
  stop(): Promise<void>
}

export interface Merchant {
  merchantId: MerchantId
  mode: Mode
  headers: Record<string, string>
}

/** A run of minutes cannot wait half a minute for each answer that does not come, nor a minute for a provider that is well again. */
const IN_A_HURRY = { deadlineMs: 1_500, breaker: { openMs: 1_500, openMostMs: 6_000 } }

/** The whole service in this process, over a real port and a real database: doors, worker, deliveries. */
export async function startService(databaseUrl: string, provider: Provider): Promise<RunningService> {
  // All customers are in this process too, and none of them is to be turned away for want of a connection.
  const database = connect({ url: databaseUrl, connections: 24, poolWaitMs: 10_000, statementTimeoutMs: 30_000 })
  const masterKey = randomBytes(32)
  const secrets = secretBox(masterKey)
  const log = pino({ level: 'silent' })
  const clock = systemClock
  const allowPrivate = (mode: Mode) => mode === 'sandbox'
  let baseUrl = ''
  const url = () => baseUrl
  const parts: AttemptParts = {
    database,
    clock,
    log,
    links: linksOn(url),
    providers: providerAccounts({
      database,
      secrets,
      masterKey,
      serverUrl: url,
      allowPrivate,
      providers: [provider],
      http: IN_A_HURRY,
    }),
    secrets,
    record: eventRecorder({ clock, secrets }),
  }
  const http = guardedHttp()
  const app = await buildApp({
    ...parts,
    verifyCredential: credentialVerifier(database),
    createPayment: paymentCreator(parts),
    live: livePayments({ database, log }),
    assets: await buildAssets(),
    http,
    allowPrivate,
    baseUrl: url,
    isStopping: () => false,
    rateLimit: false,
    trustProxy: [],
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  baseUrl = `http://127.0.0.1:${(app.server.address() as { port: number }).port}`
  const worker = startWorker(parts)
  const delivering = startDelivering({ ...parts, http, allowPrivate })
  const listening = listen(databaseUrl, {
    [DELIVERIES_CHANNEL]: { heard: delivering.wake, missed: delivering.wake },
  })
  return {
    baseUrl,
    database,
    parts,
    worker,
    async addMerchant() {
      const wanted = { name: 'Adaeze Kitchen', country: 'NG' as Country }
      const { id: merchantId } = await createMerchant({ ...parts, sandboxIntegrations: [] }, 'gate', wanted)
      const { clientId, clientSecret } = await createCredential(parts, 'gate', merchantId, 'sandbox')
      return { merchantId, mode: 'sandbox', headers: { 'client-id': clientId, 'client-secret': clientSecret } }
    },
    async stop() {
      await listening.stop()
      await Promise.all([worker.stop(), delivering.stop()])
      http.close()
      app.server.closeAllConnections()
      await app.close()
      await database.close()
    },
  }
}
