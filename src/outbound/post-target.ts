import { type Failed, failed, NOT_PUBLIC } from './post-failure.ts'
import { isWebPort, leadsInside } from './public-address.ts'

export interface Target {
  protocol: 'http:' | 'https:'
  /** Without the brackets of IPv6: what is connected to. */
  hostname: string
  /** With port and brackets: what the request says. */
  host: string
  port: number
  path: string
}

/** Where a URL leads, or why it may not be asked. What can be known before DNS; the rest is known when connecting. */
export function aim(url: string, { allowPrivate }: { allowPrivate: boolean }): Target | Failed {
  const parsed = URL.parse(url)
  if (!parsed) return failed('invalid_url', 'not a URL')
  const { protocol, host, pathname, search } = parsed
  if (protocol !== 'https:' && protocol !== 'http:') return failed('invalid_url', 'neither http nor https')
  if (parsed.username || parsed.password) return failed('invalid_url', 'a name or password stands in it')
  const hostname = parsed.hostname.replace(/^\[|\]$/g, '')
  const port = Number(parsed.port) || (protocol === 'https:' ? 443 : 80)
  if (!allowPrivate) {
    if (leadsInside(hostname)) return failed('blocked_address', NOT_PUBLIC)
    if (!isWebPort(port)) return failed('invalid_url', `port ${port} is not for webhooks`)
  }
  return { protocol, hostname, host, port, path: pathname + search }
}
