import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

const COOKIE = 'demo_customer'

/**
 * The shop's own id of this visitor, from a cookie that is set here. It stands for the session of a shop with accounts: saved cards belong
 * to it, never to an e-mail address that somebody typed.
 */
export function customerOf(request: FastifyRequest, reply: FastifyReply, path: string): string {
  const known = new RegExp(`(?:^|;\\s*)${COOKIE}=([0-9a-f]{32})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1]
  if (known) return `demo-${known}`
  const fresh = randomBytes(16).toString('hex')
  reply.header('set-cookie', `${COOKIE}=${fresh}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=2592000`)
  return `demo-${fresh}`
}
