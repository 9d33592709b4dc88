import { isIP, type LookupFunction, connect as netConnect, type Socket } from 'node:net'
import { createSecureContext, type SecureContext, type TLSSocket, connect as tlsConnect } from 'node:tls'
import type { Resolve } from './dns-resolve.ts'
import { codeOf, failed, failureOf, NOT_PUBLIC, Refusal } from './post-failure.ts'
import type { Target } from './post-target.ts'

/** Opens a connection, or says why not, once. What it returns gives up. */
export type Connect = (target: Target, done: Connected) => () => void
export type Connected = (...result: [null, Socket] | [Error, null]) => void

// Node gives an address a quarter of a second before it tries the next, which is less than some continents are apart.
const NEXT_ADDRESS_MS = 1_000
const MAX_ADDRESSES = 8
const MAX_SESSIONS = 200

export interface ConnectOptions {
  resolve: Resolve
  mayConnect: (address: string) => boolean
  /** For name, connection and TLS. */
  connectMs: number
  ca: string | undefined
}

/**
 * Every address is checked, a literal like those of a name, and those that were checked are connected to: nobody is asked a second
 * time, whose answer could differ.
 */
export function guardedConnect({ resolve, mayConnect, connectMs, ca }: ConnectOptions): Connect {
  const sessions = new Map<string, Buffer>()
  let context: SecureContext | undefined

  async function addressesOf(hostname: string): Promise<string[]> {
    const found = isIP(hostname) ? [{ address: hostname }] : await lookUp(hostname)
    // One that leads inside is enough: whoever answers so does not mean well, or not us.
    if (!found.every(({ address }) => isIP(address) && mayConnect(address))) {
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

  function secure({ hostname, host }: Target, where: ReturnType<typeof whereTo>): TLSSocket {
    context ??= createSecureContext({ ca })
    const socket = tlsConnect({
      ...where,
      secureContext: context,
      servername: isIP(hostname) ? '' : hostname.replace(/\.$/, ''), // of an address, the certificate must name the address
      rejectUnauthorized: true, // said here, so that no variable of the environment can say otherwise
      ALPNProtocols: ['http/1.1'],
      session: sessions.get(host),
    })
    const remember = (session: Buffer) => {
      sessions.delete(host)
      sessions.set(host, session)
      if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value as string)
    }
    // Not before the certificate was found to be good: whoever resumes is not asked for it again.
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
    const timer = setTimeout(() => fail(TOO_LATE), connectMs)

    addressesOf(target.hostname).then((addresses) => {
      if (over) return
      const where = whereTo(target, addresses)
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
    return () => fail(GIVEN_UP)
  }
}

const TOO_LATE = new Refusal(failed('timeout', 'no connection was made in time'))
const CLOSED = new Refusal(failed('reset', 'closed without an answer'))
const GIVEN_UP = new Refusal(failed('other', 'closed'))

function whereTo({ hostname, port }: Target, addresses: string[]) {
  const [first] = addresses
  if (addresses.length === 1) return { host: first, port, noDelay: true }
  // Only a name has several, and for a name Node asks this lookup, which has the answer already.
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
