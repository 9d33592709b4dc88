import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, open, readFile, readlink, realpath, rm, stat, truncate } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { environment, explain, findHome, type Home } from './embedded-home.ts'
import { withStartLock } from './embedded-lock.ts'
import { setUp } from './embedded-setup.ts'
import { isAlive, signal, waitUntilGone } from './os-process.ts'

/**
 * A PostgreSQL server from npm packages, so that `npm start` works without an installed one. It runs as long as our
 * process.
 *
 * - Under root, which PostgreSQL refuses, it runs as OS user `postgres`, from a folder that this user can enter.
 * - A guard process stops it when our process is killed (`kill -9`), so that no server is left behind.
 * - The owning process holds an advisory lock in it, so that a second process knows whether the server is in use.
 */
export interface EmbeddedServer {
  url: string
  stop(): Promise<void>
}

/**
 * `own`: this process runs the server. `join`: use the running server, or run one for the duration of a command.
 * `find`: use the running server, and start none.
 */
export type Purpose = 'own' | 'join' | 'find'

export interface EmbeddedOptions {
  dataDir: string
  purpose: Purpose
  /** The port; absent: any free one. */
  port?: number
  /** How many clients may be connected (100). */
  connections?: number
  /** Called after the server exited unexpectedly and was restarted. */
  onRestart?: () => void
}

const STOP_TIMEOUT_MS = 30_000

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  if (options.purpose === 'find') return findOnly(resolve(options.dataDir))
  const home = await findHome(resolve(options.dataDir))
  return withStartLock(home, async () => {
    const password = await setUp(home)
    const running = await findRunning(home, password)
    if (running && options.purpose === 'join') return { url: running.url, stop: async () => {} }
    if (running) await endOrphan(home, running)
    return supervise(home, password, await launch(home, password, options), options)
  })
}

/** Read-only: creates no folder, removes no stale file, takes no lock. */
async function findOnly(dataDir: string): Promise<EmbeddedServer> {
  const cluster = join(dataDir, 'postgres')
  const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8').catch(() => '')).trim()
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const pid = Number(lines[0])
  const url = urlOf(Number(lines[3]), password)
  const isUp = pid > 0 && password !== '' && isAlive(pid) && (await runsOn(pid, cluster)) && (await answers(url))
  if (!isUp) throw new OperatorError(`No Manilla is running on the data folder ${dataDir}. Start it with: npm start`)
  return { url, stop: async () => {} }
}

interface Running {
  url: string
  pid: number
  port: number
}

interface Owned extends Running {
  /** Holds the owner's advisory lock. The connection ends when the server does. */
  owner: pg.Client
  /** Closed when our process ends; the guard waits for that. */
  lifeline: Writable
}

/** Stops a server without an owner. One with an owner is in use, and an error. */
async function endOrphan(home: Home, { url, pid }: Running): Promise<void> {
  const owner = await becomeOwner(url)
  if (!owner) {
    throw new OperatorError(
      `Another Manilla is running on this data folder (${home.dataDir}; its PostgreSQL has pid ${pid}). ` +
        'Stop it first, or give this one a DATA_DIR of its own. To run several processes on one database, set DATABASE_URL.',
    )
  }
  await owner.end().catch(() => {})
  await end(pid)
}

/** Restarts the server when it exits, until `stop`. */
function supervise(home: Home, password: string, first: Owned, options: EmbeddedOptions): EmbeddedServer {
  let current = first
  let stopping = false
  let recovering: Promise<void> | undefined

  // The owner's connection ends when the server does.
  function watch() {
    current.owner.once('end', () => {
      if (!stopping) recovering = recover()
    })
  }

  // The server exited by itself, for example killed for lack of memory. It keeps its port, so that the URL stays valid.
  async function recover() {
    for (let pauseMs = 50; !stopping; pauseMs = Math.min(pauseMs * 2, 5_000)) {
      try {
        const owner = isAlive(current.pid) ? await becomeOwner(current.url) : undefined
        if (owner) {
          current = { ...current, owner } // only the connection was lost
          return watch()
        }
        if (!isAlive(current.pid)) {
          current.lifeline.end('\n')
          current = await launch(home, password, { ...options, port: current.port })
          options.onRestart?.()
          return watch()
        }
      } catch {
        // Retried: the port may still be in use, or the disk full.
      }
      await sleep(pauseMs)
    }
  }

  watch()
  // A full disk: tried again.
  const bounding = setInterval(() => boundLog(home.dataDir).catch(() => {}), BOUND_LOG_EVERY_MS).unref()
  return {
    url: first.url,
    async stop() {
      stopping = true
      clearInterval(bounding)
      await recovering
      await current.owner.end().catch(() => {})
      await end(current.pid)
      current.lifeline.end('\n')
    },
  }
}

/**
 * Starts a guard and then becomes the server (exec). The guard waits on a pipe that only our process holds open. A line
 * means a clean stop; the end of the pipe without one means that our process died. The guard then stops the server, if
 * the pid is still its own.
 */
const GUARDED_START = `
  ( read -r _ <&3 && exit
    case "$(cat "/proc/$$/comm" 2>/dev/null || ps -o comm= -p "$$")" in
      *postgres|*sh) kill -TERM "$$"; kill -INT "$$";;
    esac ) &
  exec "$@" 3<&-`

/**
 * Statements, their parameters and DETAIL lines have addresses of customers. The service logs what it needs of an
 * error.
 */
const QUIET = {
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_min_duration_statement: '-1',
  log_min_duration_sample: '-1',
  log_transaction_sample_rate: '0',
  log_duration: 'off',
  log_statement: 'none',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_lock_waits: 'off',
  log_temp_files: '-1',
  log_autovacuum_min_duration: '-1',
}

const MAX_LOG_BYTES = 10 * 1024 * 1024
const BOUND_LOG_EVERY_MS = 60_000

const logOf = (dataDir: string) => join(dataDir, 'postgres.log')

/**
 * Keeps one older copy of a log that has grown. The server only appends to it, so it can be emptied while it is open.
 */
export async function boundLog(dataDir: string): Promise<void> {
  const log = logOf(dataDir)
  const { size } = await stat(log).catch(() => ({ size: 0 }))
  if (size < MAX_LOG_BYTES) return
  await copyFile(log, `${log}.1`)
  await truncate(log)
}

/**
 * Removes the log of a server that ran without the quiet settings: an older Manilla wrote addresses of customers to it.
 */
async function removeLoudLog({ dataDir, cluster }: Home): Promise<void> {
  // PostgreSQL writes it
  const lastStart = await readFile(join(cluster, 'postmaster.opts'), 'utf8').catch(() => undefined)
  if (lastStart === undefined) return
  if (Object.entries(QUIET).every(([name, value]) => lastStart.includes(`"${name}=${value}"`))) return
  const log = logOf(dataDir)
  await Promise.all([log, `${log}.1`].map((file) => rm(file, { force: true })))
}

type LaunchOptions = Pick<EmbeddedOptions, 'port' | 'connections'>

async function launch(home: Home, password: string, options: LaunchOptions): Promise<Owned> {
  const port = options.port ?? (await freePort())
  await removeLoudLog(home)
  await boundLog(home.dataDir)
  const log = await open(logOf(home.dataDir), 'a', 0o600)
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '', // TCP only: the path of a socket may be too long
    max_connections: options.connections ?? 100,
    max_wal_size: '4GB', // fewer checkpoints, so fewer full-page writes
    log_min_messages: 'warning',
    ...QUIET,
    timezone: 'UTC',
  }
  const args = ['-D', home.cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const logStart = (await log.stat()).size
  const child = spawn('/bin/sh', ['-c', GUARDED_START, 'manilla-postgres', home.binaries.postgres, ...args], {
    stdio: ['ignore', log.fd, log.fd, 'pipe'],
    detached: true, // Ctrl-C signals the whole process group, and must not stop the server before our clean stop
    cwd: home.cluster,
    env: environment(),
    ...home.runAs,
  })
  await log.close()
  let ended: string | undefined
  child.once('error', (error) => {
    ended = error.message
  })
  child.once('exit', (code) => {
    ended ??= `exit code ${code}`
  })
  child.unref()
  const lifeline = child.stdio[3] as Writable
  lifeline.on('error', () => {}) // the guard has exited
  ;(lifeline as unknown as { unref?(): void }).unref?.()

  const url = urlOf(port, password)
  const deadline = Date.now() + 60_000
  while (ended === undefined && Date.now() < deadline) {
    const owner = await becomeOwner(url)
    if (owner && child.pid) return { url, pid: child.pid, port, owner, lifeline }
    await sleep(20)
  }
  if (ended === undefined && child.pid) signal(child.pid, 'SIGQUIT')
  lifeline.end('\n')
  const said = (await readFile(logOf(home.dataDir), 'utf8')).slice(logStart)
  if (/address already in use|could not bind/i.test(said) && options.port === undefined)
    return launch(home, password, options)
  throw explain('The embedded PostgreSQL did not start', home, said || (ended ?? 'no answer within a minute'))
}

/** A connection that holds the owner's lock. Undefined when the server is not up yet or has an owner. */
async function becomeOwner(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
    application_name: 'manilla-owner',
  })
  client.on('error', () => {}) // the next query reports it
  try {
    await client.connect()
    const { rows } = await client.query('select pg_try_advisory_lock($1) as locked', [ADVISORY_LOCKS.embeddedOwner])
    if (rows[0].locked) return client
    await client.end()
  } catch {
    // Starting up or shutting down.
  }
  return undefined
}

/**
 * The running server of this data folder. Waits for one that is shutting down, and removes the pid file of one that is
 * gone.
 */
async function findRunning(home: Home, password: string): Promise<Running | undefined> {
  const pidFile = join(home.cluster, 'postmaster.pid')
  const deadline = Date.now() + STOP_TIMEOUT_MS
  let sawItUp = 0
  while (existsSync(pidFile)) {
    const lines = (await readFile(pidFile, 'utf8').catch(() => '')).split('\n')
    const pid = Number(lines[0])
    const port = Number(lines[3])
    if (!pid || !isAlive(pid) || !(await runsOn(pid, home.cluster))) {
      // The process is gone, or its pid was reused. A stale pid file would keep PostgreSQL from starting.
      await rm(pidFile, { force: true })
      return undefined
    }
    if (await answers(urlOf(port, password))) {
      // A server whose owner was just killed still answers for a moment, so it is checked twice.
      if (++sawItUp >= 3) return { url: urlOf(port, password), pid, port }
    } else {
      sawItUp = 0
    }
    if (Date.now() > deadline) {
      throw new OperatorError(
        `A PostgreSQL (pid ${pid}) holds ${home.cluster} but neither answers nor stops. Stop it with "kill -INT ${pid}" and start again.`,
      )
    }
    await sleep(50)
  }
  return undefined
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

/**
 * Whether the process is the server of these data files: PostgreSQL has the folder as working directory and as
 * argument.
 */
async function runsOn(pid: number, cluster: string): Promise<boolean> {
  const folder = await readlink(`/proc/${pid}/cwd`).catch(() => undefined)
  if (folder !== undefined) return folder === (await realpath(cluster))
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return stdout?.includes('postgres') && stdout.includes(cluster)
}

function urlOf(port: number, password: string): string {
  return `postgres://manilla:${password}@127.0.0.1:${port}/postgres`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** Fast shutdown: ends sessions and writes a checkpoint. */
async function end(pid: number): Promise<void> {
  signal(pid, 'SIGINT')
  await waitUntilGone(pid, STOP_TIMEOUT_MS)
}
