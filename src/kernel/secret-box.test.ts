import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { secretBox } from './secret-box.ts'

const box = secretBox(randomBytes(32))

test('what was sealed opens in its place, and reads like noise', () => {
  const sealed = box.seal('gct_secret ₦', 'saved_cards.token:1')
  assert.equal(box.open(sealed, 'saved_cards.token:1'), 'gct_secret ₦')
  assert.ok(!sealed.includes('gct_'))
  assert.notDeepEqual(box.seal('gct_secret ₦', 'saved_cards.token:1'), sealed, 'never the same twice')
})

test('it opens nowhere else, with no other key, and not after a bit was turned', () => {
  const sealed = box.seal('secret', 'saved_cards.token:1')
  assert.throws(() => box.open(sealed, 'saved_cards.token:2'))
  assert.throws(() => secretBox(randomBytes(32)).open(sealed, 'saved_cards.token:1'), /another SECRET_KEY/)
  for (let index = 0; index < sealed.length; index++) {
    const turned = Buffer.from(sealed)
    turned[index] = (turned[index] as number) ^ 1
    assert.throws(() => box.open(turned, 'saved_cards.token:1'))
  }
})

test('a mark is ours alone, of that text, in that place, and the same each time', () => {
  const box = secretBox(Buffer.alloc(32, 1))
  const mark = box.mark('chk_1', 'form')
  assert.match(mark, /^[\w-]{43}$/)
  assert.equal(secretBox(Buffer.alloc(32, 1)).mark('chk_1', 'form'), mark)
  const others = [
    secretBox(Buffer.alloc(32, 2)).mark('chk_1', 'form'),
    box.mark('chk_2', 'form'),
    box.mark('chk_1', 'other'),
    box.mark('1', 'formchk_'),
  ]
  assert.equal(new Set([mark, ...others]).size, 5)
})
