import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { allowsOrigin, frameAncestors, parseColour, parseOrigin, parseReturnAfterSeconds } from './branding.ts'
import { logoOf, MAX_LOGO_BYTES } from './logo.ts'

const live = (...origins: string[]) => ({ mode: 'live' as const, origins })
const sandbox = (...origins: string[]) => ({ mode: 'sandbox' as const, origins })

test('a colour is normalized to six lower-case digits', () => {
  for (const text of ['#0B6E4F', '0b6e4f', '#0b6e4f']) assert.equal(parseColour(text), '#0b6e4f')
  assert.equal(parseColour('#Fa0'), '#ffaa00')
  for (const text of ['', '#', 'green', '#0b6e4', '#0b6e4f0', '#0b6e4g', '##0b6e4f', '#0b6e4f}', ' #0b6e4f'])
    assert.equal(parseColour(text), undefined, text)
})

test('an origin is stored as browsers serialize it', () => {
  for (const [text, origin] of [
    ['https://shop.example', 'https://shop.example'],
    ['https://Shop.Example/', 'https://shop.example'],
    ['https://shop.example:443', 'https://shop.example'],
    ['https://shop.example:8443', 'https://shop.example:8443'],
    ['https://café.example', 'https://xn--caf-dma.example'],
    ['https://10.0.0.7', 'https://10.0.0.7'],
    ['http://localhost', 'http://localhost'],
    ['http://localhost:5173', 'http://localhost:5173'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['http://localhost:*', 'http://localhost:*'],
    ['https://127.0.0.1:*', 'https://127.0.0.1:*'],
  ] as const)
    assert.equal(parseOrigin(text), origin, text)
})

test('a text that is not exactly an origin is refused', () => {
  for (const text of [
    '',
    '*',
    'https://',
    'shop.example',
    '//shop.example',
    'http://shop.example',
    'http://localhost.evil.example',
    'https://*.shop.example',
    'https://*',
    'https://shop.example:*',
    'http://localhost:80:*',
    'http://localhost:*:*',
    'http://localhost:/:*',
    'http://localhost:99999',
    'https://shop.example/pay',
    'https://shop.example//',
    'https://shop.example?x',
    'https://shop.example#x',
    'https://ada@shop.example',
    'https://shop.example;script-src *',
    "https://shop.example;'self'",
    'https://shop.example,https://b.example',
    'https://shop.example https://b.example',
    'https:\\\\shop.example',
    'https://shop_1.example',
    'https://shop.example.',
    'https://[::1]:3000',
    ' https://shop.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'null',
  ])
    assert.equal(parseOrigin(text), undefined, text)
})

test('an accepted origin means the same to a browser and cannot change a header', () => {
  const piece = fc.constantFrom(
    'https://',
    'http://',
    'localhost',
    'a.example',
    ':',
    '*',
    '8080',
    '/',
    ';',
    "'",
    ' ',
    ',',
    '"',
    '\n',
    '@',
    '.',
    'é',
  )
  const text = fc.oneof(
    fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
    fc.string(),
    fc.webUrl(),
  )
  fc.assert(
    fc.property(text, (candidate) => {
      const origin = parseOrigin(candidate)
      if (origin === undefined) return
      assert.match(origin, /^https?:\/\/[a-z0-9.-]+(:\d+|:\*)?$/)
      assert.equal(parseOrigin(origin), origin)
      assert.ok(allowsOrigin(live(origin), new URL(origin.replace(/:\*$/, '')).origin))
    }),
    { numRuns: 2_000 },
  )
})

test('only the merchant’s origins may embed a live page', () => {
  const shop = live('https://shop.example', 'http://localhost:*')
  for (const origin of ['https://shop.example', 'http://localhost', 'http://localhost:3000'])
    assert.ok(allowsOrigin(shop, origin), origin)
  for (const origin of [
    'https://shop.example:8443',
    'http://shop.example',
    'https://www.shop.example',
    'https://shop.example.evil.example',
    'https://shop.example/',
    'https://localhost:3000',
    'http://localhost:*',
    'http://localhost:3000@evil.example',
    'http://localhost.evil.example',
    'http://localhost:',
    'null',
    '',
    '*',
  ])
    assert.ok(!allowsOrigin(shop, origin), origin)
  assert.equal(frameAncestors(shop), 'https://shop.example http://localhost:*')
  assert.equal(frameAncestors(live()), "'none'")
  assert.ok(!allowsOrigin(live(), 'http://localhost:3000'))
})

test('in sandbox mode any localhost may show it too', () => {
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1:8080', 'https://localhost:3000', 'http://localhost'])
    assert.ok(allowsOrigin(sandbox(), origin), origin)
  assert.ok(!allowsOrigin(sandbox(), 'https://shop.example'))
  assert.equal(frameAncestors(sandbox()), 'http://localhost:* http://127.0.0.1:* https://localhost:*')
  assert.equal(
    frameAncestors(sandbox('https://shop.example', 'http://localhost:*')),
    'https://shop.example http://localhost:* http://127.0.0.1:* https://localhost:*',
  )
})

test('a paid page goes back after 0 to 60 seconds', () => {
  assert.deepEqual(['0', '5', '60'].map(parseReturnAfterSeconds), [0, 5, 60])
  for (const text of ['', '-1', '61', '1.5', '5s', '1e1', '005', ' 5'])
    assert.equal(parseReturnAfterSeconds(text), undefined, text)
})

test('a logo is what its bytes say, and small', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')
  const webp = Buffer.from('RIFF\0\0\0\0WEBPVP8 ', 'latin1')
  const jpeg = Buffer.from('\xff\xd8\xff\xe0', 'latin1')
  assert.deepEqual(
    [png, jpeg, webp].map((bytes) => logoOf(bytes)?.type),
    ['image/png', 'image/jpeg', 'image/webp'],
  )
  assert.match(logoOf(png)?.version ?? '', /^[0-9a-f]{16}$/)
  assert.notEqual(logoOf(png)?.version, logoOf(webp)?.version)
  const padded = (length: number) => Buffer.concat([png, Buffer.alloc(length - png.length)])
  assert.ok(logoOf(padded(MAX_LOGO_BYTES)))
  assert.equal(logoOf(padded(MAX_LOGO_BYTES + 1)), undefined)
  for (const text of [
    '',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '<?xml version="1.0"?><svg/>',
    'GIF89a',
    '\x89PNG\r\n\x1a\n',
    'RIFF\0\0\0\0WAVE',
    '<html>',
  ])
    assert.equal(logoOf(Buffer.from(text, 'latin1')), undefined, text)
})
