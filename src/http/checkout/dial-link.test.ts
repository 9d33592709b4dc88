import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialLink } from './outside-screens.ts'
import { en } from './texts/en.ts'

test('a code is a link to dial it, unless a phone would leave out its point', () => {
  const shown = (code: string) => dialLink(code, { texts: en }).text
  assert.match(shown('*737*33*4*18791#'), /<a href="tel:\*737\*33\*4\*18791%23">/)
  const withPoint = shown('*901*100.00*6795542937#')
  assert.ok(withPoint.includes('*901*100.00*6795542937#'))
  assert.doesNotMatch(withPoint, /tel:/)
})
