import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { newId, parseId, uuidOf } from '../../kernel/ids.ts'
import { secretBox } from '../../kernel/secret-box.ts'
import { embedId, readEmbedId, readWidgetToken, widgetToken } from './embed.ts'

const secrets = secretBox(randomBytes(32))
const now = new Date('2026-11-15T07:16:33.470Z')
const payment = newId('payment', now, 7)
const later = (ms: number) => new Date(now.getTime() + ms)
const DAY_MS = 86_400_000
const QUARTER_MS = 15 * 60_000

test('an embed id opens its payment for exactly one day', () => {
  const standIn = embedId(secrets, payment, now)
  assert.match(standIn, /^emb_[\w-]+$/)
  assert.equal(readEmbedId(secrets, standIn, now), payment)
  assert.equal(readEmbedId(secrets, standIn, later(DAY_MS - 1)), payment)
  assert.equal(readEmbedId(secrets, standIn, later(DAY_MS)), undefined)
})

test('an embed id differs each time, has a fixed length and reveals nothing of the payment id', () => {
  const standIns = Array.from({ length: 100 }, () => embedId(secrets, payment, now))
  assert.equal(new Set(standIns).size, 100)
  assert.equal(new Set(standIns.map(({ length }) => length)).size, 1)
  const bytes = Buffer.from(uuidOf(payment).replaceAll('-', ''), 'hex')
  for (const standIn of standIns) {
    const sealed = Buffer.from(standIn.slice(4), 'base64url')
    assert.ok(!sealed.includes(bytes) && !sealed.includes(payment) && !standIn.includes(payment.slice(4)))
  }
  assert.equal(parseId('payment', standIns[0] as string), undefined)
})

test('an altered, shortened or foreign embed id is invalid', () => {
  const standIn = embedId(secrets, payment, now)
  const sealed = Buffer.from(standIn.slice(4), 'base64url')
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed)
    altered[index] = (altered[index] as number) ^ 1
    assert.equal(readEmbedId(secrets, `emb_${altered.toString('base64url')}`, now), undefined)
    assert.equal(readEmbedId(secrets, standIn.slice(0, index), now), undefined)
  }
  assert.equal(readEmbedId(secretBox(randomBytes(32)), standIn, now), undefined)
  const elsewhere = secrets.seal(`${payment} ${later(DAY_MS).getTime()}`, 'another place').toString('base64url')
  assert.equal(readEmbedId(secrets, `emb_${elsewhere}`, now), undefined)
})

test('garbage is invalid and does not throw', () => {
  const base64url = fc.uint8Array({ maxLength: 120 }).map((bytes) => `emb_${Buffer.from(bytes).toString('base64url')}`)
  fc.assert(
    fc.property(fc.oneof(fc.string(), base64url, fc.string({ unit: 'binary' })), (text) => {
      assert.equal(readEmbedId(secrets, text, now), undefined)
      assert.equal(readEmbedId(secrets, `emb_${text}`, now), undefined)
    }),
  )
  assert.equal(readEmbedId(secrets, `emb_${'A'.repeat(100_000)}`, now), undefined)
  const strange = secrets.seal('chk_nonsense 9999999999999 and more words than there should be', 'embed')
  assert.equal(readEmbedId(secrets, `emb_${strange.toString('base64url')}`, now), undefined)
})

test('a widget token is valid until its expiry time, exclusively', () => {
  const { token, expiresAt } = widgetToken(secrets, payment, now)
  assert.match(token, /^wgt_[\w-]+$/)
  assert.ok(token.length <= 200, 'as long as a name in an address may be')
  assert.deepEqual(expiresAt, later(QUARTER_MS))
  assert.equal(readWidgetToken(secrets, token, now), payment)
  assert.equal(readWidgetToken(secrets, token, new Date(expiresAt.getTime() - 1)), payment)
  assert.equal(readWidgetToken(secrets, token, expiresAt), undefined)
  const other = newId('payment', now, 7)
  assert.equal(readWidgetToken(secrets, widgetToken(secrets, other, now).token, now), other, 'each its own')
})

test('an altered, shortened or foreign widget token is invalid', () => {
  const { token } = widgetToken(secrets, payment, now)
  const sealed = Buffer.from(token.slice(4), 'base64url')
  for (let index = 0; index < sealed.length; index++) {
    const altered = Buffer.from(sealed)
    altered[index] = (altered[index] as number) ^ 1
    assert.equal(readWidgetToken(secrets, `wgt_${altered.toString('base64url')}`, now), undefined)
    assert.equal(readWidgetToken(secrets, token.slice(0, index), now), undefined)
  }
  assert.equal(readWidgetToken(secretBox(randomBytes(32)), token, now), undefined)
})

test('a widget token opens no page and an embed id is no token, with any prefix', () => {
  const { token } = widgetToken(secrets, payment, now)
  const standIn = embedId(secrets, payment, now)
  for (const text of [token, `emb_${token.slice(4)}`]) assert.equal(readEmbedId(secrets, text, now), undefined)
  for (const text of [standIn, `wgt_${standIn.slice(4)}`]) assert.equal(readWidgetToken(secrets, text, now), undefined)
})
