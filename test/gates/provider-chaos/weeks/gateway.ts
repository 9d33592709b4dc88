import Fastify from 'fastify'
import { pino } from 'pino'
import type { Database } from '../../../../src/database/database.ts'
import { sql } from '../../../../src/database/sql.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { credentialVerifier } from '../../../../src/merchants/verify-credential.ts'
import { gateway } from '../../../../src/providers/gateway/adapter.ts'
import { gatewayKeys } from '../../../../src/providers/gateway/keys.ts'
import { signNotice } from '../../../../src/providers/gateway/simulator/notices.ts'
import { createSimulator } from '../../../../src/providers/gateway/simulator/simulator.ts'
import { type Asked, type Said, startUpstream } from '../../../fakes/upstream.ts'
import type { Shop as Merchant } from '../../../support/paying.ts'
import { randomOf } from '../../random.ts'
import { Sandbox } from '../sandbox.ts'
import { Shop } from '../shop.ts'
import type { WeeksProvider } from './sale.ts'

const API = '/sandbox/gateway'
const NOTICES = '/notices'

/**
 * The sandbox provider behind a server of its own, so that the same faults stand between it and the service. Its
 * notices end there, too, and are delivered by us.
 */
export async function startGateway(
  t: { after(end: () => Promise<void>): void },
  database: Database,
  masterKey: Buffer,
) {
  const waiting: Buffer[] = []
  const api = Fastify()
  const upstream = await startUpstream(t, async (asked) => {
    if (asked.path !== NOTICES) return forward(asked)
    waiting.push(Buffer.from(asked.body))
    return { status: 200, text: '{}' }
  })
  const simulator = createSimulator({
    ...{ database, masterKey, clock: systemClock, log: pino({ level: 'silent' }) },
    verifyCredential: credentialVerifier(database),
    publicUrl: () => upstream.url,
    noticeUrl: () => upstream.url + NOTICES,
  })
  await api.register(simulator.routes, { prefix: API })
  t.after(async () => {
    await simulator.stop()
    await api.close()
  })

  async function forward({ method, path, headers, body }: Asked): Promise<Said> {
    const { 'content-length': _, host: __, connection: ___, ...kept } = headers
    const answer = await api.inject({ method: method as 'GET', url: path, headers: kept, ...(body && { body }) })
    return { status: answer.statusCode, text: answer.body }
  }

  async function untilSent(): Promise<void> {
    for (;;) {
      const row = await database.row<{ count: number }>(
        sql`select count(*) as count from gateway_notices where state = 'waiting' and due_at < now() + interval '1 minute'`,
      )
      if (!row?.count) return
      await simulator.sendDueNotices(100)
    }
  }

  /** As its provider speaks with the service: at this server. */
  const provider = {
    ...gateway,
    sandboxKeys: (seed: Parameters<NonNullable<typeof gateway.sandboxKeys>>[0]) => ({
      settings: { ...gatewayKeys(seed.masterKey, seed.merchantUuid) },
      baseURL: upstream.url + API,
    }),
  }

  function of({ headers, merchantUuid }: Merchant): WeeksProvider {
    const reach = { pick: () => upstream.url, isOurs: () => false }
    const sandbox = new Sandbox(new Shop(reach, randomOf(0), { headers }), database)
    const settings = { ...gatewayKeys(masterKey, merchantUuid) }
    let ledger: ReturnType<WeeksProvider['ledger']> = { taken: [], givenBack: [] }
    return {
      baseURL: upstream.url + API,
      ...{ provider, upstream, settings, price: sandbox.price, customer: sandbox.customer, renewsKeys: false },
      refundAtProvider: (order, amount) => sandbox.refundAtProvider(order, amount),
      disputeAtProvider: (order, dispute) => sandbox.disputeAtProvider(order, dispute),
      closeDispute: (id, outcome) => sandbox.closeDispute(id, outcome),
      sign: (body) => ({ 'gateway-signature': signNotice(settings.secretKey, body.toString(), new Date()) }),
      ledger: () => ledger,
      async refresh() {
        ledger = await sandbox.ledger()
      },
      async takeNotices() {
        await untilSent()
        return waiting.splice(0).map((body) => ({ body }))
      },
    }
  }

  return { provider, of }
}
