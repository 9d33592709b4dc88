import { pino } from 'pino'
import type { Database } from '../../src/database/database.ts'
import { createMerchant } from '../../src/integrations/create-merchant.ts'
import { integrationCache } from '../../src/integrations/integration-cache.ts'
import { type Clock, systemClock } from '../../src/kernel/clock.ts'
import type { Country } from '../../src/kernel/country.ts'
import type { PaymentId } from '../../src/kernel/ids.ts'
import type { Currency } from '../../src/kernel/money.ts'
import { secretBox } from '../../src/kernel/secret-box.ts'
import type { Caller } from '../../src/merchants/merchant.ts'
import type { PaymentDeps } from '../../src/payments/deps.ts'
import { linksOn } from '../../src/payments/links.ts'
import { createPayment, paymentBatch } from '../../src/payments/start/create-payment.ts'
import type { Adversary, Fate } from './adversary.ts'

/** A merchant whose only provider is the adversary, without HTTP: for tests of operations on a real database. */
export async function adversaryShop(database: Database, adversary: Adversary, clock: Clock = systemClock) {
  const integration = {
    provider: adversary.name,
    channels: ['card' as const, 'virtual-bank-account' as const, 'mobile-money' as const],
    countries: ['NG'] as Country[],
    currencies: ['NGN'] as Currency[],
    priority: 100,
  }
  const { id: merchantId, place } = await createMerchant(
    { database, clock: systemClock, sandboxIntegrations: [integration] },
    'test',
    { name: 'Adaeze Kitchen', country: 'NG' as Country },
  )
  const caller: Caller = {
    place,
    merchantId,
    actor: 'test',
    mode: 'sandbox',
    suspended: false,
    merchantName: 'Test',
  }

  /** Dependencies whose provider calls all have this fault. */
  function parts(met: Fate = 'honest'): PaymentDeps {
    return {
      database,
      clock,
      log: pino({ level: 'silent' }),
      links: linksOn(() => 'http://pay.test'),
      providers: {
        find: (name) => (name === adversary.name ? adversary.provider() : undefined),
        isHealthy: () => true,
        keysVersions: async () => [0],
        recordResult: () => {},
        breakers: () => [],
        connect: async () => adversary.connection(met),
      },
      secrets: secretBox(Buffer.alloc(32)),
    }
  }

  const createDependencies = {
    database,
    clock,
    integrationCache: integrationCache(database),
    paymentBatch: paymentBatch(database),
  }

  async function newPayment(amount: number, reference = `order-${crypto.randomUUID()}`): Promise<PaymentId> {
    const { ticket } = await createPayment(createDependencies, {
      caller,
      request: {
        amount,
        currency: 'NGN' as Currency,
        country: 'NG' as Country,
        customerBearsCharge: false,
        user: { id: null, email: 'ada@example.com', phoneNumber: null, name: null },
        redirectURL: null,
        webhook: null,
        metadata: {},
      },
      reference,
      expiresInSeconds: 86_400,
      idempotency: undefined,
    })
    return ticket.id
  }

  return { caller, parts, createDependencies, newPayment }
}
