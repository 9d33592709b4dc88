import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase58, encodeBase58 } from './base58.ts'
import {
  idOf,
  newAttemptReference,
  newId,
  newReference,
  newShortCode,
  parseId,
  placeOf,
  placeOfReference,
  placeOfShortCode,
  uuidOf,
} from './ids.ts'
import { randomPlace } from './place.ts'

const PLACE = 1_000
const at = new Date('2026-11-15T00:00:00Z')

test('an id is a UUIDv7 behind its prefix, and goes to the database and back unchanged', () => {
  for (let count = 0; count < 1000; count++) {
    const id = newId('payment', at, PLACE)
    assert.match(id, /^chk_[1-9A-HJ-NP-Za-km-z]{24}$/)
    const uuid = uuidOf(id)
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.equal(Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16), at.getTime())
    assert.equal(idOf('payment', uuid, PLACE), id)
    assert.equal(parseId('payment', id), id)
  }
})

test('ids, codes and references made later sort later, so their indexes grow at the end', () => {
  for (const make of [newShortCode, newReference, (now: Date) => newId('payment', now, PLACE)]) {
    let before = make(at, PLACE)
    for (let second = 1; second < 500; second++) {
      const next = make(new Date(at.getTime() + second * 1000), PLACE)
      assert.ok(next > before, `${next} after ${before}`)
      assert.equal(next.length, before.length)
      before = next
    }
  }
})

test('the short code stays 15 characters until 2046, then grows by one and still sorts later', () => {
  assert.equal(newShortCode(at, PLACE).length, 15)
  assert.equal(newShortCode(new Date('2046-01-01'), PLACE).length, 15)
  assert.equal(newShortCode(new Date('2050-01-01'), PLACE).length, 16)
  assert.equal(newShortCode(new Date('2020-01-01'), PLACE).length, 15, 'a clock that is wrong makes no invalid code')
})

test('all 74 random bits of an id vary', () => {
  const uuids = Array.from({ length: 400 }, () =>
    BigInt(`0x${uuidOf(newId('payment', at, PLACE)).replaceAll('-', '')}`),
  )
  const varying = uuids.reduce((bits, uuid) => bits | (uuid ^ (uuids[0] ?? 0n)), 0n)
  assert.equal([...varying.toString(2)].filter((bit) => bit === '1').length, 74)
})

test('a text that is not an id of that kind is refused', () => {
  const id = newId('payment', at, PLACE)
  for (const text of [
    '',
    'chk_',
    id.slice(0, -1),
    `${id}x`,
    id.replace('chk_', 'evt_'),
    id.toUpperCase(),
    `chk_${'z'.repeat(24)}`,
    `chk_${'0'.repeat(24)}`,
    'x'.repeat(10_000),
  ]) {
    assert.equal(parseId('payment', text), undefined, text.slice(0, 40))
  }
})

test('base58 gives every number back', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
      (value) => decodeBase58(encodeBase58(value, 22)) === value,
    ),
  )
})

test('base58 keeps the order of numbers', () => {
  const number = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })
  fc.assert(fc.property(number, number, (a, b) => a < b === encodeBase58(a, 22) < encodeBase58(b, 22)))
})

test('ids, short codes and references carry their place', () => {
  for (const place of [0, 1, 57, 58, 500, 1_023]) {
    const id = newId('attempt', at, place)
    assert.equal(placeOf(id), place)
    assert.equal(id, idOf('attempt', uuidOf(id), place))
    assert.equal(placeOfShortCode(newShortCode(at, place)), place)
    assert.equal(placeOfShortCode(newShortCode(new Date('2050-01-01'), place)), place)
    assert.equal(placeOfReference(newReference(at, place)), place)
    assert.equal(placeOfReference(newAttemptReference('ORD-1', place)), place)
  }
  assert.equal(newId('merchant', at).length, 26, 'a merchant has no place in its id')
  assert.equal(parseId('payment', newId('payment', at, PLACE).replace(/^chk_../, 'chk_zz')), undefined, 'place 3363')
  for (const text of ['', 'ORD', 'ORDER-NUMBER-UPPER']) assert.equal(placeOfReference(text), undefined, text)
  for (const text of ['', 'x', '1234567zz12345678']) assert.equal(placeOfShortCode(text), undefined, text)
})

test('merchants are spread over all places', () => {
  const places = new Set(Array.from({ length: 40_000 }, randomPlace))
  assert.equal(places.size, 1_024)
  assert.deepEqual([Math.min(...places), Math.max(...places)], [0, 1_023])
})
