import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import * as net from 'node:net'
import type { TestContext } from 'node:test'
import {
  type WebhookAnswer,
  type WebhookCall,
  type WebhookHttpOptions,
  webhookHttp,
} from '../../src/outbound/webhook-http.ts'

/** For the name `hooks.test` and the address 127.0.0.1, until 2126, self-signed. Made with openssl for this file. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBnTCCAUSgAwIBAgIUIOskJvnXfX02rFMZVAqqalyweiAwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKaG9va3MudGVzdDAgFw0yNjExMTUwNjU3NTFaGA8yMTI2MTAy
MjA2NTc1MVowFTETMBEGA1UEAwwKaG9va3MudGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABDcdSCPeY53BamqmuK0I3ZOJBsb9bUW8QKPosSq88nIXy4g/51un
v+P1Y1En9+kc6lY2Hkx/cGZ8O6XcibNhyk+jcDBuMB0GA1UdDgQWBBTFBDcaaVrW
Ppkkgq59U14y0DSCojAfBgNVHSMEGDAWgBTFBDcaaVrWPpkkgq59U14y0DSCojAP
BgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCCmhvb2tzLnRlc3SHBH8AAAEwCgYI
KoZIzj0EAwIDRwAwRAIge9FevCZsbBnz5mA53oARupREuiz2a0T6LlxrCjuF6rAC
IG9RqYYoUPHYoiUDs08EgtFXYTV7nArWZ9WG3+e9hcq1
-----END CERTIFICATE-----`

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDVE9LwyybMFFIlHE
NpBxtgt35DL3Fp5NLbCLiXpKMfmhRANCAAQ3HUgj3mOdwWpqpritCN2TiQbG/W1F
vECj6LEqvPJyF8uIP+dbp7/j9WNRJ/fpHOpWNh5Mf3BmfDul3ImzYcpP
-----END PRIVATE KEY-----`

export const BODY = '{"id":"evt_1","name":"Adébáyọ̀"}'

export async function listen(t: TestContext, server: net.Server, host = '127.0.0.1'): Promise<number> {
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  Object.assign(server, { keepAliveTimeout: 60_000 }) // its 5 s would end a kept connection while the machine stalls
  server.listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as net.AddressInfo).port
}

/** A merchant's server with this behaviour. */
export async function merchant(t: TestContext, behave: http.RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, http.createServer(behave))}`
}

/** A server that answers with these bytes, and then calls `after`. */
export async function rawMerchant(t: TestContext, bytes: string, after = (_: net.Socket) => {}): Promise<string> {
  const server = net.createServer((socket) => {
    socket.once('data', () => socket.write(bytes, () => after(socket)))
  })
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** Tests of a limit set it. For the others a machine may stall for seconds. */
export function client(t: TestContext, options: WebhookHttpOptions = {}) {
  const guarded = webhookHttp({ deadlineMs: 60_000, connectMs: 60_000, ...options })
  t.after(() => guarded.close())
  return (url: string, call: Partial<WebhookCall> = {}) =>
    guarded.post({
      url,
      headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
      body: BODY,
      allowPrivate: true,
      ...call,
    })
}

/** For a short `connectMs`: a stalled machine may not connect in time. */
export async function onceConnected(call: () => Promise<WebhookAnswer>): Promise<WebhookAnswer> {
  for (let times = 1; ; times++) {
    const answer = await call()
    if (answer.kind === 'answer' || answer.detail !== 'no connection was made in time' || times === 5) return answer
  }
}

export const resolvesTo = (...addresses: string[]) => ({
  resolve: async () => addresses.map((address) => ({ address })),
})

/** Without the duration, which must be an integer. */
export function withoutTime({ tookMs, ...rest }: WebhookAnswer) {
  assert.ok(Number.isInteger(tookMs) && tookMs >= 0)
  return rest
}

export const failed = (because: string, detail: string) => ({ kind: 'failed', because, detail })

export const answered = (status: number, excerpt = '', retryAfterSeconds: number | null = null) => ({
  kind: 'answer',
  status,
  retryAfterSeconds,
  excerpt,
})

export async function secureMerchant(t: TestContext): Promise<number> {
  return listen(
    t,
    https.createServer({ key: KEY, cert: CERTIFICATE }, (_, response) => response.end('safe')),
  )
}
