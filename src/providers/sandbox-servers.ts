import type { FastifyInstance } from 'fastify'
import { idOf } from '../kernel/ids.ts'
import { createSimulator, type SimulatorParts } from './gateway/simulator/simulator.ts'

/** A provider that we play ourselves, so that a payment can be tried to its end without anyone else. */
export interface SandboxServer {
  prefix: string
  routes(app: FastifyInstance): Promise<void>
  /** Sends what is due of its notices, and returns how many. */
  sendDueNotices(limit: number): Promise<number>
  stop(): Promise<void>
}

export function sandboxServers(
  parts: Omit<SimulatorParts, 'noticeUrl'> & { /** Where this process itself is reached. */ serverUrl: () => string },
): SandboxServer[] {
  const noticeUrl = (merchantUuid: string) =>
    `${parts.serverUrl()}/notices/gateway/sandbox/${idOf('merchant', merchantUuid)}`
  return [{ prefix: '/sandbox/gateway', ...createSimulator({ ...parts, noticeUrl }) }]
}
