import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { breaksConnection, isAborted, isAway, isTransactionConflict } from './failure.ts'
import { notifier } from './notifier.ts'
import {
  clientOf,
  discard,
  openPool,
  type Session,
  type SessionOptions,
  sessionConfig,
  unavailable,
  withClient,
} from './pool.ts'
import { followReplica, type Reads } from './replica.ts'
import { type Statement, sql } from './sql.ts'

export interface Queries {
  rows<Row>(statement: Statement): Promise<Row[]>
  /** The first row, or undefined. */
  row<Row>(statement: Statement): Promise<Row | undefined>
  /** Sends a PostgreSQL notification; in a transaction, after its commit. See notifier.ts. */
  notify(channel: string, payload?: string): void
}

/** What a transaction writes at its end. */
export interface Writes {
  /**
   * Adds a statement to the last round trip of the transaction: they are all sent together with the commit, in this
   * order. So no answer can be looked at: what cannot be written must violate a constraint, and not just change 0 rows.
   */
  write(statement: Statement): void
  notify(channel: string, payload?: string): void
  /** Runs after the commit. Not if the transaction is rolled back. */
  afterCommit(run: () => void): void
}

export interface Transaction extends Queries, Writes {
  readonly inTransaction: true
  /**
   * Sends the commit together with the last statement, so that its locks do not wait until this process has read the
   * result. What fails after the statement was sent no longer rolls back.
   */
  readonly last: Queries
}

/** A read-only transaction in which every statement sees the same data. */
export interface Snapshot extends Queries {
  /** Gives the connection back. Never throws. */
  close(): Promise<void>
}

export interface Database extends Queries {
  transaction<Result>(work: (tx: Transaction) => Result | Promise<Result>): Promise<Result>
  /** For lists and charts: what they read may be some seconds old. See replica.ts. */
  reads: Queries
  /** For exports. There are connections for two at a time, so that the pool of the payments never waits for one. */
  openSnapshot(): Promise<Snapshot>
  /** Resolves when PostgreSQL answers. Throws `unavailable` after one second. */
  ping(): Promise<void>
  /** Calls the handler for each notification that this process sends. Other processes LISTEN. */
  onNotify(handler: (channel: string, payload: string) => void): void
  /** Whether a notification with this process id came from this process, whose handlers have had it. */
  isOwnBackend(processId: number): boolean
  connections(): { total: number; idle: number; waiting: number }
  close(): Promise<void>
}

export interface DatabaseOptions extends SessionOptions {
  /** A streaming replica, for lists, charts and exports. */
  readUrl?: string | undefined
  connections?: number
  /** Further connections that only `reservedOf` uses. */
  reservedConnections?: number
  /** Called when PostgreSQL closed an idle connection. For logging only. */
  onIdleError?: (error: Error) => void
}

const MAX_CONFLICT_RETRIES = 3
export const MAX_SNAPSHOTS = 2
// A burst after a quiet minute would otherwise first wait for new connections, which cost both sides 10 ms of CPU each.
const IDLE_MS = 600_000
const SNAPSHOT_IDLE_MS = 10_000
const SNAPSHOT_WAIT_MS = 30_000

/** Each statement, right before it is sent. For tests: without a subscriber it costs nothing. */
export const STATEMENT_SENT = channel('manilla:statement-sent')

const ignore = () => {}

const reserved = new WeakMap<Database, Database>()

/**
 * The same database with the connections that are reserved for settling and notices, so that no other work delays them.
 */
export function reservedOf(database: Database): Database {
  return reserved.get(database) ?? database
}

export function connect(options: DatabaseOptions): Database {
  const { readUrl, connections = 10, reservedConnections = 0, onIdleError } = options
  const open = (url: string, max: number, idleMs = IDLE_MS) =>
    openPool(sessionConfig({ ...options, url }), { max, idleMs }, onIdleError)
  const pool = open(options.url, connections)
  const reservedPool = open(options.url, reservedConnections)
  const snapshots = open(options.url, MAX_SNAPSHOTS, SNAPSHOT_IDLE_MS)
  // The pools open no connection before the first query.
  const readPool = open(readUrl ?? options.url, connections)
  const readSnapshots = open(readUrl ?? options.url, MAX_SNAPSHOTS, SNAPSHOT_IDLE_MS)
  const backends = new Map<pg.PoolClient, number>()
  // The process ids that a pooler tells its clients are not those of PostgreSQL.
  if (!options.isPooled) {
    pool.on('connect', (client) => {
      backends.set(client, (client as pg.PoolClient & { processID: number }).processID) // not in the types
    })
    pool.on('remove', (client) => backends.delete(client))
  }

  const primary = readsFrom(() => pool)
  const replica = readUrl
    ? followReplica(
        primary,
        readsFrom(() => readPool),
      )
    : undefined
  const notifications = notifier((channels, payloads) =>
    primary.rows(
      sql`select pg_notify(channel, payload) from unnest(${channels}::text[], ${payloads}::text[]) as n (channel, payload)`,
    ),
  )

  async function transactionOn<Result>(choose: () => pg.Pool, work: (tx: Transaction) => Result | Promise<Result>) {
    for (let lost = 0; ; lost++) {
      try {
        const { result, notified, afterCommit } = await withClient(choose(), (client) => runTransaction(client, work))
        for (const [channel, payload] of notified) notifications.notify(channel, payload)
        for (const run of afterCommit) run()
        return result
      } catch (error) {
        if (!isTransactionConflict(error)) throw error
        if (lost === MAX_CONFLICT_RETRIES) throw unavailable(error)
        await pauseAfterConflict(lost)
      }
    }
  }

  const database: Database = {
    ...primary,
    notify: notifications.notify,
    onNotify: notifications.onNotify,
    isOwnBackend: (processId) => [...backends.values()].includes(processId),
    transaction: (work) => transactionOn(() => pool, work),
    reads: { ...(replica?.reads ?? primary), notify: notifications.notify },
    openSnapshot: async () => openSnapshot(await clientOf(replica?.isFresh() ? readSnapshots : snapshots)),

    async ping() {
      let timer: NodeJS.Timeout | undefined
      const tooSlow = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(unavailable(new Error('PostgreSQL did not answer within a second'))), 1_000)
      })
      const asked = withClient(pool, async (client) => {
        const { rows } = await client.send('show transaction_read_only')
        if (rows[0].transaction_read_only === 'on') throw unavailable(new Error('PostgreSQL is read-only'))
      })
      asked.catch(() => {}) // it may fail after the timeout
      await Promise.race([asked, tooSlow]).finally(() => clearTimeout(timer))
    },

    connections: () => ({
      total: pool.totalCount + reservedPool.totalCount,
      idle: pool.idleCount + reservedPool.idleCount,
      waiting: pool.waitingCount + reservedPool.waitingCount,
    }),
    async close() {
      replica?.stop()
      await notifications.stop()
      await Promise.all([pool, reservedPool, snapshots, readPool, readSnapshots].map((each) => each.end()))
    },
  }
  if (reservedConnections > 0) {
    // An idle connection of the others first, so that settling is not limited to the reserved ones.
    const choose = () => (pool.idleCount > pool.waitingCount ? pool : reservedPool)
    reserved.set(database, {
      ...database,
      ...readsFrom(choose),
      transaction: (work) => transactionOn(choose, work),
    })
  }
  return database
}

/** For a start: a new connection to a busy server may take longer than the second that a request waits for one. */
export async function waitForConnection(database: Database, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      return await database.ping()
    } catch (error) {
      if (performance.now() > deadline) throw error
      await sleep(100)
    }
  }
}

function readsFrom(choose: () => pg.Pool): Reads {
  const rows = <Row>(statement: Statement) => {
    STATEMENT_SENT.publish(statement)
    return withClient(choose(), async (client) => (await client.send(statement)).rows as Row[])
  }
  return { rows, row: async <Row>(statement: Statement) => (await rows<Row>(statement))[0] }
}

async function openSnapshot(client: Session): Promise<Snapshot> {
  let broken: Error | undefined
  let before: Promise<unknown> = Promise.resolve()
  const query = async (statement: Statement | string) => {
    const run = before.then(() => client.send(statement)) // in turn: all of them are sent on one connection
    before = run.then(ignore, ignore) // not the rows: they would stay in memory until the next statement
    try {
      return (await run).rows
    } catch (error) {
      if (breaksConnection(error)) broken = error as Error
      throw isAway(error) ? unavailable(error) : error
    }
  }
  const rows = <Row>(statement: Statement) => {
    STATEMENT_SENT.publish(statement)
    return query(statement) as Promise<Row[]>
  }
  const close = async () => {
    if (!broken) await query('rollback').catch((error: Error) => (broken ??= error))
    if (broken) discard(client, broken)
    else client.release()
  }
  try {
    // A snapshot waits for a client that reads slowly, but not for ever: it keeps PostgreSQL from removing old rows.
    await query(
      `begin isolation level repeatable read read only; set local idle_in_transaction_session_timeout = ${SNAPSHOT_WAIT_MS}`,
    )
  } catch (error) {
    await close()
    throw error
  }
  return {
    rows,
    row: async <Row>(statement: Statement) => (await rows<Row>(statement))[0],
    notify: () => {
      throw new Error('a snapshot is read-only')
    },
    close,
  }
}

type Notification = [channel: string, payload: string]

/**
 * The `begin` travels with the first statements, and the writes with the commit, so the shortest transaction takes two
 * round trips.
 */
async function runTransaction<Result>(
  client: Session,
  work: (tx: Transaction) => Result | Promise<Result>,
): Promise<{ result: Result; notified: Notification[]; afterCommit: (() => void)[] }> {
  const notified: Notification[] = []
  const afterCommit: (() => void)[] = []
  const writes: Statement[] = []
  let committed: Promise<pg.QueryResult> | undefined
  /**
   * The connection is about to serve others: what is still asked for would be part of their transactions, or of none.
   */
  let isOver = false
  /** The cause of all others: after an error, PostgreSQL answers 25P02 to each statement that was sent with it. */
  let firstError: unknown
  const rows = async <Row>(statement: Statement) => {
    if (committed) throw new Error('the commit has been sent')
    if (isOver) throw new Error('the transaction is over')
    STATEMENT_SENT.publish(statement)
    const answer = client.send(statement)
    answer.catch((error) => (firstError ??= error))
    await begun // answered before
    return (await answer).rows as Row[]
  }
  const lastRows = async <Row>(statement: Statement) => {
    if (committed) throw new Error('the commit has been sent')
    const answer = rows<Row>(statement)
    committed = client.send('commit') // when the statement fails, PostgreSQL rolls back instead
    committed.catch(ignore) // it is awaited after the statement
    return answer
  }
  const notify = (channel: string, payload = '') => void notified.push([channel, payload])
  const last = { rows: lastRows, row: async <Row>(statement: Statement) => (await lastRows<Row>(statement))[0], notify }
  const row = async <Row>(statement: Statement) => (await rows<Row>(statement))[0]
  const write = (statement: Statement) => void writes.push(statement)
  const begun = client.send('begin')
  begun.catch(ignore) // it is awaited with the first statement
  let result: Result
  try {
    result = await work({
      ...{ inTransaction: true, rows, row, write, notify, last },
      afterCommit: (run) => void afterCommit.push(run),
    })
    await begun // without it, each write would be committed on its own
    isOver = true
  } catch (error) {
    isOver = true
    const cause = isAborted(error) ? firstError : error
    if (!breaksConnection(cause)) await (committed ?? client.send('rollback'))
    throw cause
  }
  // When the commit fails, the work may be on disk all the same. The caller gets `unavailable`, and unique constraints
  // keep a retry from doing the work twice.
  for (const statement of writes) STATEMENT_SENT.publish(statement)
  await succeeded([...writes.map((statement) => client.send(statement)), committed ?? client.send('commit')])
  return { result, notified, afterCommit }
}

/**
 * Awaits all answers and throws the first error. After it, PostgreSQL answers `ROLLBACK` to the commit, which is no
 * error.
 */
async function succeeded(sent: Promise<pg.QueryResult>[]): Promise<void> {
  const answers = await Promise.allSettled(sent)
  const failed = answers.find((answer) => answer.status === 'rejected')
  if (failed) throw failed.reason
  const commit = answers.at(-1) as PromiseFulfilledResult<pg.QueryResult>
  if (commit.value.command !== 'COMMIT')
    throw new Error('PostgreSQL rolled the transaction back: a statement had failed, and its error was not thrown')
}

/** Exponential backoff with jitter, so that two conflicting transactions do not meet again. */
export function pauseAfterConflict(lost: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** lost))
}
