import type { Writable } from 'node:stream'
import pg from 'pg'
import { Problem } from '../kernel/problem.ts'
import { databaseWaitFailures, databaseWaitSeconds } from '../metrics/instruments.ts'
import { breaksConnection, isAway } from './failure.ts'
import type { Statement } from './sql.ts'

/** Limits of every session, in milliseconds. */
export const SESSION_LIMITS = {
  statement_timeout: 5_000,
  lock_timeout: 2_000,
  idle_in_transaction_session_timeout: 10_000,
}

export interface SessionOptions {
  url: string
  /**
   * The URL leads to a pooler in transaction mode, which shares sessions: their settings are those of the role. See
   * check-sessions.ts.
   */
  isPooled?: boolean
  poolWaitMs?: number
  statementTimeoutMs?: number
  lockTimeoutMs?: number
}

// bigint columns hold minor units and counters. The schema keeps them below 2^53, so that numbers are exact.
const types = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** How the service connects for everything but LISTEN and migrations. */
export function sessionConfig(options: SessionOptions): pg.ClientConfig {
  const statementTimeoutMs = options.statementTimeoutMs ?? SESSION_LIMITS.statement_timeout
  return {
    connectionString: options.url,
    // pg has no timeouts by default.
    connectionTimeoutMillis: options.poolWaitMs ?? 1_000,
    // A frozen server does not apply its own statement timeout, so the client has a slightly later one.
    query_timeout: statementTimeoutMs + 500,
    keepAlive: true,
    application_name: 'manilla',
    types,
    // Startup parameters: PgBouncer 1.18 refuses them, and 1.24 drops them silently.
    ...(!options.isPooled && {
      ...SESSION_LIMITS,
      statement_timeout: statementTimeoutMs,
      lock_timeout: options.lockTimeoutMs ?? SESSION_LIMITS.lock_timeout,
      // Overrides settings of the role or database: a 2xx response means that the data is on disk.
      options: '-c synchronous_commit=on',
    }),
  }
}

/** A connection of a pool. */
export type Session = pg.PoolClient & Pick<StatementClient, 'send'>

/**
 * `send` does what `query` does with a promise and a `query_timeout`. But `query` keeps each result in memory until the
 * next full garbage collection: it assigns a new function to a property (`query.callback = (…) => …`), which V8
 * allocates among the long-lived objects.
 */
class StatementClient extends pg.Client {
  readonly #timeoutMs: number
  #isGathering = false

  constructor({ query_timeout = 0, ...config }: pg.ClientConfig = {}) {
    // A statement is sent at once, not when the one before it is answered. See `Transaction.last`.
    super({ ...config, pipeline: true })
    this.#timeoutMs = query_timeout
  }

  /** After a timeout the connection must be closed, see `breaksConnection`. */
  async send(statement: Statement | string): Promise<pg.QueryResult> {
    try {
      return await new Promise((resolve, reject) => {
        const timeOut = () => reject(new Error('query read timeout'))
        const timer = this.#timeoutMs > 0 ? setTimeout(timeOut, this.#timeoutMs) : undefined
        const onEnd = (error: Error | null | undefined, result: pg.QueryResult) => {
          clearTimeout(timer)
          if (error) reject(error)
          else resolve(result)
        }
        // Not an object with all of it, which is copied property by property.
        const { text, values, name } = typeof statement === 'string' ? { text: statement } : statement
        this.#gather()
        this.query(Object.assign(new pg.Query(text, values, onEnd), { name }))
      })
    } catch (error) {
      if (error instanceof Error) Error.captureStackTrace(error) // it led to the socket, and now leads to the caller
      throw error
    }
  }

  /** Sends the statements of one turn of the event loop together: each packet costs a system call here and there. */
  #gather(): void {
    if (this.#isGathering) return
    this.#isGathering = true
    const { stream } = (this as unknown as { connection: { stream: Writable } }).connection
    stream.cork()
    process.nextTick(() => {
      this.#isGathering = false
      stream.uncork()
    })
  }
}

export function openPool(
  config: pg.ClientConfig,
  { max, idleMs }: { max: number; idleMs: number },
  onIdleError?: (error: Error) => void,
): pg.Pool {
  const pool = new pg.Pool({ ...config, Client: StatementClient, max, idleTimeoutMillis: idleMs })
  // Without error listeners on the pool and on each client, a killed backend would end our process.
  pool.on('error', (error) => onIdleError?.(error))
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export async function clientOf(pool: pg.Pool): Promise<Session> {
  const start = performance.now()
  try {
    const client = await pool.connect()
    databaseWaitSeconds.observe((performance.now() - start) / 1_000)
    return client as Session
  } catch (error) {
    databaseWaitFailures.inc()
    throw unavailable(error)
  }
}

export async function withClient<Result>(pool: pg.Pool, work: (client: Session) => Promise<Result>): Promise<Result> {
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

/** Closes the socket at once. `release(error)` alone waits for the server, and a frozen one never answers. */
export function discard(client: pg.PoolClient, error: Error): void {
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
