import assert from 'node:assert/strict'
import * as https from 'node:https'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import {
  answered,
  CERTIFICATE,
  client,
  failed,
  KEY,
  listen,
  merchant,
  rawMerchant,
  resolvesTo,
  secureMerchant,
  withoutTime,
} from '../../test/support/webhook-http.ts'

test('D2: over TLS the certificate must match the name or the address', async (t) => {
  const port = await secureMerchant(t)
  const post = client(t, { ca: CERTIFICATE, ...resolvesTo('127.0.0.1') })
  for (const host of ['hooks.test', 'HOOKS.test', '127.0.0.1']) {
    assert.deepEqual(withoutTime(await post(`https://${host}:${port}/`)), answered(200, 'safe'))
  }
  // Each time: a session is not resumed whose certificate was refused.
  for (let i = 0; i < 3; i++) {
    const other = withoutTime(await post(`https://other.test:${port}/`))
    assert.deepEqual(other, failed('tls', 'ERR_TLS_CERT_ALTNAME_INVALID'))
  }
})

test('D1: a second TLS connection to the same name resumes the session, in TLS 1.2 and 1.3', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const resumed: boolean[] = []
    const server = https.createServer({ key: KEY, cert: CERTIFICATE, maxVersion }, (request, response) => {
      resumed.push((request.socket as TLSSocket).isSessionReused())
      response.setHeader('connection', 'close').end('safe')
    })
    const port = await listen(t, server)
    const post = client(t, { ca: CERTIFICATE, ...resolvesTo('127.0.0.1') })
    for (const host of ['hooks.test', 'hooks.test', '127.0.0.1', 'hooks.test']) {
      assert.deepEqual(withoutTime(await post(`https://${host}:${port}/`)), answered(200, 'safe'))
    }
    assert.deepEqual(resumed, [false, true, false, true], maxVersion)
    const other = withoutTime(await post(`https://other.test:${port}/`))
    assert.deepEqual(other, failed('tls', 'ERR_TLS_CERT_ALTNAME_INVALID'))
  }
})

test('D1: if the first address of a name does not accept the connection, the next one is tried', async (t) => {
  const url = await merchant(t, (_, response) => response.end('here'))
  const { port } = new URL(url)
  const post = client(t, resolvesTo('127.0.0.2', '127.0.0.3', '127.0.0.1'))
  assert.deepEqual(withoutTime(await post(`http://hooks.test:${port}`)), answered(200, 'here'))
  const unreachable = client(t, resolvesTo('127.0.0.2', '127.0.0.3'))
  for (const scheme of ['http', 'https']) {
    const answer = withoutTime(await unreachable(`${scheme}://hooks.test:${port}`))
    assert.deepEqual(answer, failed('refused', 'ECONNREFUSED'))
  }
})

test('D2: an untrusted certificate is refused, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async (t) => {
  const port = await secureMerchant(t)
  const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.after(() => {
    if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
    else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before
  })
  const answer = withoutTime(await client(t)(`https://127.0.0.1:${port}/`))
  assert.deepEqual(answer, failed('tls', 'DEPTH_ZERO_SELF_SIGNED_CERT'))
})

test('D2: a server without TLS, or one that stops during the handshake, is a failure', async (t) => {
  const plain = await rawMerchant(t, 'HTTP/1.1 400 Bad Request\r\n\r\n')
  const answer = withoutTime(await client(t)(plain.replace('http:', 'https:')))
  assert.equal(answer.kind === 'failed' && answer.because, 'tls')
  const silent = await rawMerchant(t, '')
  const second = withoutTime(await client(t, { connectMs: 300 })(silent.replace('http:', 'https:')))
  assert.deepEqual(second, failed('timeout', 'no connection was made in time'))
})

test('D2: a name that does not resolve is a failure, and a lookup without end is a timeout', async (t) => {
  const unknown = client(t, { resolve: () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })) })
  assert.deepEqual(withoutTime(await unknown('http://hooks.test')), failed('dns', 'ENOTFOUND'))
  const empty = client(t, resolvesTo())
  assert.deepEqual(withoutTime(await empty('http://hooks.test')), failed('dns', 'ENODATA'))
  const never = client(t, { connectMs: 100, resolve: () => new Promise(() => {}) })
  assert.deepEqual(withoutTime(await never('http://hooks.test')), failed('timeout', 'no connection was made in time'))
})
