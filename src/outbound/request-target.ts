import { type Failed, failed, NOT_PUBLIC } from './http-failure.ts'
import { isPrivateHost, isWebPort } from './public-address.ts'

export interface Target {
  protocol: 'http:' | 'https:'
  /** Protocol, host and port. */
  origin: string
  /** Without the brackets of IPv6, as a socket needs it. */
  hostname: string
  /** With port and brackets, as the Host header needs it. */
  host: string
  port: number
  path: string
}

/**
 * SSRF check 2 of 3, before DNS: rejects what a URL shows by itself. Check 1 calls it when a URL is saved
 * (http/server/read-body.ts, integrations/integration-changes.ts); check 3 is at connect time (connect.ts).
 */
export function parseTarget(url: string, { allowPrivate }: { allowPrivate: boolean }): Target | Failed {
  const parsed = URL.parse(url)
  if (!parsed) return failed('invalid_url', 'not a URL')
  const { protocol, host, pathname, search } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return failed('invalid_url', 'neither http nor https')
  if (parsed.username || parsed.password) return failed('invalid_url', 'it contains a user name or password')
  const hostname = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (protocol === 'https:' ? 443 : 80)
  if (!allowPrivate) {
    if (isPrivateHost(hostname)) return failed('blocked_address', NOT_PUBLIC)
    if (!isWebPort(port)) return failed('invalid_url', `port ${port} is not allowed`)
  }
  return { protocol, origin: `${protocol}//${host}`, hostname, host, port, path: pathname + search }
}
