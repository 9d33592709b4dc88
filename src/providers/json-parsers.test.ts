import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  all,
  asWritten,
  currencyOf,
  date,
  decode,
  decoderOf,
  digitsOf,
  fields,
  Lenient,
  line,
  Nullable,
  Numeral,
  parse,
  Required,
  webAddress,
  wholeCard,
  wholeNumber,
  word,
} from './json-parsers.ts'

const NESTED = 100_000
const HOSTILE: unknown[] = [
  undefined,
  null,
  true,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -1,
  0.5,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\ud800',
  'x'.repeat(1e6),
  '9'.repeat(1e6),
  [],
  [['NGN']],
  {},
  { toString: 'NGN', valueOf: null },
  Object.create(null),
  new Numeral('5'),
  parse('['.repeat(NESTED) + ']'.repeat(NESTED)),
  parse('{"__proto__":{"id":"x"},"length":1}'),
]

test('nothing that is not meant so is a word, a currency, a whole number, a date or an address', () => {
  for (const value of HOSTILE) {
    for (const read of [word, currencyOf, wholeNumber, date]) assert.equal(read(value), undefined, read.name)
    assert.equal(webAddress(value), null)
  }
})

test('bytes that are no UTF-8 are no text, and what is no JSON is nothing', () => {
  assert.equal(decode(Buffer.from('₦')), '₦')
  for (const bytes of [[0xff], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0x22, 0xc0, 0x80, 0x22]])
    assert.equal(decode(Buffer.from(bytes)), '')
  for (const broken of ['', '01', '1 2', '{"a":1', '[1,]', 'NaN', '\u0000', '<html>', '"\u0001"'])
    for (const numberOf of [undefined, asWritten, String])
      assert.equal(parse(broken, numberOf), undefined, `${broken} ${numberOf?.name}`)
})

test('what is nested without end is read or is nothing, and never ends us', () => {
  const nested = `${'{"a":['.repeat(NESTED)}1${']}'.repeat(NESTED)}`
  assert.ok(fields(parse(nested)))
  assert.equal(parse(nested, asWritten), undefined)
})

test('numbers keep their digits wherever they stand, and texts stay as they are', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(3), (value, indent) => {
      const json = JSON.stringify(value, null, indent)
      const plain: unknown = JSON.parse(json)
      assert.deepEqual(parse(json), plain)
      assert.deepEqual(parse(json, Number), plain)
      const numerals: string[] = []
      parse(json, (digits) => numerals.push(digits))
      const outsideOfTexts = json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
      assert.deepEqual(numerals.toSorted(), (outsideOfTexts.match(/-?\d[\d.eE+-]*/g) ?? []).toSorted())
    }),
    { numRuns: 300 },
  )
  const written = ['12345678901234567890', '5000.10', '1.0E7', '-0', '1e999']
  for (const digits of written) {
    const numeral = new Numeral(digits)
    assert.deepEqual(parse(`{"a":[${digits}]}`, asWritten), { a: [numeral] })
    assert.deepEqual(parse(`{"a" : ${digits}}`, asWritten), { a: numeral })
    assert.deepEqual(parse(`[1 , ${digits}]`, asWritten), [new Numeral('1'), numeral])
    assert.deepEqual(parse(digits, asWritten), numeral)
  }
  assert.deepEqual(parse('{"a":"\\"1","b\\\\":2}', asWritten), { a: '"1', 'b\\': new Numeral('2') })
})

test('a number or a text has digits; an object that looks like a number has none, and a number is no object', () => {
  assert.equal(digitsOf(parse('1.50', asWritten)), '1.50')
  assert.equal(digitsOf('1.50'), '1.50')
  for (const other of [1.5, null, undefined, [], ['1'], { digits: '1' }]) assert.equal(digitsOf(other), undefined)
  assert.equal(fields(parse('1.50', asWritten)), undefined)
  for (const other of [null, undefined, 5, 'text', [], [{}]]) assert.equal(fields(other), undefined)
  assert.deepEqual(fields(parse('{"__proto__":{"id":"x"}}'))?.id, undefined)
})

test('a list with one part that cannot be read is no list', () => {
  assert.deepEqual(all(['a', 'b'], word), ['a', 'b'])
  assert.deepEqual(all([], word), [])
  for (const value of [['a', 5], ['a', undefined], 'ab', { 0: 'a', length: 1 }, null, undefined])
    assert.equal(all(value, word), undefined, JSON.stringify(value))
})

test('a part of a list is read by what it is, not by where it stands', () => {
  const longest = 'x'.repeat(255)
  assert.deepEqual(all([longest, longest], word), [longest, longest])
})

test('a word can be stored and compared: printable ASCII without blanks, and not too long', () => {
  const each = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 0x21 + index))
  for (const good of ['a', each, 'x'.repeat(255)]) assert.equal(word(good), good)
  for (const bad of ['', 'a b', 'a\n', '\u0000', 'a\u007f', 'é', 'ａ', 'x'.repeat(256), 5])
    assert.equal(word(bad), undefined)
  assert.equal(word('x'.repeat(10), 10), 'x'.repeat(10))
  assert.equal(word('x'.repeat(11), 10), undefined)
})

test('any text becomes one readable line that PostgreSQL accepts', () => {
  assert.equal(line(' Insufficient\r\nfunds\u0000 '), 'Insufficient  funds')
  assert.equal(line('Ọlá 💳'), 'Ọlá 💳')
  assert.equal(line(`${'x'.repeat(254)}💳`), `${'x'.repeat(254)}\ufffd`)
  for (const none of ['', ' ', '\u0000\u001f\u007f\u0085', 5, null, undefined, ['a'], {}])
    assert.equal(line(none), null)
  fc.assert(
    fc.property(fc.array(fc.nat(0xffff), { maxLength: 600 }), (codes) => {
      const read = line(String.fromCharCode(...codes)) ?? 'none'
      assert.ok(read.isWellFormed() && read.length <= 255 && !/\p{Cc}/u.test(read) && read === read.trim())
    }),
  )
})

test('a whole number is one that can be counted with', () => {
  for (const good of [0, 1, Number.MAX_SAFE_INTEGER]) assert.equal(wholeNumber(good), good)
  for (const bad of [-1, 0.1, 2 ** 53, Number.NaN, Number.NEGATIVE_INFINITY, '1', 1n, [1], null])
    assert.equal(wholeNumber(bad), undefined, String(bad))
})

test('a currency is one of ISO 4217, in upper or lower case', () => {
  assert.deepEqual(['NGN', 'ngn'].map(currencyOf), ['NGN', 'NGN'])
  for (const bad of ['', 'ZZZ', 'NGN ', 566, ['NGN'], null]) assert.equal(currencyOf(bad), undefined)
})

test('a date has its time and its zone', () => {
  const READ: [string, string][] = [
    ['2026-06-27T09:51:14Z', '2026-06-27T09:51:14.000Z'],
    ['2026-06-27T09:51Z', '2026-06-27T09:51:00.000Z'],
    ['2026-06-27T09:51:14.596774984+01:00', '2026-06-27T08:51:14.596Z'],
  ]
  for (const [written, iso] of READ) assert.equal(date(written)?.toISOString(), iso, written)
  const NONE = [
    '2026-06-27',
    '2026-06-27T09:51:14',
    '2026-06-27 09:51:14Z',
    '2026-13-01T00:00:00Z',
    '2026-06-27T25:00:00Z',
  ]
  NONE.push(
    '2026-06-27T09:51:14+0100',
    '+012026-06-27T09:51:14Z',
    'yesterday',
    '2026-06-27T::::::Z',
    ' 2026-06-27T09:51:14Z',
  )
  for (const none of [...NONE, 1_782_553_874, new Date()]) assert.equal(date(none), undefined, String(none))
})

test('customers are sent to web pages only, by addresses that are not too long', () => {
  const long = (length: number) => 'https://pay.example/'.padEnd(length, 'x')
  for (const good of ['https://pay.example/a?b#c', 'http://127.0.0.1:5/', long(2_048)])
    assert.equal(webAddress(good), good)
  for (const bad of [
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://a/',
    '//pay.example',
    '/pay',
    'https://',
    5,
    null,
  ])
    assert.equal(webAddress(bad), null, String(bad))
  assert.equal(webAddress(long(2_049)), null)
  assert.equal(webAddress(long(5_000), 5_000), long(5_000))
  assert.equal(webAddress(long(5_001), 5_000), null)
  assert.equal(webAddress('https://pay.example/a\r\nset-cookie: b'), 'https://pay.example/aset-cookie:%20b')
})

test('a card is whole, or it is none', () => {
  const card = { token: 'tok_1', brand: 'Visa', last4: '4081', expiryMonth: 12, expiryYear: 2030 }
  assert.deepEqual(wholeCard(card), card)
  for (const good of [{ expiryMonth: 1 }, { expiryYear: 2000 }, { expiryYear: 2999 }])
    assert.deepEqual(wholeCard({ ...card, ...good }), { ...card, ...good })
  const BAD = [
    { token: undefined },
    { token: '' },
    { brand: null },
    { brand: '' },
    { last4: '408' },
    { last4: '40811' },
    { last4: '４０８１' },
    { expiryMonth: 0 },
    { expiryMonth: 13 },
    { expiryMonth: 1.5 },
    { expiryMonth: Number.NaN },
    { expiryYear: 1999 },
    { expiryYear: 3000 },
    { expiryYear: undefined },
  ]
  for (const bad of BAD) assert.equal(wholeCard({ ...card, ...bad }), null, JSON.stringify(bad))
})

test('a decoder validates required fields, and gives null for invalid optional ones', () => {
  const decode = decoderOf({ id: Required(digitsOf), fee: Nullable(digitsOf), note: Lenient(line) })
  const read = (json: string) => decode(parse(json, asWritten))
  assert.deepEqual(read('{"id":12345678901234567890,"fee":5000.10,"note":" paid ","more":{}}'), {
    id: '12345678901234567890',
    fee: '5000.10',
    note: 'paid',
  })
  for (const json of ['{"id":"1"}', '{"id":"1","fee":null,"note":5}']) {
    assert.deepEqual(read(json), { id: '1', fee: null, note: null }, json)
  }
  for (const json of ['{}', '{"id":null}', '{"id":"1","fee":[]}', '[]', '1', 'null', '{"__proto__":{"id":"1"}}']) {
    assert.equal(read(json), undefined, json)
  }
  for (const value of HOSTILE) assert.equal(decode(value), undefined)
})
