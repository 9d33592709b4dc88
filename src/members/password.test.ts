import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashPassword, passwordMatches, passwordMistake } from './password.ts'

const ADA = { email: 'ada@example.com', name: 'Ada Lovelace' }

test('a hash is argon2id with at least 19 MiB, salted, and matches its password only', async () => {
  const [one, two] = [await hashPassword('correct horse é'), await hashPassword('correct horse é')]
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(one, two)
  assert.equal(await passwordMatches('correct horse é', one), true)
  assert.equal(await passwordMatches('correct horse e\u0301', one), true, 'typed on another system')
  assert.equal(await passwordMatches('correct horse e', one), false)
  assert.equal(await passwordMatches('correct horse é', null), false)
})

test('a hash with another cost still matches', async () => {
  const stored = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc' // of the reference library
  assert.equal(await passwordMatches('password', stored), true)
})

test('a short, repetitive or personal password is refused with the reason', () => {
  assert.match(passwordMistake('eleven char', ADA) ?? '', /at least 12/)
  assert.match(passwordMistake('x'.repeat(201), ADA) ?? '', /at most 200/)
  assert.match(passwordMistake('abababababab', ADA) ?? '', /5 different/)
  assert.match(passwordMistake('ada@example.com1', ADA) ?? '', /your name/)
  assert.match(passwordMistake('Password2026', ADA) ?? '', /common word/)
  assert.equal(passwordMistake('correct horse battery', ADA), undefined)
})

test('more than fifty at once are refused, not queued', async () => {
  const all = Array.from({ length: 53 }, () => hashPassword('correct horse battery'))
  const results = await Promise.allSettled(all) // with the others: no test after this one waits for them
  assert.deepEqual(
    results.map(({ status }) => status),
    [...Array(50).fill('fulfilled'), ...Array(3).fill('rejected')],
  )
})
