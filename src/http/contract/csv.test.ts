import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('a line is of RFC 4180: quotes where they are needed, CRLF at the end', () => {
  assert.equal(csvLine(['a', 5, true, null, new Date(0)]), 'a,5,true,,1970-01-01T00:00:00.000Z\r\n')
  assert.equal(csvLine(['Obi, Ada', 'say "hi"', 'two\nlines']), '"Obi, Ada","say ""hi""","two\nlines"\r\n')
})

const FORMULAS = [
  ...['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\ttext', '\rtext', ' =1', '"=1', `'=1`, ' "\' =1', '\u00a0=1'],
  ...['\u200b=1', '\ufeff=1', '＝1', '＠x', '\n=1', `=cmd|' /C calc'!A0`, '=HYPERLINK("https://evil.example")'],
]

/** The cells as a spreadsheet reads them. */
function read(line: string): string[] {
  const found = [...line.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(?:,|\r\n$)/g)]
  return found.map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

test('no text becomes a formula', () => {
  for (const formula of FORMULAS) {
    const [cell = '', next] = read(csvLine([formula, 'end']))
    assert.equal(next, 'end', JSON.stringify(formula))
    assert.ok(cell.startsWith("'"), `${JSON.stringify(formula)} gives ${JSON.stringify(cell)}`)
  }
})

test('nor a part of it, in a program that splits lines at semicolons or tabs', () => {
  for (const text of ['a;=1', 'a;"=1', 'a\t+1', 'a\n=1', 'a; @x'])
    assert.ok(
      read(csvLine([text]))[0]
        ?.split(/[;\t\n]/)
        .every((part) => !/^[\s"]*[=+\-@]/.test(part)),
      text,
    )
})

test('other texts stay as they are', () => {
  for (const text of ['ORDER-1', 'ada@example.com', 'a=b', '2 + 2', 'Ünïcödé 漢字', "Ada's", '1-2', ' spaces '])
    assert.deepEqual(read(csvLine([text, 'end'])), [text, 'end'])
})
