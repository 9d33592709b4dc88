import { get, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { BenchDatabase } from './bench-database.ts'
import type { Errand } from './load.ts'
import type { Duration, Gauge, Measurement } from './measure.ts'
import { callManilla, type Subject, startManilla, startStaticPage, stop } from './subjects.ts'

export interface PagesPlan extends Duration {
  rounds: number
  /** See RoundsPlan. */
  compileMs: number
}

export interface PageRound {
  codings: { coding: string; bytes: number; manilla: Measurement; static: Measurement }[]
}

/** By `accept-encoding`. */
export type StaticPages = Record<string, { headers: Record<string, string>; base64: string }>

export const PAGE_CONNECTIONS = 64
const CODINGS = ['identity', 'gzip']
const PAYMENTS = 200

/** Pages of pending payments, and the same bytes from a static server, in turns. */
export async function runPages(
  database: BenchDatabase,
  gauge: Gauge,
  plan: PagesPlan,
  say: (line: string) => void,
): Promise<PageRound[]> {
  const url = await database.create('pages')
  const manilla = await startManilla(url)
  const paths: string[] = []
  for (let made = 0; made < PAYMENTS; made++) {
    const user = { email: `customer-${made}@example.com`, name: 'Ada' }
    const { data } = await callManilla(manilla, '/payments/v1/checkouts', { amount: 1_250_000, country: 'NG', user })
    paths.push(new URL(data.url).pathname)
  }
  const pages = await readPages(manilla, paths[0] as string)
  const still = await startStaticPage(url, JSON.stringify(pages))
  const look = (coding: string): Errand => ({
    method: 'GET',
    paths,
    headers: { 'accept-encoding': coding },
    body: '',
    status: 200,
  })

  const codings = Object.keys(pages)
  for (const subject of [manilla, still]) {
    for (const coding of codings) {
      const compile = { warmUpMs: plan.compileMs, measureMs: 100 }
      await gauge.measure(subject, PAGE_CONNECTIONS, compile, look(coding))
    }
  }
  const rounds: PageRound[] = []
  for (let number = 0; number < plan.rounds; number++) {
    const round: PageRound = { codings: [] }
    for (const coding of codings) {
      const measure = (subject: Subject) => gauge.measure(subject, PAGE_CONNECTIONS, plan, look(coding))
      const bytes = Buffer.byteLength(pages[coding]?.base64 ?? '', 'base64')
      const first = number % 2 === 0 ? await measure(manilla) : undefined
      const floor = await measure(still)
      round.codings.push({ coding, bytes, manilla: first ?? (await measure(manilla)), static: floor })
    }
    rounds.push(round)
    say(`pages: round ${number + 1} of ${plan.rounds} done`)
  }
  await stop(manilla.child)
  await stop(still.child)
  return rounds
}

/** A page as it is sent, in each content coding of the service. */
async function readPages({ port }: Subject, path: string): Promise<StaticPages> {
  const pages: StaticPages = {}
  for (const coding of CODINGS) {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, headers: { 'accept-encoding': coding } }, resolve).once('error', reject)
    })
    const body = await buffer(answer)
    if (answer.statusCode !== 200) throw new Error(`a page that is not 200: ${body.toString().slice(0, 300)}`)
    if ((answer.headers['content-encoding'] ?? 'identity') !== coding) continue
    const { date: _, connection: __, 'keep-alive': ___, 'content-length': ____, ...headers } = answer.headers
    pages[coding] = { headers: headers as Record<string, string>, base64: body.toString('base64') }
  }
  return pages
}
