import { isIPv4, isIPv6 } from 'node:net'

/**
 * The key of every limit per address: an IPv4 address, or the /64 network of an IPv6 address, because one person has
 * all addresses of it. An IPv4-mapped IPv6 address, as a dual-stack socket reports it, and one of NAT64 (64:ff9b::/96)
 * are the IPv4 address. The port that some proxies add does not count: a client can choose another one each time.
 */
export function networkOf(address: string): string {
  const withPort = /^(?:\[(.*)\](?::\d+)?|([\d.]+):\d+)$/.exec(address)
  const withoutPort = withPort?.[1] ?? withPort?.[2] ?? address
  const [bare = ''] = withoutPort.split('%', 1) // without the zone of a link-local address
  if (!isIPv6(bare)) return isIPv4(bare) ? bare : address
  // The URL parser writes every spelling in the same way: hexadecimal, without leading zeros.
  const [left = '', right] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (text = '') => text.split(':').filter(Boolean)
  const [head, tail] = [groupsOf(left), groupsOf(right)]
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
  if (['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(groups.slice(0, 6).join(':')))
    return groups
      .slice(6)
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.')
  return `${groups.slice(0, 4).join(':')}::/64`
}
