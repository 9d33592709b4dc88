import { isIP, type LookupFunction } from 'node:net'
import type { Resolve } from './dns-resolve.ts'

/** Where connections may lead, for an address that a merchant chose: it may point inside, at once or after a change of DNS. */
export interface Guard {
  resolve: Resolve
  mayConnect(address: string): boolean
}

const MAX_ADDRESSES = 8

/**
 * For node:http: every address of a name is checked, and those that were checked are connected to. Node does not ask about a
 * literal; `isBlocked` is for those.
 */
export function guardedLookup({ resolve, mayConnect }: Guard): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const addresses = found.slice(0, MAX_ADDRESSES).map(({ address }) => ({ address, family: isIP(address) }))
        const [first] = addresses
        if (!first) return callback(coded('ENODATA'), [])
        // One that leads inside is enough: whoever answers so does not mean well, or not us.
        if (!found.every(({ address }) => isIP(address) && mayConnect(address))) return callback(coded(BLOCKED), [])
        if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, []),
    )
  }
}

/** Which address it was stays with us: a name may be known inside only. */
export const BLOCKED = 'blocked_address'

export function isBlocked({ mayConnect }: Guard, hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return isIP(bare) !== 0 && !mayConnect(bare)
}

function coded(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code })
}
