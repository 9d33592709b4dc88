import { setTimeout as pause } from 'node:timers/promises'
import { Copies } from '../copies.ts'
import type { Random } from '../random.ts'
import { withServer } from '../server.ts'
import { serviceSettings } from '../settings.ts'
import { Slot } from '../slot.ts'
import type { Load } from './load.ts'

export const COPIES = 2

interface Installation {
  folder: string
  env: ReturnType<typeof serviceSettings>
  databaseUrl: string
  copies: Copies<Slot>
}

/** Two copies of the service on one PostgreSQL of their own, gone again when `run` ends. */
export function withCopies<T>(run: (installation: Installation) => Promise<T>): Promise<T> {
  return withServer('crash', async ({ folder, databaseUrl }) => {
    const env = { ...serviceSettings(databaseUrl, folder), LOG_LEVEL: 'warn' }
    const copies = new Copies(Array.from({ length: COPIES }, () => new Slot(env)))
    try {
      await copies.start()
      return await run({ folder, env, databaseUrl, copies })
    } finally {
      await copies.end()
    }
  })
}

const MORE_WITHIN_MS = 30_000

/** A random moment: after some more acknowledged calls, and then at any point between two answers. */
export async function soon(random: Random, load: Load): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const stuck = new Promise<never>((_, reject) => {
    const error = new Error(`nothing was acknowledged for ${MORE_WITHIN_MS} ms`)
    timer = setTimeout(() => reject(error), MORE_WITHIN_MS)
  })
  await Promise.race([load.acknowledgedMore(random.between(20, 500)), stuck]).finally(() => clearTimeout(timer))
  await pause(random.between(0, 30))
}
