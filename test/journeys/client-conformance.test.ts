import { type TestContext, test } from 'node:test'
import { SCENARIOS } from '../../clients/conformance/scenarios.ts'
import { type Server, type Shop, worldOf } from '../../clients/conformance/world.ts'
import { sql } from '../../src/database/sql.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { type Driver, type Language, languages, openServer, relayTo, startDriver } from '../support/client-drivers.ts'
import { createDatabase } from '../support/database.ts'
import { eventually, startPaying } from '../support/paying.ts'
import { charge, isPaid } from '../support/sandbox-payments.ts'

const { url: databaseUrl, database } = await createDatabase()
const service = await startPaying({ database, databaseUrl })
const AT_ONCE = 3

async function addShop(): Promise<Shop> {
  const shop = await service.addShop()
  return {
    clientId: shop.headers['client-id'],
    clientSecret: shop.headers['client-secret'],
    pay: (reference) => charge(shop, reference),
    isPaid: async (reference) => void (await eventually(() => shop.payment(reference), isPaid)),
    addPayments: (count) =>
      database.rows(sql`
        insert into payments (place, id, merchant_id, mode, reference, short_code, amount, currency, country,
                              customer_bears_charge, user_email, metadata, expires_at)
        select ${shop.place}, uuidv7(), ${uuidOf(shop.merchantId)}, 'sandbox', 'r' || n, ${shop.merchantUuid} || n, n, 'NGN',
               'NG', false, 'a@b.co', '{}', now() + interval '1 day' from generate_series(1, ${count}::int) n`) as never,
  }
}

async function runScenario({ run }: (typeof SCENARIOS)[number], driver: Driver): Promise<void> {
  const servers: Server[] = []
  const kept = async (opened: Promise<Server>) => {
    const server = await opened
    servers.push(server)
    return server
  }
  try {
    await run(
      worldOf({
        ...{ baseUrl: service.baseUrl, send: driver.send, addShop },
        listen: (answer) => kept(openServer(answer)),
        relay: ({ loses }) => kept(relayTo(service.baseUrl, loses)),
      }),
    )
  } finally {
    for (const server of servers) server.close()
  }
}

test('each client does what every client must do', { concurrency: true }, async (t) => {
  await Promise.all(languages().map((language) => t.test(language.name, (t) => runAll(t, language))))
})

async function runAll(t: TestContext, language: Language): Promise<void> {
  // A driver does one thing at a time, and most of these scenarios wait.
  const drivers = Array.from({ length: AT_ONCE }, () => startDriver(language))
  const waiting = [...SCENARIOS]
  const work = async (driver: Driver) => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const scenario = next
      await t.test(scenario.name, () => runScenario(scenario, driver))
    }
  }
  try {
    await Promise.all(drivers.map(work))
  } finally {
    for (const driver of drivers) driver.stop()
  }
}
