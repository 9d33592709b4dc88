import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { secretBox } from './secret-box.ts'

const box = secretBox(randomBytes(32))

test('an encrypted value is unreadable and decrypts in its own place', () => {
  const sealed = box.seal('gct_secret ₦', 'saved_cards.token:1')
  assert.equal(box.open(sealed, 'saved_cards.token:1'), 'gct_secret ₦')
  assert.ok(!sealed.includes('gct_'))
  assert.notDeepEqual(box.seal('gct_secret ₦', 'saved_cards.token:1'), sealed, 'never the same twice')
})

test('an encrypted value does not decrypt in another place, with another key, or after a change', () => {
  const sealed = box.seal('secret', 'saved_cards.token:1')
  assert.throws(() => box.open(sealed, 'saved_cards.token:2'))
  assert.throws(() => secretBox(randomBytes(32)).open(sealed, 'saved_cards.token:1'), /another SECRET_KEY/)
  for (let index = 0; index < sealed.length; index++) {
    const turned = Buffer.from(sealed)
    turned[index] = (turned[index] as number) ^ 1
    assert.throws(() => box.open(turned, 'saved_cards.token:1'))
  }
})

test('a signature depends on the key, the text and the purpose, and verifies only with all three', () => {
  const box = secretBox(Buffer.alloc(32, 1))
  const signature = box.sign('chk_1', 'form')
  assert.match(signature, /^[\w-]{43}$/)
  assert.equal(secretBox(Buffer.alloc(32, 1)).sign('chk_1', 'form'), signature)
  const others = [
    secretBox(Buffer.alloc(32, 2)).sign('chk_1', 'form'),
    box.sign('chk_2', 'form'),
    box.sign('chk_1', 'other'),
    box.sign('1', 'formchk_'),
  ]
  assert.equal(new Set([signature, ...others]).size, 5)
  assert.equal(box.verify(signature, 'chk_1', 'form'), true)
  for (const wrong of [...others, '', signature.slice(1), `${signature}a`])
    assert.equal(box.verify(wrong, 'chk_1', 'form'), false)
})
