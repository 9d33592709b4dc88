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
    ['ab\u202eelpmaxe\u200b.c', 'abelpmaxe c'],
    ['://', 'a merchant'],
    ['\u3164', 'a merchant'],
    ['\u115f\u1160 \u034f\uffa0', 'a merchant'],
    ['(), -', 'a merchant'],
    ['Call +234 (801) 234-5678 now', 'Call now'],
    ['Call 08012345678', 'Call'],
    ['Call 080.1234.567', 'Call'],
    ['Call ٠٨٠١٢٣٤', 'Call'],
    ['+2348012345678', 'a merchant'],
    ['24 Hours, est. 1998', '24 Hours, est 1998'],
  ]
  for (const [given, shown] of names) assert.equal(nameInMail(given), shown)
  assert.equal(Array.from(nameInMail('Lorem ipsum '.repeat(20))).length <= 60, true)
})
