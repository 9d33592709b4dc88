import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

const COOKIE = 'demo_customer'

/**
 * The visitor's user id, from a cookie. It replaces a login: orders and saved cards belong to this id, never to an
 * unverified e-mail address.
 */
export function customerOf(request: FastifyRequest, reply: FastifyReply, path: string): string {
  const known = new RegExp(`(?:^|;\\s*)${COOKIE}=([0-9a-f]{32})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1]
  if (known) return `demo-${known}`
  const fresh = randomBytes(16).toString('hex')
  reply.header('set-cookie', `${COOKIE}=${fresh}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=2592000`)
  return `demo-${fresh}`
}
