import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'

/** A way to PostgreSQL that can break at the worst moment. */
export interface CuttingProxy {
  url: string
  /**
   * Cuts the next connection that sends a commit, after letting some pass. `committed`: PostgreSQL has done it and its answer
   * is lost; `not committed`: it never heard of it.
   */
  cut(what: 'committed' | 'not committed', letPass?: number): void
  /** How many were cut so far. */
  cuts(): number
}

const COMMIT = Buffer.from('commit\0')

export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let wish: { what: 'committed' | 'not committed'; letPass: number } | undefined
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
      if (wish && chunk.includes(COMMIT) && wish.letPass-- === 0) {
        const { what } = wish
        wish = undefined
        cuts++
        if (what === 'not committed') return end()
        isCut = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      // Its answer to the commit: by now it is on disk, and nobody is told.
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
    cut(what, letPass = 0) {
      wish = { what, letPass }
    },
    cuts: () => cuts,
  }
}
