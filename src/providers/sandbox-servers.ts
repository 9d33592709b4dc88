import type { FastifyInstance } from 'fastify'
import type { Queries } from '../database/database.ts'
import { idOf } from '../kernel/ids.ts'
import { controlOperations, createSimulator, type SimulatorDeps } from './gateway/simulator/simulator.ts'

/** A provider that we play ourselves, so that a payment can be tried to its end without anyone else. */
export interface SandboxServer {
  prefix: string
  routes(app: FastifyInstance): Promise<void>
  /** Its pages are open to strangers; its API is called by ourselves, or with credentials. */
  limitOf(method: string, path: string): 'sandboxPages' | undefined
  /** Sends what is due of its notices, and returns how many. */
  sendDueNotices(limit: number): Promise<number>
  /** Old rows of its own tables. Each deletes up to `limit` and returns their times. */
  purges: { kind: string; tables: string[]; deleteOld(db: Queries, before: Date, limit: number): Promise<Date[]> }[]
  stop(): Promise<void>
}

const GATEWAY = '/sandbox/gateway'

export function sandboxServers(
  deps: Omit<SimulatorDeps, 'noticeUrl'> & { /** Where this process itself is reached. */ serverUrl: () => string },
): SandboxServer[] {
  const noticeUrl = (merchantUuid: string) =>
    `${deps.serverUrl()}/notices/gateway/sandbox/${idOf('merchant', merchantUuid)}`
  const limitOf: SandboxServer['limitOf'] = (_method, path) => (path.startsWith('/pay/') ? 'sandboxPages' : undefined)
  return [{ prefix: GATEWAY, limitOf, ...createSimulator({ ...deps, noticeUrl }) }]
}

/** The control calls of all sandbox servers, by path, for the OpenAPI document. */
export function sandboxOperations(): typeof controlOperations {
  const entries = Object.entries(controlOperations).map(([path, operations]) => [GATEWAY + path, operations])
  return Object.fromEntries(entries)
}
