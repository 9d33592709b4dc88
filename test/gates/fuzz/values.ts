import type { Random } from '../random.ts'

/** A JSON number as text: JSON.stringify would round 2^53+1 and turn 1e400 into null. */
export function numberAsWritten(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
}

/** Each is refused as an amount. */
export const WRONG_AMOUNTS: readonly unknown[] = [
  ...['9007199254740993', '1e400', '-1e400', '-0', '0', '0.1', '100.5', '1e15', '-1', '1000000000000', '1e-400'].map(
    numberAsWritten,
  ),
  '100',
  '1e3',
  '',
  null,
  true,
  false,
  [5],
  [],
  {},
  { valueOf: 5 },
]

/** Injection payloads. A field with free text stores them unchanged. */
export const PAYLOADS: readonly string[] = [
  `'; drop table payments; --`,
  `' or 1=1 --`,
  `$1$2\\'\\"`,
  '{"a":1}',
  '{a,b}',
  '(1,2)',
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '&lt;b&gt;&amp;',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a payload for template engines, not a template
  '${7*7}{{7*7}}<%= 7*7 %>#{7*7}',
  '=cmd|calc!A1',
  '@SUM(1+1)',
  '+1-1',
  '../../../etc/passwd',
  '%00%0d%0aset-cookie:x=1',
  'NULL',
  'undefined',
  '[object Object]',
  'toString',
  'hasOwnProperty',
  '\u202eevil\u202c\u200f\u061c',
  '\ufeffbom\u200b\u2060',
  'e\u0301 \u0958 \ufb1d',
  'नाइरा 支付 платёж دفع',
  '😀👩‍👩‍👧‍👦🏳️‍🌈',
  '\u{10ffff}\u{e0001}\ufffe\uffff',
  'İıſK',
]

/** JSON can carry these; PostgreSQL cannot. */
export const NOT_TEXT: readonly string[] = ['\0', 'a\0b', '\ud800', 'a\udfffb', '\udc00\ud800', 'x\ud83d']

export const LINE_BREAKS: readonly string[] = [
  '\r\nx-injected: 1',
  'a\nb',
  '\u2028',
  '\u2029',
  '\u0085',
  '\x1b[31m',
  '\x7f',
]

export const WRONG_ADDRESSES: readonly string[] = [
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'https://user:pass@shop.example/',
  'https://shop.example/\r\nx-injected: 1',
  'https:\\\\shop.example',
  'https://shop.example\\@evil.example',
  ' https://shop.example',
  '//shop.example',
  '/thanks',
  'https://',
  'http://[::1',
  'ftp://shop.example',
  `https://shop.example/${'a'.repeat(2_100)}`,
  `https://shop.example/${'é'.repeat(1_000)}`,
]

/** Text of some length from every plane of Unicode, without halves of surrogate pairs and without U+0000. */
export function unicode(random: Random, length: number): string {
  return Array.from({ length }, () => {
    const top = random.pick([0x7f, 0x7ff, 0xd7ff, 0xffff, 0x10ffff])
    const point = random.between(0x20, top)
    return String.fromCodePoint(point >= 0xd800 && point <= 0xdfff ? 0xfffd : point)
  }).join('')
}

/** A value of a wrong type. */
export const OTHER_TYPES = {
  string: [numberAsWritten('1e400'), 5, true, [], ['a'], {}, { toString: 'a' }],
  boolean: ['true', 0, 1, 'false', [], {}],
  object: ['{}', 5, true, [], [{}]],
  integer: ['900', numberAsWritten('900.5'), true, [900], {}, numberAsWritten('1e400'), -1, 0, 899, 2_592_001],
} as const satisfies Record<string, readonly unknown[]>
