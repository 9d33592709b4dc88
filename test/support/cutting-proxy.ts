import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after } from 'node:test'
import type { Statement } from '../../src/database/sql.ts'
import { type PaymentId, uuidOf } from '../../src/kernel/ids.ts'
import { insertPayment, updatePayment } from '../../src/payments/store/payments.ts'
import { newPaymentState } from './payment-state.ts'

/** A proxy in front of PostgreSQL that can break a connection at a commit. */
export interface CuttingProxy {
  url: string
  /**
   * Breaks the next connection that sends a commit, after `letPass` others. `committed`: PostgreSQL has committed and
   * its answer is lost. `not committed`: the commit does not arrive. `at: 'change'`: only commits of transactions that
   * write a payment count; with `payment`, of that one: checks of others may be due at the same time.
   */
  cut(
    what: 'committed' | 'not committed',
    options?: { letPass?: number; at?: 'commit' | 'change'; payment?: PaymentId },
  ): void
  /** How many connections were broken so far. */
  cuts(): number
}

const COMMIT = Buffer.from('commit\0')
const COMMITTED = Buffer.from('COMMIT\0')
/** The names of the statements that write a payment. */
const WRITES = writesOfPayments().map(({ name = '' }) => Buffer.from(name))

function writesOfPayments(): Statement[] {
  const { payment } = newPaymentState()
  const written: Statement[] = [insertPayment({ payment, idempotency: undefined })]
  updatePayment(
    { write: (statement) => void written.push(statement), notify: () => {}, afterCommit: () => {} },
    payment,
  )
  return written
}

export async function startCuttingProxy(databaseUrl: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let order: { what: 'committed' | 'not committed'; letPass: number; at: 'commit' | 'change'; sign: string } | undefined
  let cuts = 0

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    const both = [client, upstream]
    let isCut = false
    let isChange = false
    let sent = ''
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
      isChange ||= WRITES.some((name) => chunk.includes(name))
      const isCommit = chunk.includes(COMMIT)
      if (order?.sign) sent += chunk.toString('latin1')
      const isOfPayment = sent.includes(order?.sign ?? '')
      const isMeant = isCommit && (order?.at === 'commit' || (isChange && isOfPayment))
      if (isCommit) [isChange, sent] = [false, '']
      if (order && isMeant && order.letPass-- === 0) {
        const { what } = order
        order = undefined
        cuts++
        if (what === 'not committed') return end()
        isCut = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      // The answers are dropped, and with the one to the commit the connection: the commit is on disk, and the client
      // does not know.
      if (!isCut) client.write(chunk)
      else if (chunk.includes(COMMITTED)) end()
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
    cut(what, { letPass = 0, at = 'commit', payment } = {}) {
      order = { what, letPass, at, sign: payment ? uuidOf(payment) : '' }
    },
    cuts: () => cuts,
  }
}
