import type { FastifyReply, FastifyRequest } from 'fastify'

const SESSION_SECONDS = 7 * 24 * 3_600
const DEVICE_SECONDS = 365 * 24 * 3_600

/**
 * The cookies of the dashboard. With https their names have the prefix `__Host-`, so that no other host can set them.
 */
export function cookieJar(baseUrl: () => string) {
  const isSecure = () => baseUrl().startsWith('https:')
  const nameOf = (name: string) => `${isSecure() ? '__Host-' : ''}manilla_${name}`

  function write(reply: FastifyReply, name: string, value: string, seconds: number): void {
    const secure = isSecure() ? '; Secure' : ''
    const cookie = `${nameOf(name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`
    reply.header('set-cookie', cookie) // Fastify keeps several headers of this name
  }

  return {
    read: (request: FastifyRequest, name: 'session' | 'device') => readCookie(request, nameOf(name)),
    writeSession: (reply: FastifyReply, token: string) => write(reply, 'session', token, SESSION_SECONDS),
    writeDevice: (reply: FastifyReply, value: string) => write(reply, 'device', value, DEVICE_SECONDS),
    clearSession: (reply: FastifyReply) => write(reply, 'session', '', 0),
  }
}

export type CookieJar = ReturnType<typeof cookieJar>

function readCookie({ headers }: FastifyRequest, name: string): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [key, value] = part.trim().split('=', 2)
    if (key === name && value) return value
  }
  return undefined
}
