import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** A statement of the service, as its source has it. */
export interface SourceStatement {
  /** `src/payments/store/payments.ts:120` */
  place: string
  /** With `$1`, `$2` … for its values, and fixed text filled in. */
  text: string
  /** freshSql`…`: never prepared by name. */
  isFresh?: boolean
}

/** Every sql`…` and freshSql`…` of the sources. */
export function readStatements(): SourceStatement[] {
  const files = globSync('src/**/*.ts', { cwd: ROOT }).filter((file) => !file.endsWith('.test.ts'))
  const sources = files.sort().map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))
  const exported = new Map<string, string>()
  for (const { text } of sources) for (const [name, fixed] of fixedTexts(text)) exported.set(name, fixed)
  return sources.flatMap(({ file, text }) => {
    const fixed = new Map([...exported, ...fixedTexts(text)])
    return [...text.matchAll(/\b(sql|freshSql)`/g)]
      .filter(({ index }) => !isComment(text, index))
      .map(({ index, 0: opening, 1: tag }) => ({
        place: `${file}:${text.slice(0, index).split('\n').length}`,
        text: numbered(readTemplate(text, index + opening.length), fixed),
        isFresh: tag === 'freshSql',
      }))
  })
}

function isComment(text: string, index: number): boolean {
  const line = text.slice(text.lastIndexOf('\n', index) + 1, index)
  return /^\s*(\/\/|\*|\/\*)/.test(line)
}

interface Template {
  strings: string[]
  expressions: string[]
}

/** A template literal from its first character, with the literals that are nested in it. */
function readTemplate(text: string, start: number): Template {
  const strings: string[] = []
  const expressions: string[] = []
  let from = start
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`') return { strings: [...strings, text.slice(from, at)], expressions }
    else if (text[at] === '$' && text[at + 1] === '{') {
      strings.push(text.slice(from, at))
      const end = endOfExpression(text, at + 2)
      expressions.push(text.slice(at + 2, end).trim())
      from = end + 1
      at = end
    }
  }
  throw new Error('a template without an end')
}

function endOfExpression(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at]
    if (character === '`') at = endOfTemplate(text, at + 1)
    else if (character === "'") at = text.indexOf("'", at + 1)
    else if (character === '{') depth++
    else if (character === '}' && depth-- === 0) return at
  }
  throw new Error('an expression without an end')
}

function endOfTemplate(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`') return at
    else if (text[at] === '$' && text[at + 1] === '{') at = endOfExpression(text, at + 2)
  }
  throw new Error('a template without an end')
}

/** `const COLUMNS = new Fixed(…)`: by name. A call inside one only shapes what is returned, so null stands for it. */
function fixedTexts(source: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const match of source.matchAll(/const (\w+)\s*=\s*new Fixed\(\s*([`'])/g)) {
    const start = match.index + match[0].length
    const text =
      match[2] === "'"
        ? source.slice(start, source.indexOf("'", start))
        : readTemplate(source, start).strings.join('null')
    found.set(match[1] as string, text)
  }
  return found
}

function numbered({ strings, expressions }: Template, fixed: Map<string, string>): string {
  let number = 0
  const filled = expressions.map((expression) => fixed.get(expression) ?? `$${++number}`)
  return strings
    .map((part, index) => part + (filled[index] ?? ''))
    .join('')
    .replaceAll('\\\\', '\\')
    .trim()
}
