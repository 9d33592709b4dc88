import type { Database } from '../../src/database/database.ts'
import { sql } from '../../src/database/sql.ts'

/** A text, and where it was found: a response, a log line, a row. */
export interface Trace {
  where: string
  text: string
}

/** A value that must not be found, and what it is. */
export interface Planted {
  what: string
  value: string
}

/** Every row of every table, and every bytea of it as the text that it may be. */
export async function tracesInDatabase(database: Database): Promise<Trace[]> {
  const tables = await database.rows<{ name: string }>(sql`
    select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`)
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const text = `select to_jsonb(t)::text as row from ${name} as t`
      const found = await database.rows<{ row: string }>({ name: `all of ${name}`, text, values: [] })
      return found.flatMap(({ row }) => [row, ...bytesIn(row)].map((text) => ({ where: `table ${name}`, text })))
    }),
  )
  return rows.flat()
}

/** PostgreSQL writes bytes as \x… */
function bytesIn(row: string): string[] {
  return [...row.matchAll(/\\\\x((?:[0-9a-f]{2})+)/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1'))
}

/** The value as it is and encoded: in a URL, in base64, in hexadecimal. */
function facesOf(value: string): string[] {
  const bytes = Buffer.from(value)
  // Base64 of it inside a longer text has three alignments. The characters that depend on its neighbours are left out.
  const inBase64 = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '')
    return text.slice(before === 0 ? 0 : before + 1, -1)
  })
  return [
    ...new Set([
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      bytes.toString('hex'),
      ...inBase64,
    ]),
  ]
}

/** The findings with their places, without duplicates. */
export function findLeaks(traces: Trace[], planted: Planted[]): string[] {
  const found = new Set<string>()
  for (const { what, value } of planted) {
    const faces = facesOf(value)
    for (const { where, text } of traces) {
      if (faces.some((face) => text.includes(face))) found.add(`${what} in ${where}`)
    }
  }
  return [...found].sort()
}

/** Records all responses to requests whose URL begins so, with headers. Ends with `stop`. */
export function listenIn(beginning: string): { traces: Trace[]; stop(): void } {
  const real = globalThis.fetch
  const traces: Trace[] = []
  globalThis.fetch = async (input, init) => {
    const response = await real(input, init)
    const url = String(input instanceof Request ? input.url : input)
    if (!url.startsWith(beginning)) return response
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`)
    // A redirect to the URL of the request leaks nothing.
    const where = `answer to ${init?.method ?? 'GET'} ${new URL(url).pathname.replace(/[a-z]{3}_\w{10,}/, '…')}`
    traces.push({ where, text: [...headers, await response.clone().text()].join('\n') })
    return response
  }
  return {
    traces,
    stop() {
      globalThis.fetch = real
    },
  }
}
