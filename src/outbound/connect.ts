import { isIP, type LookupFunction, connect as netConnect, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { type Resolve, resolveAsSystem, resolveByDns } from './dns-resolve.ts'
import { codeOf, failed, failureOf, NOT_PUBLIC, Refusal } from './http-failure.ts'
import { isPublic } from './public-address.ts'
import type { Target } from './request-target.ts'

/** Opens a connection and calls back once. The returned function stops connecting. */
export type Connect = (target: Target, done: Connected) => () => void
export type Connected = (...result: [null, Socket] | [Error, null]) => void

// Node tries the next address after 250 ms, which is less than a round trip between some continents.
const NEXT_ADDRESS_MS = 1_000
const MAX_ADDRESSES = 8
const MAX_SESSIONS = 200

export interface ConnectOptions {
  /**
   * `public` for every URL that a merchant chose (SSRF). `any` for a provider's own URL and where the operator allows
   * it.
   */
  addresses: 'any' | 'public'
  /** For tests: every address of a name. */
  resolve: Resolve | undefined
  /** For DNS, TCP and TLS. */
  connectMs: number
  ca: string | undefined
}

/**
 * Opens TCP and TLS connections. SSRF check 3 of 3, at connect time (1, when a URL is saved: http/server/read-body.ts
 * and integrations/integration-changes.ts; 2, before DNS: request-target.ts). Every resolved address is checked, and
 * the socket connects to the checked addresses. The name is not resolved again, so DNS rebinding has no effect.
 */
export function createConnect({ addresses, resolve: given, connectMs, ca }: ConnectOptions): Connect {
  const isPublicOnly = addresses === 'public'
  const resolve = given ?? (isPublicOnly ? resolveByDns : resolveAsSystem)
  const sessions = new Map<string, Buffer>()
  let context: SecureContext | undefined

  async function addressesOf(hostname: string): Promise<string[]> {
    const found = isIP(hostname) ? [{ address: hostname }] : await lookUp(hostname)
    // Reject the host if any resolved address is private.
    if (!found.every(({ address }) => isIP(address) && (!isPublicOnly || isPublic(address)))) {
      throw new Refusal(failed('blocked_address', NOT_PUBLIC))
    }
    return found.slice(0, MAX_ADDRESSES).map(({ address }) => address)
  }

  async function lookUp(hostname: string) {
    const found = await resolve(hostname).catch((error) => {
      throw new Refusal(failed('dns', codeOf(error)))
    })
    if (found.length === 0) throw new Refusal(failed('dns', 'ENODATA'))
    return found
  }

  function secure({ hostname, host }: Target, where: ReturnType<typeof addressOptions>): TLSSocket {
    context ??= createSecureContext({ ca })
    const socket = tlsConnect({
      ...where,
      secureContext: context,
      servername: isIP(hostname) ? '' : hostname.replace(/\.$/, ''), // SNI does not allow an IP address
      rejectUnauthorized: true, // explicit, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect
      ALPNProtocols: ['http/1.1'],
      session: sessions.get(host),
    })
    const remember = (session: Buffer) => {
      sessions.delete(host)
      sessions.set(host, session)
      if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value as string)
    }
    // Only after the certificate was verified: a resumed session is not verified again.
    socket.once('secureConnect', () => {
      socket.on('session', remember)
      const session = socket.getProtocol() === 'TLSv1.2' ? socket.getSession() : undefined
      if (session) remember(session)
    })
    return socket
  }

  return (target, done) => {
    const isSecure = target.protocol === 'https:'
    let socket: Socket | undefined
    let over = false
    const fail = (error: Error) => {
      if (over) return
      over = true
      clearTimeout(timer)
      socket?.destroy()
      sessions.delete(target.host)
      done(new Refusal(failureOf(error, { duringTls: isSecure })), null)
    }
    const timer = setTimeout(() => fail(CONNECT_TIMEOUT), connectMs)

    addressesOf(target.hostname).then((addresses) => {
      if (over) return
      const where = addressOptions(target, addresses)
      const opened = isSecure ? secure(target, where) : netConnect(where)
      socket = opened
      opened.on('error', fail)
      opened.once('close', () => fail(CLOSED))
      opened.once(isSecure ? 'secureConnect' : 'connect', () => {
        if (over) return
        over = true
        clearTimeout(timer)
        done(null, opened)
      })
    }, fail)
    return () => fail(STOPPED)
  }
}

const CONNECT_TIMEOUT = new Refusal(failed('timeout', 'no connection was made in time'))
const CLOSED = new Refusal(failed('reset', 'closed without an answer'))
const STOPPED = new Refusal(failed('other', 'closed'))

function addressOptions({ hostname, port }: Target, addresses: string[]) {
  const [first] = addresses
  if (addresses.length === 1) return { host: first, port, noDelay: true }
  // Node calls this lookup for a name. It returns the checked addresses.
  const lookup: LookupFunction = (_hostname, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: isIP(address) })),
    )
  return {
    host: hostname,
    port,
    lookup,
    noDelay: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
  }
}
