import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import Fastify from 'fastify'
import { pino } from 'pino'
import { systemClock } from '../../src/kernel/clock.ts'
import { uuidOf } from '../../src/kernel/ids.ts'
import { createLog } from '../../src/log.ts'
import { credentialVerifier } from '../../src/merchants/verify-credential.ts'
import { gatewayKeys } from '../../src/providers/gateway/keys.ts'
import { createSimulator, type Simulator } from '../../src/providers/gateway/simulator/simulator.ts'
import { createDatabase } from './database.ts'
import { addMerchant } from './service.ts'

// biome-ignore lint/suspicious/noExplicitAny: the test checks the shape of the answer
type Json = any

export interface Notice {
  merchantUuid: string
  headers: IncomingHttpHeaders
  text: string
  body: Json
}

/** Receives the provider's notices. The test sets its answer. */
export async function openSink() {
  const notices: Notice[] = []
  const waiting = new Set<() => void>()
  const sink = { answer: (_notice: Notice): number => 200 }
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray()
    const text = Buffer.concat(chunks).toString()
    const notice = {
      merchantUuid: request.url?.slice(1) ?? '',
      headers: request.headers,
      text,
      body: JSON.parse(text),
    }
    notices.push(notice)
    response.statusCode = sink.answer(notice)
    response.end()
    for (const look of waiting) look()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Resolves with the notices about a payment when there are so many. */
  function until(reference: string, count: number): Promise<Notice[]> {
    const found = () => notices.filter(({ body }) => body.reference === reference)
    return new Promise((resolve, reject) => {
      const tooLong = setTimeout(() => {
        waiting.delete(look)
        reject(new Error(`${found().length} of ${count} notices about ${reference} within 20 s`))
      }, 20_000)
      function look() {
        if (found().length < count) return
        clearTimeout(tooLong)
        waiting.delete(look)
        resolve(found())
      }
      waiting.add(look)
      look()
    })
  }
  return Object.assign(sink, { notices, until, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

export interface Answer {
  status: number
  headers: Headers
  body: Json
}

/**
 * The sandbox provider on its own port and database, with a receiver of its notices. `worker`: delayed notices are sent
 * on time.
 */
export async function startSimulator({ worker = true } = {}) {
  const { database } = await createDatabase()
  const sink = await openSink()
  const masterKey = randomBytes(32)
  const lines: string[] = []
  let baseUrl = ''

  async function open(): Promise<{ simulator: Simulator; url: string; close(): Promise<void> }> {
    const simulator = createSimulator({
      database,
      clock: systemClock,
      log: createLog('trace', { write: (line) => void lines.push(line) }),
      masterKey,
      verifyCredential: credentialVerifier(database),
      publicUrl: () => baseUrl,
      noticeUrl: (merchantUuid) => `${sink.url}/${merchantUuid}`,
    })
    const app = Fastify({ loggerInstance: pino({ level: 'silent' }), forceCloseConnections: 'idle' })
    await app.register(async (context) => simulator.routes(context), { prefix: '/sandbox/gateway' })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const timer = worker && setInterval(() => void simulator.sendDueNotices(100).catch(() => {}), 100)
    async function close() {
      if (timer) clearInterval(timer)
      await Promise.all([app.close(), simulator.stop()])
    }
    after(close)
    return { simulator, url, close }
  }

  const first = await open()
  baseUrl = first.url

  async function send(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
    timeoutMs = 20_000,
  ) {
    const response = await fetch(`${baseUrl}/sandbox/gateway${path}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
    const text = await response.text()
    const isJson = /json/.test(response.headers.get('content-type') ?? '')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text } as Answer
  }

  /** A merchant, with the adapter and with plain HTTP calls. */
  async function addShop() {
    const merchant = await addMerchant(database)
    const merchantUuid = uuidOf(merchant.merchantId)
    const { secretKey, publicKey } = gatewayKeys(masterKey, merchantUuid)
    const authorization = { authorization: `Bearer ${secretKey}` }
    const api = (method: string, path: string, body?: unknown, timeoutMs?: number) =>
      send(method, `/v1${path}`, authorization, body, timeoutMs)
    const control = (method: string, path: string, body?: unknown) => send(method, path, merchant.headers, body)
    return {
      merchantUuid,
      secretKey,
      publicKey,
      api,
      control,
      open: async (changes: Record<string, unknown> = {}) =>
        (await api('POST', '/payments', paymentRequest(changes))).body.data,
      charge: (reference: string, body: Record<string, unknown>) => control('POST', `/charges/${reference}`, body),
      ledger: async (reference: string) => (await control('GET', `/ledger?reference=${reference}`)).body.data,
    }
  }

  return { database, sink, lines, send, addShop, masterKey, baseUrl, another: open, ...first }
}

export type SimulatorRig = Awaited<ReturnType<typeof startSimulator>>

export const newReference = () => randomBytes(16).toString('hex')

export function paymentRequest(changes: Record<string, unknown> = {}) {
  return {
    reference: newReference(),
    channel: 'card',
    amount: 1_250_000,
    currency: 'NGN',
    email: 'ada@example.com',
    name: 'Ada Obi',
    merchantName: 'Adaeze Kitchen',
    returnURL: 'https://shop.example/thanks?order=7',
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    ...changes,
  }
}

export const CARD = {
  pays: '4084 0840 8408 4081',
  insufficientFunds: '4000 0000 0000 9995',
  declined: '4000 0000 0000 0002',
  expired: '4000 0000 0000 0069',
  asksForCode: '5060 6666 6666 6666 666',
  staysSilent: '4000 0000 0000 0119',
}
