import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderAnswer, ProviderClient } from '../providers/provider.ts'
import { redactCredentials, redactErrors } from './redact.ts'

test('a response that echoes the credential is passed on without it; any other is unchanged', async () => {
  const says = (answer: ProviderAnswer) => redactCredentials({ request: async () => answer })
  const headers = { authorization: 'Bearer sk_test_abc' }
  const call = { method: 'GET', url: 'https://provider.example' } as const
  const quoting = { kind: 'answer', status: 401, text: '{"sk_test_abc":"no Bearer sk_test_abc, no"}' } as const
  assert.deepEqual(await says(quoting).request({ ...call, headers }), {
    kind: 'answer',
    status: 401,
    text: '{"…":"no Bearer …, no"}',
  })
  assert.deepEqual(await says(quoting).request(call), quoting)
  const silence = { kind: 'unknown', because: 'the connection failed: ECONNRESET' } as const
  assert.deepEqual(await says(silence).request({ ...call, headers }), silence)
})

test('an error of an adapter keeps its class and stack frames and loses its message', async () => {
  const secret = 'AUTH_secret'
  const throws = (): never => {
    throw new RangeError(`cannot read ${secret}\n    in two lines of ${secret}`)
  }
  const connection = redactErrors({
    publicKey: 'pk',
    readNotice: throws,
    check: async () => throws(),
    refund: async () => Promise.reject(secret),
    verifyKeys: async () => ({ kind: 'good' }),
  } as unknown as ProviderClient)
  const thrown: Error[] = []
  for (const call of [connection.readNotice, connection.check, connection.refund] as (() => unknown)[]) {
    await assert.rejects(
      async () => call(),
      (error: Error) => thrown.push(error) > 0,
    )
  }
  assert.deepEqual(
    thrown.map(({ message }) => message),
    ['readNotice ended with a RangeError', 'check ended with a RangeError', 'refund ended with a string'],
  )
  assert.match(String(thrown[0]?.stack), /^ +at .*redact\.test\.ts/m)
  for (const { stack } of thrown) assert.ok(!stack?.includes(secret))
  assert.equal(connection.publicKey, 'pk')
  assert.equal(connection.findReference, undefined)
  assert.deepEqual(await connection.verifyKeys(), { kind: 'good' })
})
