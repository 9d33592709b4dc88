import type { FastifyInstance } from 'fastify'
import { idOf } from '../kernel/ids.ts'
import { createSimulator, type SimulatorParts } from './gateway/simulator/simulator.ts'

/** A provider that we play ourselves, so that a payment can be tried to its end without anyone else. */
export interface SandboxServer {
  prefix: string
  routes(app: FastifyInstance): Promise<void>
  /** Its pages are open to strangers; its API is called by ourselves, or with credentials. */
  limitOf(method: string, path: string): 'sandboxPages' | undefined
  /** Sends what is due of its notices, and returns how many. */
  sendDueNotices(limit: number): Promise<number>
  stop(): Promise<void>
}

export function sandboxServers(
  parts: Omit<SimulatorParts, 'noticeUrl'> & { /** Where this process itself is reached. */ serverUrl: () => string },
): SandboxServer[] {
  const noticeUrl = (merchantUuid: string) =>
    `${parts.serverUrl()}/notices/gateway/sandbox/${idOf('merchant', merchantUuid)}`
  const limitOf: SandboxServer['limitOf'] = (_method, path) => (path.startsWith('/pay/') ? 'sandboxPages' : undefined)
  return [{ prefix: '/sandbox/gateway', limitOf, ...createSimulator({ ...parts, noticeUrl }) }]
}
