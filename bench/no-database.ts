import { connect } from '../src/database/database.ts'
import { buildApp } from '../src/http/app.ts'
import { livePayments } from '../src/http/checkout/live-payments.ts'
import { listen } from '../src/http/server/listen.ts'
import { integrationCache } from '../src/integrations/integration-cache.ts'
import { providerClients } from '../src/integrations/provider-clients.ts'
import { systemClock } from '../src/kernel/clock.ts'
import { secretBox } from '../src/kernel/secret-box.ts'
import { createLog } from '../src/log.ts'
import { credentialVerifier } from '../src/merchants/verify-credential.ts'
import { webhookHttp } from '../src/outbound/webhook-http.ts'
import { buildAssets } from '../web/build.ts'

/**
 * The ceiling: our own app with its credentials, validation, metrics and log, which answers without writing the
 * payment. The difference to it is the cost of PostgreSQL.
 */
const database = connect({ url: process.env.DATABASE_URL ?? '' }) // for the credential alone, once a second
let baseUrl = ''

const cache = integrationCache(database)

const log = createLog(process.env.LOG_LEVEL ?? 'info')
const secrets = secretBox(Buffer.alloc(32))
const app = await buildApp({
  database,
  clock: systemClock,
  log,
  verifyCredential: credentialVerifier(database),
  integrationCache: cache,
  paymentBatch: { insert: async () => true },
  live: livePayments({ database, log }),
  assets: await buildAssets(),
  providers: providerClients({
    database,
    secrets,
    masterKey: Buffer.alloc(32),
    serverUrl: () => baseUrl,
    allowPrivate: () => false,
  }),
  secrets,
  http: webhookHttp(),
  allowPrivate: () => false,
  baseUrl: () => baseUrl,
  isStopping: () => false,
  rateLimit: false,
  trustProxy: [],
})
const port = await listen(app, { host: '127.0.0.1', port: 0, portIsFixed: true })
baseUrl = `http://localhost:${port}`
process.send?.({ port })
process.on('disconnect', () => process.exit())
