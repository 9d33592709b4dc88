import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { destinationOf } from '../events/outbox-store.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import type { WebhookAnswer } from '../outbound/webhook-http.ts'
import { judge } from './delivery.ts'

const HOUR = 3_600
const WAITS = [5, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]

const answered = (status: number, retryAfterSeconds: number | null = null): WebhookAnswer => ({
  kind: 'answer',
  status,
  retryAfterSeconds,
  excerpt: '',
  tookMs: 1,
})
const reset: WebhookAnswer = { kind: 'failed', because: 'reset', detail: 'ECONNRESET', tookMs: 1 }

test('D1: every 2xx is a delivery, on any try', () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 299 }), fc.integer({ min: 1, max: 10 }), (status, number) => {
      assert.deepEqual(judge(answered(status), number, 0.5), { state: 'delivered', waitSeconds: 0, gone: false })
    }),
  )
})

test('D2: the waits are 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, each with a jitter of 10 %', () => {
  const judged = (chance: number) => WAITS.map((_, index) => judge(reset, index + 1, chance))
  assert.ok(judged(0.5).every(({ state }) => state === 'waiting'))
  const waits = (chance: number) => judged(chance).map(({ waitSeconds }) => Math.round(waitSeconds * 1_000))
  assert.deepEqual(
    waits(0.5),
    WAITS.map((wait) => wait * 1_000),
  )
  assert.deepEqual(
    waits(0),
    WAITS.map((wait) => wait * 900),
  )
  assert.deepEqual(
    waits(1),
    WAITS.map((wait) => wait * 1_100),
  )
})

test('D2: ten tries in about 75 hours, and the tenth failure is the last', () => {
  let hours = 0
  let tries = 0
  for (;;) {
    const { state, waitSeconds } = judge(answered(500), ++tries, 0.5)
    hours += waitSeconds / HOUR
    if (state === 'exhausted') break
  }
  assert.equal(tries, 10)
  assert.ok(hours > 75 && hours < 76, `${hours} h`)
})

test('D2: only a 2xx is a success; a redirect is a failure', () => {
  const others = fc.integer({ min: 100, max: 599 }).filter((status) => (status < 200 || status > 299) && status !== 410)
  fc.assert(
    fc.property(others, (status) => {
      const { state, gone, waitSeconds } = judge(answered(status), 1, 0.5)
      assert.deepEqual([state, gone, waitSeconds], ['waiting', false, 5])
    }),
  )
})

test('D3: 410 ends the delivery at once and marks the endpoint as gone', () => {
  assert.deepEqual(judge(answered(410), 1, 0.5), { state: 'exhausted', waitSeconds: 0, gone: true })
})

test('D3: Retry-After on 429 and 503 lengthens a wait by up to an hour and never shortens one', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(429, 503),
      fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (status, asked, number, chance) => {
        const without = judge(answered(status), number, chance).waitSeconds
        const { waitSeconds, state } = judge(answered(status, asked), number, chance)
        assert.equal(state, 'waiting')
        assert.equal(waitSeconds, Math.max(without, Math.min(asked, HOUR)))
      },
    ),
  )
  assert.equal(judge(answered(429, 120), 1, 0.5).waitSeconds, 120)
  assert.equal(judge(answered(503, 7 * 24 * HOUR), 1, 0.5).waitSeconds, HOUR)
  assert.equal(judge(answered(429, 1), 2, 0.5).waitSeconds, 300)
})

test('D3: Retry-After is ignored on other statuses and on the last try', () => {
  assert.equal(judge(answered(500, 120), 1, 0.5).waitSeconds, 5)
  assert.equal(judge(answered(429, 120), 10, 0.5).state, 'exhausted')
})

test('a destination is an endpoint, or for a request a merchant, a mode and a host: paths share it, ports do not', () => {
  const now = new Date()
  const endpointId = newId('endpoint', now)
  assert.equal(destinationOf({ endpointId }), uuidOf(endpointId))
  const merchantId = newId('merchant', now)
  const of = (url: string, changes: { merchantId?: typeof merchantId; mode?: 'sandbox' | 'live' } = {}) =>
    destinationOf({ merchantId, mode: 'sandbox', url, ...changes })
  assert.equal(of('https://shop.example/a'), of('https://SHOP.example:443/b?c'))
  assert.notEqual(of('https://shop.example/a'), of('https://shop.example:8443/a'))
  assert.notEqual(of('https://shop.example/a'), of('https://shop.example/a', { mode: 'live' }))
  assert.notEqual(of('https://shop.example/a'), of('https://shop.example/a', { merchantId: newId('merchant', now) }))
})
