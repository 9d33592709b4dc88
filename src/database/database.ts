import { channel } from 'node:diagnostics_channel'
import pg from 'pg'
import { Problem } from '../kernel/problem.ts'
import { breaksConnection, isAway, isTransactionConflict } from './failure.ts'
import { notifier } from './notifier.ts'
import { type Statement, sql } from './sql.ts'

export interface Queries {
  rows<Row>(statement: Statement): Promise<Row[]>
  /** The first row, or undefined. */
  row<Row>(statement: Statement): Promise<Row | undefined>
  /** Sends a PostgreSQL notification; in a transaction, after its commit. See notifier.ts. */
  notify(channel: string, payload?: string): void
}

export interface Transaction extends Queries {
  readonly inTransaction: true
}

/** A read-only transaction in which every statement sees the same data. */
export interface Snapshot extends Queries {
  /** Gives the connection back. Never throws. */
  close(): Promise<void>
}

export interface Database extends Queries {
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>
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

export interface DatabaseOptions {
  url: string
  connections?: number
  poolWaitMs?: number
  statementTimeoutMs?: number
  /** Called when PostgreSQL closed an idle connection. For logging only. */
  onIdleError?: (error: Error) => void
}

const MAX_CONFLICT_RETRIES = 3
export const MAX_SNAPSHOTS = 2

/** Each statement, right before it is sent. For tests: without a subscriber it costs nothing. */
export const STATEMENT_SENT = channel('manilla:statement-sent')

// bigint columns hold minor units and counters. The schema keeps them below 2^53, so that numbers are exact.
const types = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export function connect(options: DatabaseOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? 5_000
  const settings: pg.PoolConfig = {
    connectionString: options.url,
    // pg has no timeouts by default.
    connectionTimeoutMillis: options.poolWaitMs ?? 1_000,
    // A burst after a quiet minute would otherwise first wait for new connections, which cost both sides 10 ms of CPU each.
    idleTimeoutMillis: 600_000,
    statement_timeout: statementTimeoutMs,
    lock_timeout: 2_000,
    idle_in_transaction_session_timeout: 10_000,
    // A frozen server does not apply its own statement timeout, so the client has a slightly later one.
    query_timeout: statementTimeoutMs + 500,
    keepAlive: true,
    application_name: 'manilla',
    // Overrides settings of the role or database: a 2xx response means that the data is on disk.
    options: '-c synchronous_commit=on',
    types,
  }
  const pool = new pg.Pool({ ...settings, max: options.connections ?? 10 })
  // A snapshot waits for a client that reads slowly, but not for ever: it keeps PostgreSQL from removing old rows.
  const snapshots = new pg.Pool({
    ...settings,
    max: MAX_SNAPSHOTS,
    idleTimeoutMillis: 10_000,
    idle_in_transaction_session_timeout: 30_000,
  })
  // Without error listeners on the pool and on each client, a killed backend would end our process.
  for (const each of [pool, snapshots]) {
    each.on('error', (error) => options.onIdleError?.(error))
    each.on('connect', (client) => client.on('error', () => {}))
  }
  const backends = new Map<pg.PoolClient, number>()
  pool.on('connect', (client) => {
    backends.set(client, (client as pg.PoolClient & { processID: number }).processID) // not in the types
  })
  pool.on('remove', (client) => backends.delete(client))

  async function withClient<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await clientOf(pool)
    try {
      const result = await work(client)
      client.release()
      return result
    } catch (error) {
      if (breaksConnection(error)) discard(client, error as Error)
      else client.release()
      throw isAway(error) ? unavailable(error) : error
    }
  }

  const rows = <Row>(statement: Statement) => {
    STATEMENT_SENT.publish(statement)
    return withClient(async (client) => (await client.query(statement)).rows as Row[])
  }
  const notifications = notifier((channels, payloads) =>
    rows(
      sql`select pg_notify(channel, payload) from unnest(${channels}::text[], ${payloads}::text[]) as n (channel, payload)`,
    ),
  )

  return {
    rows,
    row: async <Row>(statement: Statement) => (await rows<Row>(statement))[0],
    notify: notifications.notify,
    onNotify: notifications.onNotify,
    isOwnBackend: (processId) => [...backends.values()].includes(processId),

    async transaction(work) {
      for (let lost = 0; ; lost++) {
        try {
          const { result, notified } = await withClient((client) => runTransaction(client, work))
          for (const [channel, payload] of notified) notifications.notify(channel, payload)
          return result
        } catch (error) {
          if (!isTransactionConflict(error)) throw error
          if (lost === MAX_CONFLICT_RETRIES) throw unavailable(error)
          await pauseAfterConflict(lost)
        }
      }
    },

    openSnapshot: async () => openSnapshot(await clientOf(snapshots)),

    async ping() {
      let timer: NodeJS.Timeout | undefined
      const tooSlow = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(unavailable(new Error('PostgreSQL did not answer within a second'))), 1_000)
      })
      const asked = withClient(async (client) => {
        const { rows } = await client.query('show transaction_read_only')
        if (rows[0].transaction_read_only === 'on') throw unavailable(new Error('PostgreSQL is read-only'))
      })
      asked.catch(() => {}) // it may fail after the timeout
      await Promise.race([asked, tooSlow]).finally(() => clearTimeout(timer))
    },

    connections: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    async close() {
      await notifications.stop()
      await Promise.all([pool.end(), snapshots.end()])
    },
  }
}

async function clientOf(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw unavailable(error)
  }
}

async function openSnapshot(client: pg.PoolClient): Promise<Snapshot> {
  let broken: Error | undefined
  let before: Promise<unknown> = Promise.resolve()
  const query = async (statement: Statement | string) => {
    const run = before.then(() => client.query(statement)) // in turn: a connection takes one statement at a time
    before = run.catch(() => {})
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
    await query('begin isolation level repeatable read read only')
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

async function runTransaction<Result>(
  client: pg.PoolClient,
  work: (tx: Transaction) => Promise<Result>,
): Promise<{ result: Result; notified: Notification[] }> {
  const notified: Notification[] = []
  const rows = async <Row>(statement: Statement) => {
    STATEMENT_SENT.publish(statement)
    return (await client.query(statement)).rows as Row[]
  }
  const tx: Transaction = {
    inTransaction: true,
    rows,
    row: async <Row>(statement: Statement) => (await rows<Row>(statement))[0],
    notify: (channel, payload = '') => void notified.push([channel, payload]),
  }
  await client.query('begin')
  let result: Result
  try {
    result = await work(tx)
  } catch (error) {
    if (!breaksConnection(error)) await client.query('rollback')
    throw error
  }
  // When the commit fails, the work may be on disk all the same. The caller gets `unavailable`, and unique constraints keep a
  // retry from doing the work twice.
  await client.query('commit')
  return { result, notified }
}

/** Closes the socket at once. `release(error)` alone waits for the server, and a frozen one never answers. */
function discard(client: pg.PoolClient, error: Error): void {
  client.release(error)
  const { connection } = client as unknown as { connection?: { stream?: { destroy(): void } } }
  connection?.stream?.destroy()
}

export function unavailable(cause: unknown): Problem {
  if (cause instanceof Problem) return cause
  return new Problem('unavailable', 'The database cannot be reached right now. Nothing is lost; try again shortly.', {
    retryAfterSeconds: 1,
    cause,
  })
}

/** Exponential backoff with jitter, so that two conflicting transactions do not meet again. */
export function pauseAfterConflict(lost: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * 2 ** lost))
}
