import { relative } from 'node:path'
import { after } from 'node:test'
import { type Database, STATEMENT_SENT } from '../../src/database/database.ts'
import { type Statement, sql } from '../../src/database/sql.ts'
import { SMALL_TABLES } from './big-tables.ts'

/** Tables that grow have the column `place`. (Merchants have it too: theirs is the source of all others.) */
export async function placedTables(database: Database): Promise<Set<string>> {
  const rows = await database.rows<{ name: string }>(sql`
    select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and a.attname = 'place' and not a.attisdropped`)
  return new Set(rows.map(({ name }) => name).filter((name) => !(name in SMALL_TABLES)))
}

/** What the rules cannot reasonably ask, with the reason. */
export const EXCEPTIONS: Record<string, string> = {
  '"case" in "set" of deliveries':
    'a try that ends after a redelivery was asked for keeps the delivery due: which value a row gets depends on the row, and on no time',
}

/** A parameter or a number, with or without a cast. */
const CONSTANT = '(?:\\$\\d+|\\d+)(?:::\\w+)?'

/**
 * How a statement breaks the rules of docs/decisions/0014-place.md; empty if it keeps them.
 *
 * Each reference to a table that grows compares its place with a parameter or a constant, in its own block. To be equal
 * to the place of another table is not enough: a distributed engine would ask every shard. A search, and the deletion
 * of old rows, may compare it with a range; what is inserted, updated or locked is of one place.
 */
export function placeFaults(statement: string, growing: ReadonlySet<string>): string[] {
  const text = statement
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'[^']*'/g, "''")
    .replaceAll(/\s+/g, ' ')
  const faults: string[] = []
  for (const { table, alias, index } of referencesIn(text, growing)) {
    const write = /\b(insert into|update|delete from) $/.exec(text.slice(0, index))?.[1]
    const block = blockAround(text, index)
    const place = `(?:\\b${alias}\\.|(?<![.\\w]))place\\b`
    const isOne = new RegExp(`${place} ?= ?${CONSTANT}`).test(block)
    const isRange = new RegExp(
      `${place} ?(?:<=?|>=?|between) ?${CONSTANT}|\\((?:[^()]*, ?)?${place}(?: ?,[^()]*)?\\) ?[<>]=? ?\\([^()]*${CONSTANT}`,
    ).test(block)
    const isLocked = /\bfor (no key )?update\b/.test(block)
    if (write === 'insert into') {
      if (!isInsertAtOnePlace(text.slice(index), table))
        faults.push(`the insert into ${table} does not begin with a parameter for place`)
    } else if (!isOne && !isRange) faults.push(`${table} ${alias} has no parameter for place`)
    else if (!isOne && (write === 'update' || isLocked))
      faults.push(`${table} ${alias} is written or locked, and may be of several places`)
    if (write) faults.push(...notConstant(block).map((found) => `${found} of ${table}`))
    if (/\boffset 0\b/.test(text)) faults.push('"offset 0" steers the planner')
  }
  return faults.filter((fault) => !(fault in EXCEPTIONS))
}

/** `(place, …) values ($1, …)` or `(place, …) select $1, …` */
function isInsertAtOnePlace(text: string, table: string): boolean {
  const columns = `^${table}(?: as \\w+)? ?\\( ?place\\b[^()]*\\) ?(?:overriding \\w+ value )?`
  return new RegExp(`${columns}(?:values ?\\( ?|select )${CONSTANT}`).test(text)
}

/**
 * What a distributed engine refuses to compute where rows are written or returned, because each machine would have a
 * value of its own: times, random values, and all that may hide one. Operations pass the time, and a conflict uses
 * `excluded`.
 */
function notConstant(block: string): string[] {
  const clauses = [
    ['set', /\bset (.*?)(?= from | where | returning |$)/],
    ['values', /\bvalues (.*?)(?= on conflict | returning |$)/],
    ['returning', /\breturning (.*)$/],
  ] as const
  return clauses.flatMap(([clause, pattern]) => {
    const found = pattern.exec(block)?.[1] ?? ''
    const words =
      found.match(/\b(now|\w+_timestamp|random|gen_random_uuid|nextval|coalesce)(?= ?\()|\bcase\b|\bcurrent_\w+/g) ?? []
    return [...new Set(words)].map((word) => `"${word}" in "${clause}"`)
  })
}

interface Reference {
  table: string
  /** The name of the table itself where it has none. */
  alias: string
  index: number
}

const NOT_AN_ALIAS =
  /^(where|set|values|on|using|join|left|right|inner|cross|full|order|group|limit|for|select|returning|from|union|natural)$/

function referencesIn(text: string, growing: ReadonlySet<string>): Reference[] {
  const found: Reference[] = []
  for (const match of text.matchAll(/(\bfrom|\bjoin|\bupdate|\binto|\busing|,) (\w+)(?: as)?(?: (\w+))?/g)) {
    const [whole, before, table = '', next = ''] = match
    if (!growing.has(table)) continue
    const hasAlias = next !== '' && !NOT_AN_ALIAS.test(next)
    if (before === ',' && !hasAlias) continue
    found.push({
      table,
      alias: hasAlias ? next : table,
      index: match.index + whole.indexOf(table),
    })
  }
  return found
}

/** The query that the position belongs to, without the queries inside it and without the other parts of a union. */
function blockAround(text: string, index: number): string {
  let [start, end, depth] = [index, index, 0]
  for (; start > 0; start--) {
    if (text[start - 1] === ')') depth++
    else if (text[start - 1] === '(' && depth-- === 0) break
  }
  for (depth = 0; end < text.length; end++) {
    if (text[end] === '(') depth++
    else if (text[end] === ')' && depth-- === 0) break
  }
  const parts = withoutSubqueries(text.slice(start, index))
    .concat('\0', withoutSubqueries(text.slice(index, end)))
    .split(/\bunion(?: all)?\b/)
  return (parts.find((part) => part.includes('\0')) ?? '').replace('\0', '')
}

function withoutSubqueries(text: string): string {
  let rest = text
  for (let before = ''; before !== rest; ) {
    before = rest
    // Innermost parentheses first. Those without a query in them are kept, in other brackets while others are removed.
    rest = rest.replaceAll(/\(([^()]*)\)/g, (_, inside: string) =>
      /\b(select|insert|update|delete)\b/.test(inside) ? ' ' : `⟨${inside}⟩`,
    )
  }
  return rest.replaceAll('⟨', '(').replaceAll('⟩', ')')
}

const checked = new Map<string, string[]>()
const faults = new Set<string>()
let growing: ReadonlySet<string> | undefined

/** Checks every statement that the service sends in this process, and fails its test file at the end. */
export async function watchStatements(database: Database): Promise<void> {
  if (growing) return
  growing = await placedTables(database)
  STATEMENT_SENT.subscribe(check)
  after(() => {
    if (faults.size > 0) throw new Error([...faults].join('\n'))
  })
}

function check(message: unknown): void {
  const { text } = message as Statement
  const found = checked.get(text) ?? placeFaults(text, growing ?? new Set())
  checked.set(text, found)
  if (found.length === 0) return
  const sender = senderOf(new Error().stack ?? '')
  if (sender.startsWith('src/') && !sender.includes('.test.ts')) faults.add(`${sender}: ${found.join('; ')}: ${text}`)
}

/** The first caller outside of src/database: tests send statements of their own, which may be about all places. */
function senderOf(stack: string): string {
  const files = [...stack.matchAll(/file:\/\/(\S+?\.ts:\d+)/g)].map(([, file = '']) => relative(ROOT, file))
  return files.find((file) => !/^(src\/database|test\/support\/place-rule)/.test(file)) ?? ''
}

const ROOT = new URL('../..', import.meta.url).pathname
