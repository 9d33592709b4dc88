// A copy of the service in a process of its own, so that `provider-chaos` can kill it: HTTP, worker and deliveries.
// From the environment: DATABASE_URL, MASTER_KEY (base64), PROVIDER, PORT. Prints its base URL when it is ready.
import assert from 'node:assert/strict'
import { pino } from 'pino'
import { connect } from '../../../src/database/database.ts'
import { findProvider } from '../../../src/providers/registry.ts'
import { openPaying } from '../../support/paying.ts'
import { IN_A_HURRY } from './service.ts'

const { DATABASE_URL: url = '', MASTER_KEY = '', PROVIDER = '', PORT = '0' } = process.env
const provider = findProvider(PROVIDER)
assert(provider, `no provider ${PROVIDER}`)
const database = connect({ url, connections: 12, poolWaitMs: 10_000, statementTimeoutMs: 30_000 })
const service = await openPaying(
  { database, url },
  {
    log: pino({ level: 'error' }, pino.destination(2)),
    deliver: true,
    worker: true,
    masterKey: Buffer.from(MASTER_KEY, 'base64'),
    providers: [provider],
    providerHttp: IN_A_HURRY,
    port: Number(PORT),
  },
)
process.stdout.write(`${service.baseUrl}\n`)
