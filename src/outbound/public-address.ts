import { BlockList, isIP } from 'node:net'

/**
 * Used by the SSRF checks: whether an address is public unicast. IPv6 addresses that embed an IPv4 address are refused,
 * because they lead to the embedded address. The lists follow IANA's registries of special-purpose addresses (RFC 6890
 * and its successors).
 */
export function isPublic(address: string): boolean {
  if (address.includes('%')) return false // A zone id names a local interface.
  const version = isIP(address)
  if (version === 4) return !refusedIpv4.check(address, 'ipv4')
  return version === 6 && globalUnicast.check(address, 'ipv6') && !refusedIpv6.check(address, 'ipv6')
}

/**
 * Whether a host of a parsed URL is private, as far as it shows before DNS. The URL parser has normalised every address
 * literal.
 */
export function isPrivateHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) ? !isPublic(bare) : LOCALHOST.test(bare)
}

// RFC 6761: always loopback. Some resolvers answer it without DNS.
const LOCALHOST = /(^|\.)localhost\.?$/

/** Low ports other than 80 and 443 belong to other services, which an attacker could try to reach through us. */
export function isWebPort(port: number): boolean {
  return port >= 1024 || port === 80 || port === 443
}

const refusedIpv4 = listOf('ipv4', [
  '0.0.0.0/8', // "this host": Linux connects 0.0.0.0 to itself
  '10.0.0.0/8', // private
  '100.64.0.0/10', // behind a carrier's NAT; Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // public by its number, but internal at Azure
  '169.254.0.0/16', // link-local; metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast at its end
])

// All that is allocated for the internet. It excludes: unspecified, loopback, mapped and compatible IPv4, NAT64
// (64:ff9b::/96 and 64:ff9b:1::/48), discard, SRv6 (5f00::/16), unique local with the metadata of AWS, link-local,
// site-local, multicast.
const globalUnicast = listOf('ipv6', ['2000::/3'])

const refusedIpv6 = listOf('ipv6', [
  '2001::/23', // protocol assignments: Teredo, benchmarking, AMT, ORCHID and ORCHIDv2, drone ids
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address inside
  '2620:4f:8000::/48', // AS112
  '3ffe::/16', // the former 6bone
  '3fff::/20', // documentation
])

function listOf(family: 'ipv4' | 'ipv6', subnets: string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [address = '', bits] = subnet.split('/')
    list.addSubnet(address, Number(bits), family)
  }
  return list
}
