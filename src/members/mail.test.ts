import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nameInMail } from './mail.ts'

test('a merchant’s name in a mail has no links, addresses, line breaks or hidden characters, and is short', () => {
  const names: [string, string][] = [
    ["Adaeze's Kitchen & Bar (Lagos)", "Adaeze's Kitchen & Bar (Lagos)"],
    ['Crème Brûlée 2', 'Crème Brûlée 2'],
    ['مطعم', 'مطعم'],
    ['Shop. Pay now: https://evil.example/pay?x=1#y', 'Shop Pay now https evil example pay x 1 y'],
    ['evil.example', 'evil example'],
    ['evil．example and evil。example', 'evil example and evil example'],
    ['pay@evil.example', 'pay evil example'],
    ['A\r\nBcc: x@evil.example\u2028B', 'A Bcc x evil example B'],
    ['<a href="//evil.example">A</a> "B"', 'a href evil example A a B'],
    ['ab\u202eelpmaxe\u200b.c', 'ab elpmaxe c'],
    ['://', 'a merchant'],
  ]
  for (const [given, shown] of names) assert.equal(nameInMail(given), shown)
  assert.equal(Array.from(nameInMail('Lorem ipsum '.repeat(20))).length <= 60, true)
})
