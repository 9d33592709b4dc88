import { setTimeout as pause } from 'node:timers/promises'
import { connect, type Database } from '../../../src/database/database.ts'
import { secretBox } from '../../../src/kernel/secret-box.ts'
import type { FakeProvider } from '../../fakes/fake-provider.ts'
import { fakePaystack } from '../../fakes/paystack/fake.ts'
import { type Listener, openListener } from '../../support/listener.ts'
import { newTold, Visit, type World } from '../provider-chaos/customers.ts'
import { countDeliveries, countOpen, hasten } from '../provider-chaos/rounds.ts'
import { sandboxMerchant } from '../provider-chaos/service.ts'
import { Shop } from '../provider-chaos/shop.ts'
import { Courier } from '../provider-chaos/trouble.ts'
import { randomOf } from '../random.ts'
import type { Processes } from './processes.ts'

/**
 * A merchant whose provider is the fake of Paystack, with its ledger in this process, where it survives the loss of the
 * database.
 */
export interface Market {
  world: World
  fake: FakeProvider
  listener: Listener
  courier: Courier
  database: Database
  visit(number: number): Visit
  close(): Promise<void>
}

export async function openMarket(processes: Processes, seed: number): Promise<Market> {
  const ends: (() => Promise<void>)[] = []
  const fake = await fakePaystack.start({ after: (end) => void ends.push(end) })
  const listener = await openListener()
  const { DATABASE_DIRECT_URL = '', SECRET_KEY = '' } = processes.env
  const database = connect({ url: DATABASE_DIRECT_URL, poolWaitMs: 5_000, statementTimeoutMs: 30_000 })
  const merchant = await sandboxMerchant(database, processes.headers)
  const shop = new Shop(processes, randomOf(seed, 3), merchant)
  const { noticeURL } = await shop.setUp(fake)
  const courier = new Courier(randomOf(seed, 2), fake, processes, new URL(noticeURL).pathname)
  courier.becomeReliable()
  const secrets = secretBox(Buffer.from(SECRET_KEY, 'base64'))
  const parts = { merchant, fake, channels: [], database, secrets }
  const world: World = { ...parts, shop, webhook: listener.url, told: newTold() }
  return {
    ...{ world, fake, listener, courier, database },
    visit: (number) => new Visit(world, randomOf(seed, 100 + number), number),
    async close() {
      courier.stop()
      listener.close()
      await database.close()
      for (const end of ends) await end()
    },
  }
}

/** Waits until nothing is open: no attempt, refund, notice or webhook. Returns what is left. */
export async function untilSettled({ courier, database }: Market, withinMs: number): Promise<string[]> {
  await courier.allDelivered()
  for (const deadline = performance.now() + withinMs; ; await pause(500)) {
    await hasten(database)
    const open = { ...(await countOpen(database)), deliveries: await countDeliveries(database) }
    const left = Object.entries(open).filter(([, count]) => count > 0)
    if (left.length === 0) return []
    if (performance.now() > deadline) return left.map(([what, count]) => `${count} ${what} are still open`)
  }
}
