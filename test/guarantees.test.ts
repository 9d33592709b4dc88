import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const CODE = '(?:INV-\\d{1,2}|[A-K]\\d{1,2})'

/** Pairs such as "B13 test/journeys/initialize.test.ts": a string of the file starts with the code. */
function codesInTests(): string[] {
  const names = new RegExp(`['"\`](${CODE}(?:, ${CODE})*): `, 'g')
  const found = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: ROOT }).flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(names)].flatMap(([, codes = '']) =>
      codes.split(', ').map((code) => `${code} ${file}`),
    ),
  )
  return [...new Set(found)].sort()
}

const page = readFileSync(join(ROOT, 'docs/guarantees.md'), 'utf8')
const entries = page
  .split(/^(?=- \*\*)/m)
  .slice(1)
  .map((entry) => {
    const [, code = '', text = ''] = entry.match(new RegExp(`^- \\*\\*(${CODE})\\*\\* (.+)$`, 'm')) ?? []
    return {
      code,
      text,
      files: [...entry.matchAll(/^ {2}- `([^`]+)`$/gm)].map(([, file]) => file as string),
      provedBy: entry.match(/^ {2}- proved by (.+)$/m)?.[1]?.split(', ') ?? [],
    }
  })

test('docs/guarantees.md lists each code of a test name with its test file, and no others', () => {
  const listed = entries.flatMap(({ code, files }) => files.map((file) => `${code} ${file}`)).sort()
  assert.deepEqual(listed, codesInTests())
})

test('each guarantee is listed once, with a sentence and its tests', () => {
  const codes = entries.map(({ code }) => code)
  assert.deepEqual(codes, [...new Set(codes)])
  for (const { code, text, files, provedBy } of entries) {
    assert.match(text, /\.$/, code)
    assert.ok(files.length > 0 || provedBy.length > 0, code)
    for (const other of provedBy) assert.ok(codes.includes(other), `${code} is proved by ${other}, which is not listed`)
  }
})
