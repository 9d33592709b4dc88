import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseEmail } from './member.ts'

test('an e-mail address is lower case, and holds nothing that a mail header would read otherwise', () => {
  assert.equal(parseEmail(' Ada.Obi+pay@Example.COM '), 'ada.obi+pay@example.com')
  assert.equal(parseEmail("o'brien@exämple.ng"), "o'brien@exämple.ng")
  const refused = ['', 'ada', 'ada@example', 'ada@.example', 'a b@c.d', 'a@b.c\r\nBcc: x@y.z', 'a@b.c\0', 'a@b@c.d']
  const headers = [
    'a@b.c>',
    'x<a@b.c>',
    '"a"@b.c',
    'a,b@c.d',
    'a@b.c,d.e',
    'a;b@c.d',
    'group:a@b.c',
    'a(c)@b.c',
    'a\\@b.c',
  ]
  for (const text of [...refused, ...headers, `${'a'.repeat(251)}@b.c`]) assert.equal(parseEmail(text), undefined, text)
})
