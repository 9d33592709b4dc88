import { isIPv6 } from 'node:net'

/**
 * The key of every limit per address: an IPv4 address, or the /64 network of an IPv6 address, because one person has
 * all addresses of it. An IPv4-mapped IPv6 address, as a dual-stack socket reports it, is the IPv4 address.
 */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%', 1) // without the zone of a link-local address
  if (!isIPv6(bare)) return address
  // The URL parser writes every spelling in the same way: hexadecimal, without leading zeros.
  const [left = '', right] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split('::')
  const groupsOf = (text = '') => text.split(':').filter(Boolean)
  const [head, tail] = [groupsOf(left), groupsOf(right)]
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff')
    return groups
      .slice(6)
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
      .join('.')
  return `${groups.slice(0, 4).join(':')}::/64`
}
