import { connect } from 'node:net'
import { OperatorError } from '../../kernel/operator-error.ts'
import type { App } from './framework.ts'

export class PortIsBusy extends OperatorError {}

const OTHER_PORTS = 20

/**
 * Listens and returns the port. A default port that is in use is replaced by the next free one; a configured port is
 * not.
 */
export async function listen(app: App, wanted: { host: string; port: number; portIsFixed: boolean }): Promise<number> {
  const { host } = wanted
  if (wanted.portIsFixed) return listenOn(app, host, wanted.port)
  for (let port = wanted.port; port < wanted.port + OTHER_PORTS; port++) {
    // A server on the IPv6 address of "localhost" would get requests that are meant for this one.
    if (await answersOnIpv6(port)) continue
    try {
      return await listenOn(app, host, port)
    } catch (error) {
      if (!(error instanceof PortIsBusy)) throw error
    }
  }
  return listenOn(app, host, 0)
}

async function listenOn(app: App, host: string, port: number): Promise<number> {
  try {
    await app.listen({ host, port, backlog: 4_096 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new OperatorError(
        `HOST=${host} is not an address of this machine. Set HOST to one that is, or to 0.0.0.0 for all of them.`,
      )
    }
    if (code === 'EACCES')
      throw new OperatorError(`This user may not listen on port ${port}. Set PORT to one above 1023.`)
    if (code !== 'EADDRINUSE') throw error
    throw new PortIsBusy(
      `Port ${port} on ${host} is in use. Stop what is using it, set PORT to another one, or PORT=0 for any free one.`,
    )
  }
  return (app.server.address() as { port: number }).port
}

function answersOnIpv6(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '::1', port, timeout: 200 })
    const done = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket
      .once('connect', () => done(true))
      .once('error', () => done(false))
      .once('timeout', () => done(false))
  })
}
