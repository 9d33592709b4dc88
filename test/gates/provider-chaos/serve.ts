import { randomOf } from '../random.ts'
import type { World } from './customers.ts'
import { visit } from './stories.ts'

export interface ProviderChaosOptions {
  payments: number
  clients: number
  kills: number
  seed: number
}

/**
 * Runs the customers with bounded concurrency, then what merchants do later. `after` learns how many have been served.
 */
export async function serve(
  world: World,
  { payments, clients, seed }: ProviderChaosOptions,
  after: (done: number) => Promise<void> | void,
): Promise<void> {
  const later: (() => Promise<void>)[] = []
  let done = 0
  await inTurn(
    clients,
    Array.from({ length: payments }, (_, number) => async () => {
      const next = await visit(world, randomOf(seed, 100 + number), number)
      if (next) later.push(next)
      await after(++done)
    }),
  )
  await inTurn(clients, later)
}

async function inTurn(clients: number, all: (() => Promise<void>)[]): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < all.length) await all[next++]?.()
    }),
  )
}

/** So many moments, spread evenly over the customers: after how many of them each comes. */
export function momentsOf(count: number, payments: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.ceil(((index + 1) * payments) / (count + 1)))
}
