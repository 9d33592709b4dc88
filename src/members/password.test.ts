import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, passwordMatches, passwordMistake } from './password.ts'

const CLIENT = { known: true, name: 'test' }
const ADA = { email: 'ada@example.com', name: 'Ada Lovelace' }

test('a hash is argon2id with at least 19 MiB, salted, and matches its password only', async () => {
  const [one, two] = [await hashPassword('correct horse é', CLIENT), await hashPassword('correct horse é', CLIENT)]
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(one, two)
  assert.equal(await passwordMatches('correct horse é', one, CLIENT), true)
  assert.equal(await passwordMatches('correct horse e\u0301', one, CLIENT), true, 'typed on another system')
  assert.equal(await passwordMatches('correct horse e', one, CLIENT), false)
  assert.equal(await passwordMatches('correct horse é', null, CLIENT), false)
})

test('a hash with another cost still matches', async () => {
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc' // of the reference library
  assert.equal(await passwordMatches('password', stored, CLIENT), true)
})

test('a short, repetitive or personal password is refused with the reason', () => {
  assert.match(passwordMistake('eleven char', ADA) ?? '', /at least 12/)
  assert.match(passwordMistake('x'.repeat(201), ADA) ?? '', /at most 200/)
  assert.match(passwordMistake('abababababab', ADA) ?? '', /5 different/)
  assert.match(passwordMistake('ada@example.com1', ADA) ?? '', /your name/)
  assert.match(passwordMistake('Password2026', ADA) ?? '', /common word/)
  assert.equal(passwordMistake('correct horse battery', ADA), undefined)
})
