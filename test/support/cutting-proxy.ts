import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'

/** A proxy in front of PostgreSQL that can break a connection at a commit. */
export interface CuttingProxy {
  url: string
  /**
   * Breaks the next connection that sends a commit, after `letPass` others. `committed`: PostgreSQL has committed and its answer is
   * lost. `not committed`: the commit does not arrive. `at: 'write'`: the statement that writes a payment, which commits by itself.
   */
  cut(what: 'committed' | 'not committed', options?: { letPass?: number; at?: keyof typeof SIGNS }): void
  /** How many connections were broken so far. */
  cuts(): number
}

const SIGNS = { commit: Buffer.from('commit\0'), write: Buffer.from('{"payments":[{"id":') }

export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let order: { what: 'committed' | 'not committed'; letPass: number; sign: Buffer } | undefined
  let cuts = 0

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const both = [client, upstream]
    let isCut = false
    const end = () => {
      for (const socket of both) socket.destroy()
    }
    for (const socket of both) {
      sockets.add(socket)
      socket.on('error', end)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on('data', (chunk) => {
      if (order && chunk.includes(order.sign) && order.letPass-- === 0) {
        const { what } = order
        order = undefined
        cuts++
        if (what === 'not committed') return end()
        isCut = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      // The answer to the commit is dropped: the commit is on disk, and the client does not know.
      if (isCut) end()
      else client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })

  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    cut(what, { letPass = 0, at = 'commit' } = {}) {
      order = { what, letPass, sign: SIGNS[at] }
    },
    cuts: () => cuts,
  }
}
