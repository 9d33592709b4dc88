import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Static } from 'typebox'
import { type Database, MAX_SNAPSHOTS, type Queries } from '../../database/database.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type MerchantId, parseId, type SettlementId } from '../../kernel/ids.ts'
import { Problem, refuse } from '../../kernel/problem.ts'
import type { Scope } from '../../kernel/scope.ts'
import { zoneOf } from '../../merchants/merchant-store.ts'
import { countPayments, countRefunds } from '../../payments/store/list-counts.ts'
import { type ListedPayment, type PaymentCriteria, searchPayments } from '../../payments/store/payment-search.ts'
import { listRefunds, type RefundOfPayment } from '../../payments/store/refunds.ts'
import { listLines } from '../../payments/store/settlement-lines.ts'
import { type ListedSettlement, listSettlements, type SettlementFilter } from '../../payments/store/settlements.ts'
import { FIRST_PAGE, listTransfers, type Transfer, type TransferCursor } from '../../payments/store/transfers.ts'
import { countDeliveries, type ListedDelivery, listDeliveries } from '../../webhooks/delivery-list-store.ts'
import { BYTE_ORDER_MARK, type Cell, csvLine } from '../contract/csv.ts'
import {
  criteriaOf,
  csvAnswer,
  DeliveriesExportQuery,
  PaymentsExportQuery,
  RefundsExportQuery,
  SettlementLinesExportQuery,
  SettlementsExportQuery,
  TransfersExportQuery,
} from '../contract/export.ts'
import { EXPORTED } from '../contract/exported-columns.ts'
import { problems } from '../contract/problem.ts'
import type { SettlementFilters } from '../contract/settlement.ts'
import type { App } from '../server/framework.ts'

interface Deps {
  database: Database
  clock: Clock
  log: Logger
  exportSlots: ExportSlots
}

/** Rows that one statement reads, and that are in memory at a time. */
const PAGE_SIZE = 100
/** Deliveries that wait for a retry have no order to page by, so they are read at once. */
const MAX_RETRYING = 5_000
/** Above it the total is not worth the time of counting. */
const MAX_COUNTED = 100_000
/** An open snapshot keeps PostgreSQL from removing old rows. */
const MAX_EXPORT_MS = 10 * 60_000
const RETRY_SECONDS = 10
/** A client that takes no byte for this long loses its export. */
const MAX_UNREAD_MS = 30_000
/** What a client takes at a time: small, so that a slow one is seen to read. */
const PART_BYTES = 64 * 1024
const MAX_WAIT_MS = 300_000

/**
 * Limits the exports that one process makes at a time: two, and one of each merchant. After one that did not end, its
 * merchant waits as long as it held the slot, so that two merchants cannot use up all slots again and again.
 */
export class ExportSlots {
  readonly #running = new Set<MerchantId>()
  readonly #waitsUntilMs = new Map<MerchantId, number>()
  readonly maxUnreadMs: number

  constructor(maxUnreadMs = MAX_UNREAD_MS) {
    this.maxUnreadMs = maxUnreadMs
  }

  /** Returns the function that gives the slot back. */
  take(merchantId: MerchantId): (hasEnded: boolean) => void {
    const waitSeconds = Math.ceil(((this.#waitsUntilMs.get(merchantId) ?? 0) - performance.now()) / 1_000)
    if (waitSeconds > 0) throw rateLimited('The last export of this merchant did not end.', waitSeconds)
    this.#waitsUntilMs.delete(merchantId)
    if (this.#running.has(merchantId)) throw rateLimited('Another export of this merchant is running.')
    if (this.#running.size >= MAX_SNAPSHOTS) throw rateLimited('Too many exports are running.')
    this.#running.add(merchantId)
    const startedMs = performance.now()
    return (hasEnded) => {
      this.#running.delete(merchantId)
      const nowMs = performance.now()
      if (!hasEnded) this.#waitsUntilMs.set(merchantId, nowMs + Math.min(nowMs - startedMs, MAX_WAIT_MS))
    }
  }
}

function rateLimited(why: string, retryAfterSeconds = RETRY_SECONDS): Problem {
  return new Problem('rate_limited', `${why} Try again in ${retryAfterSeconds} s.`, { retryAfterSeconds })
}

interface Export<Row> {
  list: keyof typeof EXPORTED
  columns: Record<string, (row: Row) => Cell>
  query: { columns?: string; bom?: 'true' }
  pages: (db: Queries, scope: Scope) => AsyncGenerator<Row[]>
  /** Absent: it cannot be counted quickly. */
  count?: (db: Queries, scope: Scope) => Promise<number | undefined>
}

/** The lists as CSV, each from one snapshot of the database. The dashboard has the same routes. */
export function exportRoutes(app: App, deps: Deps): void {
  app.get('/exports/payments', options('payments', PaymentsExportQuery), (request, reply) => {
    const { query } = request
    const criteria = criteriaOf(query)
    return sendExport(deps, request, reply, {
      ...{ list: 'payments', columns: EXPORTED.payments, query },
      pages: (db, scope) => paymentPages(db, scope, criteria),
      count: (db, scope) => countPayments(db, scope, criteria, MAX_COUNTED),
    })
  })

  app.get('/exports/refunds', options('refunds', RefundsExportQuery), (request, reply) => {
    const { query } = request
    const { status } = query
    return sendExport(deps, request, reply, {
      ...{ list: 'refunds', columns: EXPORTED.refunds, query },
      pages: (db, scope) =>
        pagesOf<RefundOfPayment>((before, limit) => listRefunds(db, scope, { status, before, limit })),
      count: (db, scope) => countRefunds(db, scope, status, MAX_COUNTED),
    })
  })

  app.get('/exports/transfers', options('transfers', TransfersExportQuery), (request, reply) => {
    const { query } = request
    return sendExport(deps, request, reply, {
      ...{ list: 'transfers', columns: EXPORTED.transfers, query },
      pages: transferPages,
    })
  })

  app.get('/exports/deliveries', options('deliveries', DeliveriesExportQuery), (request, reply) => {
    const { query } = request
    const filter = query.state
    return sendExport(deps, request, reply, {
      ...{ list: 'deliveries', columns: EXPORTED.deliveries, query },
      pages: (db, scope) =>
        filter === 'retrying'
          ? onePage(listDeliveries(db, scope, { filter, before: undefined, limit: MAX_RETRYING }))
          : pagesOf<ListedDelivery>((before, limit) => listDeliveries(db, scope, { filter, before, limit })),
      count: (db, scope) => countDeliveries(db, scope, filter, MAX_COUNTED),
    })
  })

  settlementExports(app, deps)
}

/** Settlements and their lines: amounts as integers and as decimals, days in the merchant's zone. */
function settlementExports(app: App, deps: Deps): void {
  app.get('/exports/settlements', options('settlements', SettlementsExportQuery), async (request, reply) => {
    const { query } = request
    const zone = await zoneOf(deps.database, request.caller.merchantId)
    return sendExport(deps, request, reply, {
      ...{ list: 'settlements', columns: EXPORTED.settlements, query },
      pages: (db, scope) => settlementPages(db, scope, filterOf(query), zone),
    })
  })

  app.get(
    '/exports/settlement-lines',
    options('settlement-lines', SettlementLinesExportQuery),
    async (request, reply) => {
      const { query } = request
      const zone = await zoneOf(deps.database, request.caller.merchantId)
      const id = query.settlement === undefined ? undefined : parseId('settlement', query.settlement)
      if (query.settlement !== undefined && !id)
        refuse([{ pointer: '/settlement', code: 'invalid_value', message: 'settlement must be an `stl_` id.' }])
      return sendExport(deps, request, reply, {
        ...{ list: 'settlement-lines', columns: EXPORTED['settlement-lines'], query },
        pages: (db, scope) => linePages(db, scope, { ...filterOf(query), id }, zone),
      })
    },
  )
}

type Filters = Pick<SettlementFilter, 'status' | 'provider' | 'currency' | 'from' | 'to' | 'withoutCredit' | 'id'>

function filterOf({ status, provider, currency, from, to }: Static<typeof SettlementFilters>): Filters {
  return {
    ...{ status, provider, currency, id: undefined, withoutCredit: false },
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  }
}

async function* settlementPages(db: Queries, scope: Scope, filters: Filters, zone: string) {
  const read = (before: SettlementId | undefined, limit: number) =>
    listSettlements(db, scope, { ...filters, before, limit })
  for await (const page of pagesOf<ListedSettlement>(read)) yield page.map((each) => ({ ...each, zone }))
}

async function* linePages(db: Queries, scope: Scope, filters: Filters, zone: string) {
  for await (const settlements of settlementPages(db, scope, filters, zone))
    for (const of of settlements)
      for (let after = 0, isFull = true; isFull; ) {
        const lines = await listLines(db, scope, of.id, { foreign: false, after, limit: PAGE_SIZE })
        yield lines.map((line) => ({ ...line, of }))
        after = lines.at(-1)?.id ?? after
        isFull = lines.length === PAGE_SIZE
      }
}

function options<Query>(list: keyof typeof EXPORTED, querystring: Query) {
  const example = `${Object.keys(EXPORTED[list]).join(',')}\r\n`
  return {
    exposeHeadRoute: false, // HEAD would read all rows
    schema: {
      operationId: `export${list
        .split('-')
        .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
        .join('')}`,
      summary: `Export ${list.replace('-', ' ')}`,
      description: ABOUT[list],
      tags: ['Exports'],
      querystring,
      response: { 200: csvAnswer(example), ...problems('invalid_request', 'unknown_field') },
    },
  }
}

const NEWEST_FIRST = 'CSV, newest first, all rows as they were at one moment.'
const ABOUT = {
  payments: NEWEST_FIRST,
  refunds: NEWEST_FIRST,
  transfers: `Money that does not add up: unmatched, under-, over- and late paid, surplus. ${NEWEST_FIRST}`,
  deliveries: `Webhook deliveries without bodies and secrets. ${NEWEST_FIRST}`,
  settlements: `What the providers pay out. Columns in -Decimal are in naira, not kobo; paidOn is a local day. ${NEWEST_FIRST}`,
  'settlement-lines':
    'The lines of settlements, of the newest settlement first. CSV, all rows as they were at one moment.',
}

async function sendExport<Row>(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  wanted: Export<Row>,
): Promise<FastifyReply> {
  const { database, clock, log, exportSlots } = deps
  const columns = chosenColumns(wanted)
  const { place, merchantId, mode } = request.caller
  const scope = { place, merchantId, mode }
  const release = exportSlots.take(merchantId)
  const [total, snapshot] = await countRows(deps, scope, wanted)
    .then(async (rows) => [rows, await database.openSnapshot()] as const)
    .catch((error) => {
      release(true)
      throw error
    })
  let ended: Promise<void> | undefined
  const end = (hasEnded: boolean) => (ended ??= snapshot.close().then(() => release(hasEnded)))
  const stop = (why: string) => stream.destroy(new Error(why))
  const lines = csvLines(columns, wanted.pages(snapshot, scope), {
    start: wanted.query.bom ? BYTE_ORDER_MARK : '',
    isOver: () => stream.destroyed,
    end,
  })
  const taken = inParts(lines, exportSlots.maxUnreadMs, () => stop('the client of the export stopped reading'))
  const stream: Readable = Readable.from(taken, { objectMode: false })
  const timeout = setTimeout(() => stop('the export took too long'), MAX_EXPORT_MS)
  stream.once('error', (err) => log.warn({ requestId: request.id, err }, 'an export failed'))
  stream.once('close', () => {
    clearTimeout(timeout)
    void end(false) // a stream that was never read has not done it
  })
  const isGone = reply.raw.destroyed
  reply.raw.once('close', () => stream.destroy())
  if (isGone) {
    stream.destroy()
    return reply.hijack()
  }
  const day = clock.now().toISOString().slice(0, 10)
  return reply
    .headers({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': `attachment; filename="${wanted.list}-${mode}-${day}.csv"`,
      ...(total !== undefined && { 'export-rows': `${total}${total === MAX_COUNTED ? '+' : ''}` }),
    })
    .send(stream)
}

function chosenColumns<Row>({ columns, query }: Export<Row>): [name: string, show: (row: Row) => Cell][] {
  const names = query.columns?.split(',') ?? Object.keys(columns)
  return names.map((name) => {
    const show = Object.hasOwn(columns, name) ? columns[name] : undefined
    if (show) return [name, show]
    const message = `columns must be some of ${Object.keys(columns).join(', ')}; ${name} is not.`
    return refuse([{ pointer: '/columns', code: 'invalid_value', message }])
  })
}

/** For a progress bar: an export starts without it if counting takes too long. */
async function countRows<Row>(
  { database, log }: Deps,
  scope: Scope,
  { count }: Export<Row>,
): Promise<number | undefined> {
  if (!count) return undefined
  const snapshot = await database.openSnapshot()
  const total = await count(snapshot, scope).catch((err) => log.warn({ err }, 'counting the rows of an export failed'))
  await snapshot.close()
  return total ?? undefined
}

/**
 * The header comes with the first rows, so that an error in reading them is still answered as one. `end` is called
 * before the last byte is sent: the client may ask for the next export then.
 */
async function* csvLines<Row>(
  columns: [name: string, show: (row: Row) => Cell][],
  pages: AsyncGenerator<Row[]>,
  { start, end, isOver }: { start: string; end: (hasEnded: boolean) => Promise<void>; isOver: () => boolean },
): AsyncGenerator<string> {
  let before = start + csvLine(columns.map(([name]) => name))
  let hasEnded = false
  try {
    for await (const rows of pages) {
      const text = before + rows.map((row) => csvLine(columns.map(([, show]) => show(row)))).join('')
      before = ''
      if (text) yield text
      else if (isOver()) return // rows that match nothing are read without a yield, where a stream could stop it
    }
    hasEnded = true
  } finally {
    await end(hasEnded)
  }
}

/**
 * Calls `stop` when a part is not taken in time. The idle timer of a socket would not do: bytes that the client sends
 * start it again.
 */
async function* inParts(texts: AsyncGenerator<string>, maxUnreadMs: number, stop: () => void): AsyncGenerator<Buffer> {
  for await (const text of texts) {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += PART_BYTES) {
      const timer = setTimeout(stop, maxUnreadMs)
      try {
        yield bytes.subarray(at, at + PART_BYTES)
      } finally {
        clearTimeout(timer)
      }
    }
  }
}

async function* paymentPages(db: Queries, scope: Scope, criteria: PaymentCriteria): AsyncGenerator<ListedPayment[]> {
  let before: Parameters<typeof searchPayments>[3]['before']
  do {
    const { payments, nextBefore } = await searchPayments(db, scope, criteria, { before, limit: PAGE_SIZE })
    yield payments
    before = nextBefore ?? undefined
  } while (before)
}

async function* pagesOf<Row extends { id: unknown }>(
  read: (before: Row['id'] | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  let rows: Row[] = []
  do {
    rows = await read(rows.at(-1)?.id, PAGE_SIZE)
    yield rows
  } while (rows.length === PAGE_SIZE)
}

async function* transferPages(db: Queries, scope: Scope): AsyncGenerator<Transfer[]> {
  let cursor: TransferCursor | null = FIRST_PAGE
  while (cursor) {
    const page: Awaited<ReturnType<typeof listTransfers>> = await listTransfers(db, scope, cursor, PAGE_SIZE)
    yield page.transfers
    cursor = page.next
  }
}

async function* onePage<Row>(rows: Promise<Row[]>): AsyncGenerator<Row[]> {
  yield await rows
}
