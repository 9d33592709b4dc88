import assert from 'node:assert/strict'
import { test } from 'node:test'
import { secretBox } from '../kernel/secret-box.ts'
import { countersFor, deviceCookieOf } from './prove-identity.ts'

test('a device cookie has a counter of its own, for its account and its key only', () => {
  const secrets = secretBox(Buffer.alloc(32, 1))
  const device = deviceCookieOf(secrets, 'ada@example.com')
  const names = (box: typeof secrets, email: string, cookie: string) =>
    countersFor(box, 'password', email, { address: '192.0.2.1', userAgent: '', device: cookie }).map(
      ({ name }) => name.split(' ')[0],
    )
  assert.deepEqual(names(secrets, 'ada@example.com', device), ['device', 'devices'])
  const strange = [
    names(secrets, 'grace@example.com', device),
    names(secretBox(Buffer.alloc(32, 2)), 'ada@example.com', device),
    ...['', '.', 'x', 'x.y', `${device}x`].map((cookie) => names(secrets, 'ada@example.com', cookie)),
  ]
  for (const each of strange) assert.deepEqual(each, ['address', 'account'])
})
